package reliability

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/googleapi"
	"google.golang.org/grpc/codes"

	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/shared/backends"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// expected is what undisturbed runs of a subject come to.
type expected struct {
	calls  []Call         // of the first run and its worker's
	ofUndo []Call         // of an undo of these, once it is known
	report *report.Report // of the first run
	first  map[string]any // all there is after it
	end    map[string]any // all there is when nothing is left to do
}

// checks are tried once of each subject, each on data of its own. Each returns what is wrong.
var checks = []struct {
	name  string
	prove func(t *testing.T, s subject, want *expected) []string
}{
	{"a preview changes nothing and foretells what a run does", checkPreview},
	{"an empty project", checkEmpty},
	{"more is due than the limit allows", checkLimit},
	{"commits that are too large", checkTooLarge},
	{"runs with time for one write each", checkTime},
	{"each kind of call loses its first answer", checkFirst(Faults[2], "")},
	{"each kind of call loses its first answer, without an undo log", checkFirst(Faults[2], "0")},
	{"each kind of call is contended at first", checkFirst(aborted, "")},
	{"users write while a commit is contended", checkContended},
	{"by half of a plan", checkApproved},
	{"a run is taken back, twice", checkUndo},
}

// aborted is contention.
var aborted = Faults[slices.IndexFunc(Faults, func(f Fault) bool { return f.Name == "Aborted" })]

// expect runs the subject undisturbed until nothing is left to do. What it leaves must be as the sample says, or else the
// comparisons mean nothing.
func expect(t *testing.T, s subject) *expected {
	t.Helper()
	w := newWorld(t, s)
	steps := Undisturbed()
	want := &expected{report: w.runJob(t, steps)}
	if want.report.Status != report.Completed || len(want.report.Actions) == 0 {
		t.Fatalf("undisturbed: %s, actions %v, failures %v: nothing is proved of it, so emulator/sampledata must have something for %s to do",
			want.report.Status, want.report.Actions, want.report.Failures, s.job.Name)
	}
	w.deliver(t, steps)
	want.calls, want.first = steps.Calls(), w.named(t)
	if s.body == "" { // a worker alone does not do all that the sample says
		left, err := w.content.Read(t.Context())
		ok(t, err)
		for _, line := range append(w.sample.Differences(left), w.unfinished(t)...) {
			t.Error(line)
		}
	}
	if !w.recover(t) {
		t.Errorf("after %d undisturbed runs something is still left to do", maxRuns)
	}
	if want.end = w.named(t); t.Failed() {
		t.FailNow()
	}
	return want
}

// named returns all that the project holds but the bundle's own records, by names and with values that are the same in each world.
func (w *world) named(t *testing.T) map[string]any {
	t.Helper()
	all := w.state(t)
	if tasks := w.Tasks(); tasks != nil {
		for _, task := range tasks.Pending("") {
			all["task "+task.GetName()[strings.LastIndexByte(task.GetName(), '/')+1:]] = string(task.GetHttpRequest().GetBody())
		}
	}
	return neutral(all, w.Bucket).(map[string]any)
}

// neutral returns a value in which the bucket is called bucket.
func neutral(value any, bucket string) any {
	switch v := value.(type) {
	case string:
		return strings.ReplaceAll(v, bucket, "bucket")
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = neutral(item, bucket)
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(v))
		for name, item := range v {
			fields[strings.ReplaceAll(name, bucket, "bucket")] = neutral(item, bucket)
		}
		return fields
	default:
		return value
	}
}

// notEnded runs the job until nothing is left to do, at most [maxRuns] times, and returns what is not as after undisturbed runs.
func (w *world) notEnded(t *testing.T, want *expected) (lines []string) {
	t.Helper()
	if !w.recover(t) {
		lines = append(lines, fmt.Sprintf("after %d runs something is still left to do", maxRuns))
	}
	return slices.Concat(lines, w.notAs(t, "at the end", want.end), w.unfinished(t))
}

// notAs returns what is not as after undisturbed runs.
func (w *world) notAs(t *testing.T, when string, want map[string]any) (lines []string) {
	t.Helper()
	return differ(when, want, w.named(t))
}

func differ(when string, want, got map[string]any) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(enginetest.Changes(want, got))) {
		lines = append(lines, fmt.Sprintf("%s, %s is (-wanted +there):\n%s", when, name, cmp.Diff(want[name], got[name])))
	}
	return lines
}

// records returns all documents, with the bundle's own records.
func (w *world) records(t *testing.T) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, d := range w.All(t) {
		all[d.Ref.Path] = d.Data()
	}
	return all
}

// checkPreview compares a preview with the undo log of a run on the same data.
func checkPreview(t *testing.T, s subject, _ *expected) []string {
	tr := &previewed{T: t, w: newWorld(t, s)}
	records, before := tr.w.records(t), tr.w.named(t)
	tr.w.query = "?dryRun=true"
	preview := tr.w.runJob(t, Undisturbed())
	if diff := cmp.Diff(records, tr.w.records(t)) + cmp.Diff(before, tr.w.named(t)); diff != "" {
		tr.Errorf("the preview changed something (-before +after):\n%s", diff)
	}
	if preview.Truncated {
		tr.Fatal("the preview is not complete: what would this prove?")
	}
	tr.w.query = ""
	run := tr.w.runJob(t, Undisturbed())
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
	tr.checkLogged(run.RunID, before, done)
	return nil
}

// previewed is a preview and a run that are compared.
type previewed struct {
	*testing.T
	w *world
}

// did is what a run did to one item.
type did struct {
	action, reason string
	things         map[string][]undo.Write // by the thing's name; none of an object or account, which it deleted
}

// done returns what the undo log of a run tells, by item.
func (tr *previewed) done(run string) map[string]*did {
	tr.Helper()
	all := map[string]*did{}
	err := tr.w.restorer(tr.T, backends.Hooks{}).Contents(tr.Context(), run, func(_, _ int, records []undo.Record) error {
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
			if r == (undo.Record{}) {
				continue // it stayed
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
	for account, of := range all {
		uid, is := strings.CutPrefix(account, report.AccountPrefix)
		for item, d := range all {
			if is && path.Base(item) == uid { // what is deleted with an account is an item in the log
				maps.Copy(of.things, d.things)
				delete(all, item)
			}
		}
	}
	return all
}

func (tr *previewed) nameOf(r undo.Record) string {
	switch {
	case r.Object != nil:
		return "gs://" + tr.w.Bucket + "/" + r.Object.Name
	case r.Account != nil:
		return "account " + r.Account.UID
	}
	return r.Write.Path
}

// compare compares what a preview tells of an item with what a run did.
func (tr *previewed) compare(p report.Planned, d *did) {
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
	maps.DeleteFunc(foretold, func(what string, _ int) bool { return strings.HasPrefix(what, "keep ") })
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

// checkLogged makes sure that the undo log and the log tell of all that a run changed, and the log of nothing else.
func (tr *previewed) checkLogged(run string, before map[string]any, done map[string]*did) {
	tr.Helper()
	saved, told := map[string]bool{}, tr.told(run)
	for _, d := range done {
		for name := range d.things {
			saved[neutral(name, tr.w.Bucket).(string)] = true
		}
	}
	changed := enginetest.Changes(before, tr.w.named(tr.T))
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		if !strings.HasPrefix(name, "task ") && (!saved[name] || !told[name]) {
			tr.Errorf("the run changed %s: its undo log says so: %t, its log: %t", name, saved[name], told[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(told)) { // what an earlier step made is gone again; an account may never have been there
		if _, was := before[name]; was && !changed[name] {
			tr.Errorf("the log says that the run changed %s, which is as it was", name)
		}
	}
}

// told returns what the lines of the log that bear a run's id say that it changed.
func (tr *previewed) told(run string) map[string]bool {
	tr.Helper()
	told := map[string]bool{}
	for _, line := range tr.w.running.Load().LogLines(tr) {
		writes, _ := line["writes"].([]any)
		labels, _ := line["logging.googleapis.com/labels"].(map[string]any)
		for _, w := range writes {
			w := w.(map[string]any)
			name := w["path"].(string)
			switch w["op"] {
			case "delete account":
				name = "account " + name
			case "delete object":
				if generation, _ := w["generation"].(string); generation == "" || generation == "0" {
					tr.Errorf("the log names %s without its generation", name)
				}
			}
			told[neutral(name, tr.w.Bucket).(string)] = labels["runId"] == run
		}
	}
	return told
}

func checkEmpty(t *testing.T, s subject, _ *expected) (lines []string) {
	s.data = func(time.Time, string) sampledata.Sample { return sampledata.Sample{} }
	w := newWorld(t, s)
	for range 2 {
		if rep := w.run(t, Undisturbed()); rep.Status != report.Completed || len(rep.Actions) > 0 {
			lines = append(lines, fmt.Sprintf("%s, actions %v, failures %v", rep.Status, rep.Actions, rep.Failures))
		}
	}
	if left := w.named(t); len(left) > 0 {
		lines = append(lines, fmt.Sprintf("it holds %v", left))
	}
	return lines
}

// checkLimit has each pass of a run be allowed one action. One in which more are due does none.
func checkLimit(t *testing.T, s subject, want *expected) (lines []string) {
	due := 0
	for _, c := range want.report.Actions {
		due += c.Planned
	}
	if due < 2 {
		return nil
	}
	s.env = map[string]string{"MAX_ACTIONS": "1"}
	w := newWorld(t, s)
	before := w.named(t)
	rep := w.runJob(t, Undisturbed())
	stopped := slices.ContainsFunc(rep.Failures, func(f report.Failure) bool { return f.Limit != nil && f.Limit.Limit == report.MaxActions })
	ofOne := slices.ContainsFunc(rep.Failures, func(f report.Failure) bool { return f.Limit != nil && f.Limit.Pass != "" })
	if rep.Status != report.Aborted || !stopped {
		lines = append(lines, fmt.Sprintf("of %d due, and one allowed: %s, failures %v", due, rep.Status, rep.Failures))
	}
	if diff := cmp.Diff(before, w.named(t)); diff != "" && !ofOne { // the other passes may have one action
		lines = append(lines, "it changed something (-before +after):\n"+diff)
	}
	return lines
}

// maxCommit is how many writes a commit may have before the disturbed Firestore refuses it: fewer than a few items need
// together, and as many as one item of the data needs that must be written as a whole.
const maxCommit = 12

func checkTooLarge(t *testing.T, s subject, want *expected) []string {
	return withstands(t, s, want, func(c Call) *Fault {
		if len(c.writes) <= maxCommit {
			return nil
		}
		return &Fault{Name: "the transaction is too big", code: codes.InvalidArgument}
	})
}

// checkFirst has the first call of each kind, by what it writes, have a fault. The run does what an undisturbed run does. What is done
// is kept for so many days; empty: as many as usually.
func checkFirst(fault Fault, undoDays string) func(*testing.T, subject, *expected) []string {
	return func(t *testing.T, s subject, want *expected) []string {
		if undoDays != "" {
			s.env = map[string]string{"UNDO_DAYS": undoDays}
		}
		had := map[string]bool{"": true}
		return withstands(t, s, want, func(c Call) *Fault {
			kind := kindOf(c)
			if had[kind] {
				return nil
			}
			had[kind] = true
			return &fault
		})
	}
}

// checkContended has users write once the first commit has lost against somebody else's write. That is what Firestore makes of a write
// to what a transaction read; its emulator makes that write wait instead. What they write is kept, because all is read anew.
func checkContended(t *testing.T, s subject, want *expected) (lines []string) {
	if s.checks {
		return nil // nothing is said of what its users do
	}
	w := newWorld(t, s)
	end := maps.Clone(want.end)
	var lost, over, wrote, lacking bool
	act := func() {
		for _, a := range actionsOf(s.name) {
			if a.late != (late{}) { // an object's deletion may be on its way: races know when it is
				continue
			}
			var answer *googleapi.Error
			switch kept, err := w.act(t, a); {
			case err == nil:
				a.addTo(end, kept)
			case errors.As(err, &answer) && answer.Code == http.StatusNotImplemented:
				lacking = true
			case !missing(err) && !errors.Is(err, errRefused): // who comes too late
				t.Errorf("%s: %v", a.name, err)
			}
		}
	}
	w.run(t, Disturbed(func(c Call) *Fault {
		switch {
		case !lost && goesOn(c):
			lost = true
			return &aborted
		case over && !wrote:
			wrote = true
			return &Fault{first: act}
		}
		over = over || lost && c.Method == "Rollback"
		return nil
	}))
	if lacking {
		t.Skip("the Firebase Emulator Suite's Storage cannot do what users do")
	}
	if !wrote {
		return nil // it commits nothing of the application's
	}
	if !w.recover(t) {
		lines = append(lines, fmt.Sprintf("after %d undisturbed runs something is still left to do", maxRuns))
	}
	return slices.Concat(lines, w.notAs(t, "at the end", end), w.unfinished(t))
}

// withstands runs the job with faults. It does what an undisturbed run does.
func withstands(t *testing.T, s subject, want *expected, choose func(c Call) *Fault) (lines []string) {
	w := newWorld(t, s)
	rep := w.run(t, Disturbed(choose))
	if diff := cmp.Diff(want.report.Actions, rep.Actions); rep.Status != report.Completed || diff != "" {
		lines = append(lines, fmt.Sprintf("%s, failures %v, actions (-undisturbed +disturbed):\n%s", rep.Status, rep.Failures, diff))
	}
	return append(lines, w.notEnded(t, want)...)
}

// kindOf returns how a call writes to which collections; empty if it writes nothing.
func kindOf(c Call) string {
	var kinds []string
	for i, w := range c.writes {
		kinds = append(kinds, fmt.Sprintf("%s %T %v", path.Base(path.Dir(c.Targets[i])), w.GetOperation(), slices.Sorted(slices.Values(
			w.GetUpdateMask().GetFieldPaths()))))
	}
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), "\n")
}

// goesOn reports whether a call writes more than a run's lease and report.
func goesOn(c Call) bool {
	return len(c.writes) > 0 && slices.ContainsFunc(c.Targets, func(path string) bool { return !strings.HasPrefix(path, "cleanup") })
}

// checkTime has each run's time be up once it has written something. The first that completes leaves what an undisturbed run leaves:
// none of them began behind what is left to do.
func checkTime(t *testing.T, s subject, want *expected) (lines []string) {
	if s.body != "" {
		return nil // a worker that is out of time fails, and its task is sent again
	}
	w := newWorld(t, s)
	late := Fault{first: func() {
		f := w.running.Load()
		f.ahead.Store(int64(w.clock + f.Timeout - time.Second)) // what is under way may still end
	}}
	for range 200 {
		w.expireLease()
		if rep := w.run(t, Disturbed(func(c Call) *Fault {
			if goesOn(c) {
				return &late
			}
			return nil
		})); rep.Status == report.Completed {
			break
		}
	}
	return append(w.notAs(t, "when a run completes", want.first), w.notEnded(t, want)...)
}

func checkUndo(t *testing.T, s subject, want *expected) []string {
	if !softDeletes(t, s) {
		t.Skip("the Firebase Emulator Suite's Storage has no soft delete, from which objects come back; the embedded one has")
	}
	w := newWorld(t, s)
	before := w.state(t)
	w.run(t, Undisturbed())
	return w.takenBack(t, want, before, Undisturbed(), true)
}

// checkApproved restricts a run to every other item of its plan, which a person approved. It does all of that and, run again, no more.
func checkApproved(t *testing.T, s subject, _ *expected) (lines []string) {
	if s.worker != nil || s.body != "" {
		return nil // it only runs deployed, and that is not by a plan
	}
	w := newWorld(t, s)
	w.clock = time.Until(w.now) // a run by a plan has the clock's now
	plan, err := w.start(t, w.job, Undisturbed()).Plan(t.Context(), engine.Options{Now: w.now, Versions: true})
	if err != nil || plan.Status != report.Completed {
		t.Fatalf("plan: %v, %+v", err, plan)
	}
	left := map[string]bool{}
	half := plan.Plan[:0]
	for i, p := range plan.Plan {
		if left[p.Target] = i%2 == 1; i%2 == 0 {
			half = append(half, p)
		}
	}
	plan.Plan = half
	w.approved = plan.Approve(plan.Binding)
	before := w.state(t)
	if rep := w.runJob(t, Undisturbed()); rep.Status != report.Completed || rep.Done() != len(half) {
		lines = append(lines, fmt.Sprintf("%s, %d of %d approved items are done: %v", rep.Status, rep.Done(), len(half), rep.Failures))
	}
	if again := w.runJob(t, Undisturbed()); again.Done() > 0 {
		lines = append(lines, fmt.Sprintf("run again, it did %v", again.Actions))
	}
	for name := range enginetest.Changes(before, w.state(t)) {
		if left[name] {
			lines = append(lines, name+" was touched, and nobody approved that")
		}
	}
	return lines
}
