package reliability

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/storage"
	"firebase.google.com/go/v4/auth"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/googleapi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/backends"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/enginetest/modeltest"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// state is all that the project holds but the bundle's own records: documents by path, the metadata of objects, the names of the
// people who have an account.
func (w *world) state(t *testing.T) map[string]any {
	t.Helper()
	all, now := map[string]any{}, modeltest.Read(t, w.Project)
	for path, data := range now.Documents {
		if !collections.IsOwn(path) {
			all[path] = data
		}
	}
	for name, metadata := range now.Objects {
		all["gs://"+w.Bucket+"/"+name] = metadata
	}
	for uid, name := range now.Accounts {
		all["account "+uid] = name
	}
	return all
}

// restorer returns what takes runs back as an operator does who may use all that the job and its worker use.
func (w *world) restorer(t *testing.T, hooks backends.Hooks) restore.Project {
	t.Helper()
	uses := newFunction(w.job).Uses
	if w.worker != nil {
		uses = append(slices.Clone(uses), newFunction(*w.worker).Uses...)
	}
	ahead := w.clock
	clock := func() time.Time { return time.Now().Add(ahead) }
	p := enginetest.OpenRestorer(t, hooks, func(name string) string { return w.Environment[name] }, clock, uses...)
	p.AtOnce = 1 // so that each undo makes its calls in the same order
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
		hooks := backends.Hooks{Dial: w.dial(true)}
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
		process.End(t, w.Project)
		if err != nil {
			return outcomes, runs[i:], err
		}
	}
	return outcomes, nil, nil
}

// apply does it; otherwise an undo only says what it would do.
var apply = restore.Options{Apply: true}

// notBack returns what is not as it was before the runs that were taken back, and not what they sent, which stays.
func (w *world) notBack(t *testing.T, before, after map[string]any) []string {
	t.Helper()
	lines, now := w.unfinished(t), w.state(t)
	for _, name := range slices.Sorted(maps.Keys(enginetest.Changes(before, now))) {
		if _, was := before[name]; was || !cmp.Equal(now[name], after[name]) || !enginetest.WasSent(name) {
			lines = append(lines, fmt.Sprintf("%s is not as it was (-before +now):\n%s", name, cmp.Diff(before[name], now[name])))
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
// it must be: all is as before, but for what was sent; the job is held; and once it is resumed, all ends as after an undisturbed run.
func (w *world) takenBack(t *testing.T, want *expected, before map[string]any, steps *Steps, twice bool) (lines []string) {
	t.Helper()
	after := w.state(t)
	w.expireLease()
	runs := enginetest.LoggedRuns(t, w.content.Firestore)
	foretold, _, err := w.undo(t, Undisturbed(), runs, restore.Options{})
	if err != nil {
		lines = append(lines, err.Error())
	}
	if diff := cmp.Diff(after, w.state(t)); diff != "" {
		lines = append(lines, "to say what would be done changed something:\n"+diff)
	}
	outcomes, _, err := w.undo(t, steps, runs, apply)
	if err != nil {
		lines = append(lines, err.Error())
	}
	// What a worker's run wrote is in the way of its job's, until it is taken back.
	if said, did := stepsOf(foretold), stepsOf(outcomes); len(runs) == 1 && !maps.Equal(said, did) {
		lines = append(lines, fmt.Sprintf("%v was done, %v was foretold", did, said))
	}
	lines = append(append(lines, conflicts(outcomes)...), w.notBack(t, before, after)...)
	if twice {
		again, _, err := w.undo(t, Undisturbed(), runs, apply)
		if err != nil {
			lines = append(lines, err.Error())
		}
		if did := stepsOf(again); did[undo.Recreate]+did[undo.Revert]+did[undo.Replace]+did[undo.Remove] > 0 {
			lines = append(lines, fmt.Sprintf("taken back twice: %v", did))
		}
		lines = append(lines, w.notBack(t, before, after)...)
	}
	if slices.ContainsFunc(runs, func(id string) bool { return strings.HasPrefix(id, w.job.Name+"-") }) {
		lines = append(lines, w.notKept(t, before, outcomes)...)
	}
	w.resume(t)
	return append(lines, w.notEnded(t, want)...)
}

// stepsOf counts what an undo did, or would do.
func stepsOf(outcomes []restore.Outcome) map[undo.Step]int {
	all := map[undo.Step]int{}
	for _, o := range outcomes {
		all[o.Step]++
	}
	return all
}

// notKept runs the job, which is held, and returns what came back and did not stay so.
func (w *world) notKept(t *testing.T, before map[string]any, outcomes []restore.Outcome) (lines []string) {
	t.Helper()
	w.runJob(t, Undisturbed())
	now := w.state(t)
	for _, o := range outcomes {
		_, was := before[o.Target]
		_, is := now[o.Target]
		if o.Step.Back() && (was != is || !cmp.Equal(before[o.Target], now[o.Target])) {
			lines = append(lines, o.Target+" was taken back, and the next run did not keep it so")
		}
	}
	return lines
}

// resume lets the jobs go on. What was sent is delivered, and so long ago that Cloud Tasks has forgotten it:
// until then it takes no task of the same name again.
func (w *world) resume(t *testing.T) {
	t.Helper()
	p := w.restorer(t, backends.Hooks{})
	names := []string{w.job.Name}
	if w.worker != nil {
		names = append(names, w.worker.Name)
	}
	for _, name := range names {
		ok(t, p.Store(name).Resume(t.Context()))
	}
	if w.deliver(t, Undisturbed()); w.worker != nil && w.pending() == 0 {
		w.Tasks().Clear()
	}
}

// softDeletes reports whether the bucket keeps what a job deletes from it, if it does.
func softDeletes(t *testing.T, s subject) bool {
	t.Helper()
	return !slices.Contains(newFunction(s.job).Uses, config.Storage) || backendstest.Start(t).EmbeddedStorage()
}

// undisturbedUndo takes an undisturbed run back and returns the calls that this takes.
func undisturbedUndo(t *testing.T, s subject, want *expected) []Call {
	t.Helper()
	w := newWorld(t, s)
	before := w.state(t)
	w.run(t, Undisturbed())
	steps := Undisturbed()
	if lines := w.takenBack(t, want, before, steps, false); len(lines) > 0 {
		t.Fatalf("an undisturbed undo: %s", strings.Join(lines, "\n"))
	}
	return steps.Calls()
}

// undoneFaults are those that leave a run half done, or in doubt of what it has done, which then is taken back.
var undoneFaults = Faults[:3]

// undoFaults are those that an undo can meet. It is not out of time.
var undoFaults = slices.DeleteFunc(slices.Clone(Faults), func(f Fault) bool { return f.ends == OutOfTime })

// tryUndone has a run end at a call, and takes it back; at every other call, with the runs that have finished what it left to do.
func tryUndone(t *testing.T, s subject, want *expected, p point) (lines []string, steps *Steps) {
	t.Helper()
	steps = At(p.at, p.fault)
	w := newWorld(t, s)
	before := w.state(t)
	w.run(t, steps)
	if p.at%2 == 0 {
		lines = w.notEnded(t, want)
	}
	undo := Undisturbed()
	if lines = append(lines, w.takenBack(t, want, before, undo, false)...); len(lines) > 0 {
		undo.tell(t)
	}
	return lines, steps
}

// tryUndoFault takes a run back with a fault at a call, and then undisturbed. An undo that was killed is done again only after the
// job has run: what it has brought back is kept. One that failed is done again at once, unless it could not end its lease.
func tryUndoFault(t *testing.T, s subject, _ *expected, p point) (lines []string, steps *Steps) {
	t.Helper()
	steps = At(p.at, p.fault)
	w := newWorld(t, s)
	before := w.state(t)
	w.run(t, Undisturbed())
	after, runs := w.state(t), enginetest.LoggedRuns(t, w.content.Firestore)
	outcomes, left, _ := w.undo(t, steps, runs, apply) // what fails is told by what is left
	lines = conflicts(outcomes)
	if p.fault.dies {
		w.expireLease()
		half := w.state(t)
		w.run(t, Undisturbed())
		for _, name := range slices.Sorted(maps.Keys(enginetest.Changes(half, w.state(t)))) {
			lines = append(lines, name+" was changed by a run between the undo that was killed and the next one")
		}
	} else if calls := steps.Calls(); slices.ContainsFunc(calls[len(calls)-1].Targets, func(path string) bool {
		return path == "cleanupJobs/"+w.job.Name || w.worker != nil && path == "cleanupJobs/"+w.worker.Name
	}) {
		w.expireLease()
	}
	outcomes, _, err := w.undo(t, Undisturbed(), left, apply) // those before it are back: a worker's, before its job's
	if err != nil {
		lines = append(lines, err.Error())
	}
	lines = append(append(lines, conflicts(outcomes)...), w.notBack(t, before, after)...)
	w.run(t, Undisturbed())
	return append(lines, w.notBack(t, before, after)...), steps
}

// edit is what a user does to a thing that an undo is to bring back.
type edit struct {
	target string
	fields map[string]any // of a document: what the user writes into it; all of one that is gone
	spares bool           // they are none that the run wrote, so the others are brought back all the same

	wrote  bool // the user did
	inTime bool // before it was brought back
}

// byUser is what users write.
const byUser = "by a user"

// edits chooses something of each kind that an undo is to bring back: outcomes is what it says that it would do.
func edits(outcomes []restore.Outcome, before, after map[string]any, at int) (all []*edit) {
	slices.SortFunc(outcomes, func(a, b restore.Outcome) int { return strings.Compare(a.Target, b.Target) })
	some := map[string]int{}
	for _, o := range outcomes {
		kind := string(o.Step)
		if isObject, isAccount := strings.HasPrefix(o.Target, "gs://"), strings.HasPrefix(o.Target, "account "); isObject || isAccount {
			kind += o.Target[:2]
		}
		e := &edit{target: o.Target, fields: map[string]any{"written": byUser}}
		most := 1
		switch o.Step {
		case undo.Nothing, undo.Stays, undo.Conflict, undo.Lost:
			continue
		case undo.Revert:
			most = 2
			if e.spares = (some[kind]+at)%2 == 0; !e.spares {
				e.fields = map[string]any{changedField(before[o.Target], after[o.Target]): byUser}
			}
		case undo.Recreate, undo.Replace, undo.Remove:
		}
		if some[kind]++; some[kind] <= most {
			all = append(all, e)
		}
	}
	return all
}

// changedField returns the first field that is not the same in two states of a document.
func changedField(before, after any) string {
	was, _ := before.(map[string]any)
	is, _ := after.(map[string]any)
	return slices.Min(slices.Collect(maps.Keys(enginetest.Changes(was, is))))
}

// do does it, unless it is too late to: a document that is gone is created anew, one that is there is updated, an object is
// uploaded again, and an account is made for the same id.
func (e *edit) do(ctx context.Context, w *world, after map[string]any) error {
	if name, isObject := strings.CutPrefix(e.target, "gs://"+w.Bucket+"/"); isObject {
		upload := w.content.Bucket.Object(name).If(storage.Conditions{DoesNotExist: true}).NewWriter(ctx)
		upload.ChunkSize, upload.Metadata = 0, map[string]string{"written": byUser}
		_, err := upload.Write([]byte(byUser))
		err = errors.Join(err, upload.Close())
		var refusal *googleapi.Error
		if errors.As(err, &refusal) && refusal.Code == http.StatusPreconditionFailed {
			return nil
		}
		e.wrote, e.inTime = err == nil, err == nil
		return err
	}
	if uid, isAccount := strings.CutPrefix(e.target, "account "); isAccount {
		_, err := w.people.CreateUser(ctx, new(auth.UserToCreate).UID(uid).DisplayName(byUser))
		if auth.IsUIDAlreadyExists(err) {
			return nil
		}
		e.wrote, e.inTime = err == nil, err == nil
		return err
	}
	return e.write(ctx, w.content.Firestore.Doc(e.target), after[e.target])
}

// write writes to a document, which the run left as after, nil for gone.
func (e *edit) write(ctx context.Context, ref *firestore.DocumentRef, after any) error {
	for range attempts {
		d, err := ref.Get(ctx)
		switch {
		case err != nil && !missing(err):
			return err
		case d.Exists() != (after != nil): // it is back already, or gone already
			return nil
		case after == nil:
			_, err = ref.Create(ctx, e.fields)
		default:
			var updates []firestore.Update
			for field, value := range e.fields {
				updates = append(updates, firestore.Update{Path: field, Value: value})
			}
			_, err = ref.Update(ctx, updates, firestore.LastUpdateTime(d.UpdateTime))
		}
		switch status.Code(err) {
		case codes.OK:
			e.wrote, e.inTime = true, after == nil || cmp.Equal(any(d.Data()), after)
			return nil
		case codes.FailedPrecondition, codes.NotFound, codes.AlreadyExists: // look again
		default:
			return err
		}
	}
	return fmt.Errorf("write to %s: it changes all the time", e.target)
}

// expect says what must be there in the end: what the user wrote, in a document that the undo has left as the run did, or has
// brought back. Each line names something wrong with what the undo says.
func (e *edit) expect(want, after map[string]any, outcomes []restore.Outcome) (lines []string) {
	if !e.wrote {
		return nil
	}
	conflict, blocked := e.isConflict(outcomes)
	if must := e.inTime && !e.spares; conflict != must && !blocked {
		lines = append(lines, fmt.Sprintf("%s: the user wrote in time: %v; that this is a conflict, says the undo: %v", e.target,
			e.inTime, conflict))
	}
	switch left := want[e.target]; {
	case strings.HasPrefix(e.target, "gs://"):
		want[e.target] = map[string]string{"written": byUser}
	case strings.HasPrefix(e.target, "account "):
		want[e.target] = byUser
	default:
		if conflict {
			left = after[e.target]
		}
		fields, _ := left.(map[string]any)
		document := maps.Clone(e.fields)
		for field, value := range fields {
			if _, written := document[field]; !written {
				document[field] = value
			}
		}
		want[e.target] = document
	}
	return lines
}

func (e *edit) isConflict(outcomes []restore.Outcome) (conflict, blocked bool) {
	for _, o := range outcomes {
		if o.Target == e.target && (o.Step == undo.Conflict || o.Step == undo.Lost) {
			conflict, blocked = true, blocked || staysWith(o) != ""
		}
	}
	return conflict, blocked
}

// tryUndoRace takes a run back while users write to what is to come back.
func tryUndoRace(t *testing.T, s subject, _ *expected, p point) (lines []string, steps *Steps) {
	t.Helper()
	w := newWorld(t, s)
	before := w.state(t)
	w.run(t, Undisturbed())
	after, runs := w.state(t), enginetest.LoggedRuns(t, w.content.Firestore)
	foretold, _, err := w.undo(t, Undisturbed(), runs, restore.Options{})
	ok(t, err)
	users := edits(foretold, before, after, p.at)
	steps = At(p.at, Fault{first: func() {
		for _, e := range users {
			if err := e.do(t.Context(), w, after); err != nil {
				t.Errorf("%s: %v", e.target, err)
			}
		}
	}})
	outcomes, _, err := w.undo(t, steps, runs, apply)
	if err != nil {
		lines = append(lines, err.Error())
	}
	want := maps.Clone(before)
	for _, o := range outcomes { // with what a user has written to, the rest of its item stays
		path := staysWith(o)
		if path == "" || !slices.ContainsFunc(users, func(e *edit) bool { return e.wrote && e.target == path }) {
			continue
		}
		if delete(want, o.Target); after[o.Target] != nil {
			want[o.Target] = after[o.Target]
		}
	}
	for _, e := range users {
		if p.at == 1 && !e.inTime {
			t.Errorf("%s: before the first call nobody is too late", e.target)
		}
		lines = append(lines, e.expect(want, after, outcomes)...)
	}
	if lines = append(lines, w.notBack(t, want, after)...); len(lines) > 0 {
		var all []string
		for _, e := range users {
			all = append(all, fmt.Sprintf("%s (wrote %v, in time %v)", e.target, e.wrote, e.inTime))
		}
		t.Logf("before call %d users wrote to: %s", p.at, strings.Join(all, ", "))
	}
	return lines, steps
}

// staysWith returns the document because of which a thing stays as it is; empty if none.
func staysWith(o restore.Outcome) string {
	for _, text := range []string{"it comes back only together with ", "it may be the only copy of "} {
		if path, is := strings.CutPrefix(o.Why, text); is {
			return strings.TrimSuffix(path, ", which stays as it is")
		}
	}
	return ""
}
