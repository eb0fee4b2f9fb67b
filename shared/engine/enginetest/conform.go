package enginetest

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/manifest"
)

// Conformance is a job or a worker, with data on which it has something to do. [Conformance.Prove] proves for it what the
// engine promises of every job, so that its own tests need only be about its rules.
type Conformance struct {
	Function func() *engine.Function // returns a new one each time
	Now      time.Time               // of every run
	Indexes  []manifest.Index        // indexes besides those of the functions' lists
	Body     string                  // of every call: a worker's task
	// Load fills the project of a function, with the same data each time.
	Load func(t testing.TB, f *Function)
}

// checks are what Prove checks, each in a project of its own. What depends on the engine alone, the engine's own tests prove.
var checks = []struct {
	name  string
	prove func(*trial)
}{
	{"a preview changes nothing and foretells what a run does", (*trial).checkPreview},
	{"answers that are lost", (*trial).checkLostAnswers},
	{"contention", (*trial).checkContention},
	{"commits that are too large", (*trial).checkRefusal},
	{"runs with time for one write each", (*trial).checkTime},
	{"an empty project", (*trial).checkEmpty},
	{"taking a run back", (*trial).checkUndo},
}

// Prove compares the results of disturbed runs with those of undisturbed ones. It first runs the job undisturbed, and then
// makes each check in a parallel subtest.
func (c Conformance) Prove(t *testing.T) {
	t.Helper()
	undisturbed := c.begin(t, nil)
	rep := undisturbed.f.Run(t, c.Body)
	if rep.Status != report.Completed || len(rep.Actions) == 0 {
		t.Fatalf("undisturbed: %s, actions %v, failures %v: what would this prove?", rep.Status, rep.Actions, rep.Failures)
	}
	want := expected{report: rep, state: undisturbed.end(maxRuns)}
	for _, check := range checks {
		t.Run(check.name, func(t *testing.T) {
			t.Parallel()
			check.prove(c.begin(t, &want))
		})
	}
}

// expected is the result of undisturbed runs.
type expected struct {
	report *report.Report // of the first run
	state  map[string]any // after the runs, when nothing is left to do
}

// trial is one project with the data and the function.
type trial struct {
	Conformance
	*testing.T
	f    *Function
	want *expected
	late atomic.Bool // the run's time is up
}

func (c Conformance) begin(t *testing.T, want *expected) *trial {
	t.Helper()
	tr := &trial{Conformance: c, T: t, f: New(t, c.Function()), want: want}
	tr.f.Now, tr.f.Indexes = c.Now, c.Indexes
	tr.f.Clock = func() time.Time {
		if tr.late.Load() {
			return c.Now.Add(tr.f.Timeout - time.Second) // what is under way may still end
		}
		return c.Now
	}
	tr.f.Env["TASKS_TARGET_URL"] = "http://127.0.0.1:1/" // so that nothing is delivered
	c.Load(t, tr.f)
	return tr
}

// state returns everything that the project holds, without the bundle's own records.
func (tr *trial) state() map[string]any {
	tr.Helper()
	all := tr.f.Everything(tr)
	maps.DeleteFunc(all, func(name string, _ any) bool { return collections.IsOwn(name) })
	if tasks := tr.f.Tasks(); tasks != nil {
		for _, task := range tasks.Pending("") {
			all["task "+task.GetName()[strings.LastIndexByte(task.GetName(), '/')+1:]] = string(task.GetHttpRequest().GetBody())
		}
	}
	same := make(map[string]any, len(all)) // the same in each project
	for name, value := range all {
		same[tr.neutral(name).(string)] = tr.neutral(value)
	}
	return same
}

// neutral returns a value in which the project's bucket is called bucket.
func (tr *trial) neutral(value any) any {
	switch v := value.(type) {
	case string:
		return strings.ReplaceAll(v, tr.f.Bucket, "bucket")
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = tr.neutral(item)
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(v))
		for name, item := range v {
			fields[name] = tr.neutral(item)
		}
		return fields
	default:
		return value
	}
}

// Changes returns the names of what differs between two states of a project.
func Changes(before, after map[string]any) map[string]bool {
	changed := map[string]bool{}
	for name, was := range before {
		if is, there := after[name]; !there || !cmp.Equal(was, is) {
			changed[name] = true
		}
	}
	for name := range after {
		if _, was := before[name]; !was {
			changed[name] = true
		}
	}
	return changed
}

// maxRuns is how many runs may be needed until nothing is due, including one that finds nothing.
const maxRuns = 4

// end runs the job until nothing is planned, and returns the state then. Nothing may be left to do.
func (tr *trial) end(most int) map[string]any {
	tr.Helper()
	for range most {
		tr.late.Store(false)
		rep := tr.f.Run(tr, tr.Body)
		if rep.Status == report.Failed || rep.Status == report.Aborted {
			tr.Fatalf("a later run: %s, failures %v", rep.Status, rep.Failures)
		}
		if rep.Status == report.Completed && len(rep.Actions) == 0 {
			for name := range tr.f.Everything(tr) {
				if strings.HasPrefix(name, "cleanupJobs/"+tr.f.Job.Name+"/") {
					tr.Errorf("%s is left, and nothing to do", name)
				}
			}
			return tr.state()
		}
	}
	tr.Fatalf("after %d runs there still is something to do", most)
	return nil
}

// wantEnd runs the job until nothing is planned, at most so many times, and compares the state with that after undisturbed
// runs.
func (tr *trial) wantEnd(most int) {
	tr.Helper()
	got := tr.end(most)
	for _, name := range slices.Sorted(maps.Keys(Changes(tr.want.state, got))) {
		tr.Errorf("at the end, %s is (-undisturbed +disturbed):\n%s", name, cmp.Diff(tr.want.state[name], got[name]))
	}
}

// checkPreview compares a preview with the undo log of a run on the same data.
func (tr *trial) checkPreview() {
	tr.f.Env["UNDO_DAYS"] = "7"
	all, before := tr.f.Everything(tr), tr.state()
	preview := tr.f.RunQuery(tr, "?dryRun=true", tr.Body)
	if diff := cmp.Diff(all, tr.f.Everything(tr)); diff != "" {
		tr.Errorf("the preview changed something (-before +after):\n%s", diff)
	}
	if preview.Truncated {
		tr.Fatal("the preview is not complete: what would this prove?")
	}
	run := tr.f.Run(tr, tr.Body)
	for _, kind := range slices.Sorted(maps.Keys(run.Actions)) {
		if planned := preview.Actions[kind].Planned; planned != run.Actions[kind].Planned {
			tr.Errorf("%s: the preview has %d, the run %d", kind, planned, run.Actions[kind].Planned)
		}
	}
	done := tr.done(run.RunID)
	told, more := map[string]bool{}, false
	for _, p := range preview.Plan {
		more = more || p.More
		if told[p.Target] = true; done[p.Target] == nil {
			tr.Errorf("the preview said %q of %s, and the run did nothing to it", p.Action, p.Target)
			continue
		}
		tr.compare(p, done[p.Target])
	}
	for _, item := range slices.Sorted(maps.Keys(done)) {
		_, ofPlan := run.Actions[done[item].action]
		if !told[item] && (ofPlan || !more) { // others follow from an item, of which the preview says that there is more
			tr.Errorf("the run did something to %s, of which the preview said nothing", item)
		}
	}
	tr.checkLogged(before, done)
}

// did is what a run did to one item.
type did struct {
	action, reason string
	things         map[string][]undo.Write // by the thing's name; none of an object or account, which it deleted
}

// done returns what the undo log of a run tells, by item.
func (tr *trial) done(run string) map[string]*did {
	tr.Helper()
	all := map[string]*did{}
	err := tr.f.Restorer(tr, tr.f.Clock).Contents(tr.Context(), run, func(_, _ int, records []undo.Record) error {
		for i, r := range records {
			item := undo.ItemOf(records, i)
			if r.Item != "" {
				item = r.Item
			}
			if all[item] == nil {
				all[item] = &did{things: map[string][]undo.Write{}}
			}
			if r.Item != "" {
				if all[item].action == "" { // a later commit may call it something else
					all[item].action, all[item].reason = r.Action, r.Reason
				}
				continue
			}
			name, of := tr.nameOf(r), all[item]
			writes := of.things[name]
			if r.Write != nil {
				writes = append(writes, *r.Write)
			}
			of.things[name] = writes
		}
		return nil
	})
	if err != nil {
		tr.Fatal(err)
	}
	return all
}

func (tr *trial) nameOf(r undo.Record) string {
	switch {
	case r.Object != nil:
		return "gs://" + tr.f.Bucket + "/" + r.Object.Name
	case r.Account != nil:
		return "account " + r.Account.UID
	}
	return r.Write.Path
}

// compare compares what a preview tells of an item with what a run did.
func (tr *trial) compare(p report.Planned, d *did) {
	tr.Helper()
	if p.Action != d.action || p.Reason != d.reason || p.Kept != "" {
		tr.Errorf("the preview says %q of %s, because %q, kept %q; the run did %q, because %q", p.Action, p.Target, p.Reason, p.Kept,
			d.action, d.reason)
	}
	with := map[string]int{}
	for name, writes := range d.things {
		verb := "delete "
		if len(writes) > 0 {
			net := undo.Net(writes)[0]
			if !net.Found && !net.Exists { // there was nothing, and there is nothing
				continue
			}
			if net.Exists {
				verb = "write "
			}
		}
		if name != p.Target {
			with[verb+report.KindOf(name)]++
		}
	}
	foretold := map[string]int{}
	maps.Copy(foretold, p.With)
	delete(foretold, "queue task") // which leaves no record
	if foretold["delete folder of files"] > 0 {
		delete(foretold, "delete folder of files")
		delete(with, "delete file") // as many as there are in it
	}
	for _, what := range []string{"delete file", "delete account"} { // one that a document names need not be there
		foretold[what] = min(foretold[what], with[what])
	}
	for what, n := range with {
		if told := foretold[what]; told != n && !p.More {
			tr.Errorf("%s: the run did %q %d times, and the preview says %d", p.Target, what, n, told)
		}
	}
	for what, n := range foretold {
		if with[what] < n {
			tr.Errorf("%s: the preview says %q %d times, and the run did so %d times", p.Target, what, n, with[what])
		}
	}
}

// checkLogged makes sure that the undo log tells of all that a run changed.
func (tr *trial) checkLogged(before map[string]any, done map[string]*did) {
	tr.Helper()
	logged := map[string]bool{}
	for _, d := range done {
		for name := range d.things {
			logged[tr.neutral(name).(string)] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(Changes(before, tr.state()))) {
		if !logged[name] && !strings.HasPrefix(name, "task ") {
			tr.Errorf("the run changed %s, of which its undo log says nothing", name)
		}
	}
}

func (tr *trial) checkEmpty() {
	bare := tr.Conformance
	bare.Load = func(testing.TB, *Function) {}
	tr = bare.begin(tr.T, tr.want) // another project: the suite's Storage cannot be emptied
	for range 2 {
		if rep := tr.f.Run(tr, tr.Body); rep.Status != report.Completed || len(rep.Actions) > 0 {
			tr.Errorf("%s, actions %v, failures %v", rep.Status, rep.Actions, rep.Failures)
		}
	}
	if left := tr.state(); len(left) > 0 {
		tr.Errorf("it holds %v", left)
	}
}
