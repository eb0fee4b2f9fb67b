package reliability

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/each"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// state is all that the project holds but the bundle's own records: documents by path, the metadata of objects, the names of the
// people who have an account.
func (w *world) state(t *testing.T) map[string]any {
	t.Helper()
	left, err := w.content.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]any, len(left.Documents))
	for path, data := range left.Documents {
		all[path] = data
	}
	for o, err := range each.Of(w.content.Bucket.Objects(t.Context(), nil)) {
		if err != nil {
			t.Fatal(err)
		}
		all["gs://"+w.Bucket+"/"+o.Name] = o.Metadata
	}
	for _, uid := range left.Accounts {
		user, err := w.content.Auth.GetUser(t.Context(), uid)
		if err != nil {
			t.Fatal(err)
		}
		all["account "+uid] = user.DisplayName
	}
	return all
}

// restorer returns what takes runs back as an operator does who may use all that the job and its worker use.
func (w *world) restorer(t *testing.T, hooks restore.Hooks) restore.Project {
	t.Helper()
	uses := newFunction(w.job).Uses
	if w.worker != nil {
		uses = append(slices.Clone(uses), newFunction(*w.worker).Uses...)
	}
	ahead := w.clock
	clock := func() time.Time { return time.Now().Add(ahead) }
	p := enginetest.OpenRestorer(t, hooks, func(name string) string { return w.Environment[name] }, clock, uses...)
	p.Jobs = map[string]cleanup.Job{w.job.Name: w.job}
	if w.worker != nil {
		p.Jobs[w.worker.Name] = *w.worker
	}
	return p
}

// undo takes runs back, each by a process of its own, until one fails. It returns what became of each thing, and the runs that
// are left.
func (w *world) undo(t *testing.T, steps *Steps, runs []string, o restore.Options) (outcomes []restore.Outcome, left []string,
	err error) {
	t.Helper()
	o.WithoutReport = true // which runs that were killed have not left
	var mu sync.Mutex      // guards outcomes
	for i, runID := range runs {
		var hooks restore.Hooks
		if w.betweenUndo != nil {
			hooks.Dial = append(hooks.Dial, grpc.WithChainUnaryInterceptor(w.betweenUndo))
		}
		process := steps.Undo(&hooks)
		p := w.restorer(t, hooks)
		ctx, cancel := context.WithCancel(t.Context())
		steps.OnEnding(func(Ending) { cancel() })
		err = p.Undo(ctx, runID, o, func(o restore.Outcome) error {
			mu.Lock()
			defer mu.Unlock()
			outcomes = append(outcomes, o)
			return nil
		})
		cancel()
		if err := process.End(); err != nil {
			t.Errorf("roll back what an undo left open: %v", err)
		}
		if err != nil {
			return outcomes, runs[i:], err
		}
	}
	return outcomes, nil, nil
}

// apply does it; otherwise an undo only says what it would do.
var apply = restore.Options{Apply: true}

// notBack returns what is not as it was before the runs that were taken back, and not what they sent.
func (w *world) notBack(t *testing.T, before, after map[string]any) []string {
	t.Helper()
	_, lines := enginetest.NotBack(before, after, w.state(t))
	notes, err := w.notes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range notes {
		if !strings.Contains(path, "/pinned/") {
			lines = append(lines, path+" is still noted")
		}
	}
	return lines
}

// conflicts returns the things of which an undo says that somebody has changed them since, where nobody has.
func conflicts(outcomes []restore.Outcome) (lines []string) {
	for _, o := range outcomes {
		if o.Step == undo.Conflict || o.Step == undo.Lost {
			lines = append(lines, fmt.Sprintf("%s: %s, says the undo, and nobody has", o.Target, o.Why))
		}
	}
	return lines
}

// takenBack takes back all that was done to what was there before, perhaps by a run that was killed, and returns what is not as
// it must be: all is as before, but for what was sent; the job is held; and once it is resumed, all ends as the sample
// must.
func (w *world) takenBack(t *testing.T, before map[string]any, steps *Steps) (lines []string) {
	t.Helper()
	after := w.state(t)
	w.expireLease()
	runs := enginetest.LoggedRuns(t, w.content.Firestore)
	outcomes, _, err := w.undo(t, steps, runs, apply)
	if err != nil {
		lines = append(lines, err.Error())
	}
	lines = append(append(lines, conflicts(outcomes)...), w.notBack(t, before, after)...)
	if slices.ContainsFunc(runs, func(id string) bool { return strings.HasPrefix(id, w.job.Name+"-") }) {
		lines = append(lines, w.notKept(t, before, outcomes)...)
	}
	w.resume(t)
	return append(lines, w.outcome(t, w.sample)...)
}

// notKept runs the job, which is held, and returns what came back and did not stay so.
func (w *world) notKept(t *testing.T, before map[string]any, outcomes []restore.Outcome) (lines []string) {
	t.Helper()
	w.runJob(t, Undisturbed())
	now := w.state(t)
	for _, o := range outcomes {
		_, was := before[o.Target]
		_, is := now[o.Target]
		if o.Step != undo.Stays && (was != is || !cmp.Equal(before[o.Target], now[o.Target])) {
			lines = append(lines, o.Target+" was taken back, and the next run did not keep it so")
		}
	}
	return lines
}

// resume lets the jobs go on. What was sent is delivered, and so long ago that Cloud Tasks has forgotten it:
// until then it takes no task of the same name again.
func (w *world) resume(t *testing.T) {
	t.Helper()
	p := w.restorer(t, restore.Hooks{})
	names := []string{w.job.Name}
	if w.worker != nil {
		names = append(names, w.worker.Name)
	}
	for _, name := range names {
		if err := p.Resume(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if w.deliver(t, Undisturbed()); w.worker != nil && w.pending() == 0 {
		w.Tasks().Clear()
	}
}

// needsSoftDelete skips a job whose objects the bucket does not keep.
func needsSoftDelete(t *testing.T, s subject) {
	t.Helper()
	enginetest.NeedsSoftDelete(t, backendstest.Start(t), newFunction(s.job).Uses...)
}

// undisturbedUndo takes an undisturbed run back and returns the calls that this takes.
func undisturbedUndo(t *testing.T, s subject) (calls []Call) {
	needsSoftDelete(t, s)
	t.Run("undisturbed", func(t *testing.T) {
		w := newWorld(t, s)
		before := w.state(t)
		w.run(t, Undisturbed())
		steps := Undisturbed()
		for _, line := range w.takenBack(t, before, steps) {
			t.Error(line)
		}
		calls = steps.Calls()
	})
	if t.Failed() {
		t.FailNow()
	}
	return calls
}

// undoneFaults are those that leave a run half done, or in doubt of what it has done, which then is taken back.
var undoneFaults = Faults[:3]

// undoFaults are those that an undo can meet. It is not out of time.
var undoFaults = slices.DeleteFunc(slices.Clone(Faults), func(f Fault) bool { return f.ends == OutOfTime })

// isTurn divides the jobs among the three short tests of undoing.
func isTurn(job, test int) bool { return *full || job%3 == test }

// TestUndone has each job's run end at a call, and takes it back.
func TestUndone(t *testing.T) {
	tryAll(t, "undone", func(t *testing.T, i int, s subject, try tries) {
		if needsSoftDelete(t, s); !isTurn(i, 0) {
			return
		}
		eachFault(i, undoneFaults, callsOf(t, s), func(fault Fault, at int) {
			try(fault.Name, at, func(t *testing.T) ([]string, bool) { return tryUndone(t, s, At(at, fault)) })
		})
	})
}

// tryUndone is one point.
func tryUndone(t *testing.T, s subject, steps *Steps) (lines []string, tried bool) {
	t.Helper()
	w := newWorld(t, s)
	before := w.state(t)
	w.run(t, steps)
	if !steps.Struck() {
		t.Log("the run made fewer calls than the undisturbed one: the fault did not happen")
		return nil, false
	}
	undo := Undisturbed()
	if lines = w.takenBack(t, before, undo); len(lines) > 0 {
		steps.tell(t)
		undo.tell(t)
	}
	return lines, true
}

// TestUndoFaults takes each job's run back with a fault at a call, and then undisturbed.
func TestUndoFaults(t *testing.T) {
	tryAll(t, "undo faults", func(t *testing.T, i int, s subject, try tries) {
		if !isTurn(i, 1) {
			return
		}
		eachFault(i, undoFaults, undisturbedUndo(t, s), func(fault Fault, at int) {
			try(fault.Name, at, func(t *testing.T) ([]string, bool) { return tryUndoFault(t, s, At(at, fault)) })
		})
	})
}

// tryUndoFault is one point. An undo that was killed is done again only after the job has run: what it has brought back is kept.
// One that failed is done again at once.
func tryUndoFault(t *testing.T, s subject, steps *Steps) (lines []string, tried bool) {
	t.Helper()
	w := newWorld(t, s)
	before := w.state(t)
	w.run(t, Undisturbed())
	after, runs := w.state(t), enginetest.LoggedRuns(t, w.content.Firestore)
	outcomes, left, _ := w.undo(t, steps, runs, apply) // what fails is told by what is left
	if !steps.Struck() {
		t.Log("the undo made fewer calls than the undisturbed one: the fault did not happen")
		return nil, false
	}
	lines = conflicts(outcomes)
	if steps.fault.dies {
		w.expireLease()
		half := w.state(t)
		w.run(t, Undisturbed())
		for _, name := range slices.Sorted(maps.Keys(enginetest.Changes(half, w.state(t)))) {
			lines = append(lines, name+" was changed by a run between the undo that was killed and the next one")
		}
	}
	outcomes, _, err := w.undo(t, Undisturbed(), left, apply) // those before it are back: a worker's, before its job's
	if err != nil {
		lines = append(lines, err.Error())
	}
	lines = append(append(lines, conflicts(outcomes)...), w.notBack(t, before, after)...)
	w.run(t, Undisturbed())
	if lines = append(lines, w.notBack(t, before, after)...); len(lines) > 0 {
		steps.tell(t)
	}
	return lines, true
}
