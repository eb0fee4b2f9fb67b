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
	{"a preview changes nothing and foretells the writes", (*trial).checkPreview},
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
	before := undisturbed.state()
	rep := undisturbed.f.Run(t, c.Body)
	if rep.Status != report.Completed || len(rep.Actions) == 0 {
		t.Fatalf("undisturbed: %s, actions %v, failures %v: what would this prove?", rep.Status, rep.Actions, rep.Failures)
	}
	once := undisturbed.state()
	want := expected{report: rep, changed: Changes(before, once), state: undisturbed.end(maxRuns)}
	for _, check := range checks {
		t.Run(check.name, func(t *testing.T) {
			t.Parallel()
			check.prove(c.begin(t, &want))
		})
	}
}

// expected is the result of undisturbed runs.
type expected struct {
	report  *report.Report  // of the first run
	changed map[string]bool // names of what the first run created, changed or deleted
	state   map[string]any  // after the runs, when nothing is left to do
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

func (tr *trial) checkPreview() {
	all, before := tr.f.Everything(tr), tr.state()
	report := tr.f.RunQuery(tr, "?dryRun=true", tr.Body)
	if diff := cmp.Diff(all, tr.f.Everything(tr)); diff != "" {
		tr.Errorf("the preview changed something (-before +after):\n%s", diff)
	}
	for kind, c := range tr.want.report.Actions {
		if planned := report.Actions[kind].Planned; planned != c.Planned {
			tr.Errorf("%s: the preview has %d, the run %d", kind, planned, c.Planned)
		}
	}
	told, more := tr.foretold(report)
	for _, name := range slices.Sorted(maps.Keys(tr.want.changed)) {
		if !told[name] && !more && !strings.HasPrefix(name, "task ") && !within(told, name) {
			tr.Errorf("the run changed %s, of which the preview said nothing", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(told)) {
		_, was := before[name]
		_, is := tr.want.state[name]
		if !tr.want.changed[name] && (was || is) && !strings.HasPrefix(name, "task ") {
			tr.Errorf("the preview said that %s is written, which the run left as it was", name)
		}
	}
}

// foretold returns the names of what a plan says will be written. more says that the plan is not complete.
func (tr *trial) foretold(rep *report.Report) (told map[string]bool, more bool) {
	told, more = map[string]bool{}, rep.Truncated
	for _, p := range rep.Plan {
		more = more || p.More
		for _, w := range p.Writes {
			verb, name, _ := strings.Cut(w, " ")
			switch {
			case verb == "nothing:":
				continue
			case strings.HasPrefix(w, "hand over "):
				name = strings.TrimPrefix(w, "hand over ")
			case strings.HasPrefix(w, "delete objects under "):
				name = strings.TrimPrefix(w, "delete objects under ")
			}
			told[tr.neutral(name).(string)] = true
		}
	}
	return told, more
}

// within reports whether a name lies in a folder that the plan says will be deleted.
func within(told map[string]bool, name string) bool {
	for folder := range told {
		if strings.HasPrefix(folder, "gs://") && strings.HasSuffix(folder, "/") && strings.HasPrefix(name, folder) {
			return true
		}
	}
	return false
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
