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

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// expected is what undisturbed runs of a subject come to.
type expected struct {
	calls   []Call          // of the first run and its worker's
	ofUndo  []Call          // of an undo of these, once it is known
	report  *report.Report  // of the first run
	changed map[string]bool // names of what the first run created, changed or deleted
	end     map[string]any  // all there is when nothing is left to do
}

// checks are tried once of each subject, each on data of its own. Each returns what is wrong.
var checks = []struct {
	name  string
	prove func(t *testing.T, s subject, want *expected) []string
}{
	{"a preview changes nothing and foretells the writes", checkPreview},
	{"an empty project", checkEmpty},
	{"more is due than the limit allows", checkLimit},
	{"commits that are too large", checkTooLarge},
	{"runs with time for one write each", checkTime},
	{"each kind of call loses its first answer", checkFirst(Faults[2])},
	{"each kind of call is contended at first", checkFirst(aborted)},
	{"a run is taken back, twice", checkUndo},
}

// aborted is contention.
var aborted = Faults[slices.IndexFunc(Faults, func(f Fault) bool { return f.Name == "Aborted" })]

// expect runs the subject undisturbed until nothing is left to do. What it leaves must be as the sample says, or else the
// comparisons mean nothing.
func expect(t *testing.T, s subject) *expected {
	t.Helper()
	w := newWorld(t, s)
	before, steps := w.named(t), Undisturbed()
	want := &expected{report: w.runJob(t, steps)}
	if want.report.Status != report.Completed || len(want.report.Actions) == 0 {
		t.Fatalf("undisturbed: %s, actions %v, failures %v: nothing is proved of it, so emulator/sampledata must have something for %s to do",
			want.report.Status, want.report.Actions, want.report.Failures, s.job.Name)
	}
	want.changed = enginetest.Changes(before, w.named(t))
	w.deliver(t, steps)
	want.calls = steps.Calls()
	if s.body == "" { // a worker alone does not do all that the sample says
		for _, line := range w.differences(t, w.sample) {
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

// notEnded runs the job until nothing is left to do, at most so many times, and returns what is not as after undisturbed runs.
func (w *world) notEnded(t *testing.T, want *expected, runs int) (lines []string) {
	t.Helper()
	if !w.recoverIn(t, runs) {
		lines = append(lines, fmt.Sprintf("after %d runs something is still left to do", runs))
	}
	got := w.named(t)
	for _, name := range slices.Sorted(maps.Keys(enginetest.Changes(want.end, got))) {
		lines = append(lines, fmt.Sprintf("at the end, %s is (-undisturbed +disturbed):\n%s", name, cmp.Diff(want.end[name], got[name])))
	}
	return append(lines, w.noted(t)...)
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

func checkPreview(t *testing.T, s subject, want *expected) (lines []string) {
	w := newWorld(t, s)
	records, before := w.records(t), w.named(t)
	w.query = "?dryRun=true"
	rep := w.runJob(t, Undisturbed())
	if diff := cmp.Diff(records, w.records(t)) + cmp.Diff(before, w.named(t)); diff != "" {
		lines = append(lines, "the preview changed something (-before +after):\n"+diff)
	}
	for kind, c := range want.report.Actions {
		if planned := rep.Actions[kind].Planned; planned != c.Planned {
			lines = append(lines, fmt.Sprintf("%s: the preview has %d, the run %d", kind, planned, c.Planned))
		}
	}
	told, more := foretold(rep, w.Bucket)
	for _, name := range slices.Sorted(maps.Keys(want.changed)) {
		if !told[name] && !more && !strings.HasPrefix(name, "task ") && !within(told, name) {
			lines = append(lines, "the run changed "+name+", of which the preview said nothing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(told)) {
		_, was := before[name]
		_, is := want.end[name]
		if !want.changed[name] && (was || is) && !strings.HasPrefix(name, "task ") {
			lines = append(lines, "the preview said that "+name+" is written, which the run left as it was")
		}
	}
	return lines
}

// foretold returns the names of what a plan says will be written. more says that the plan is not complete.
func foretold(rep *report.Report, bucket string) (told map[string]bool, more bool) {
	told, more = map[string]bool{}, rep.Truncated
	for _, p := range rep.Plan {
		more = more || p.More
		for _, write := range p.Writes {
			verb, name, _ := strings.Cut(write, " ")
			for _, long := range []string{"hand over ", "delete objects under "} {
				if rest, ok := strings.CutPrefix(write, long); ok {
					name = rest
				}
			}
			if verb != "nothing:" {
				told[strings.ReplaceAll(name, bucket, "bucket")] = true
			}
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

// checkLimit has the run be allowed one action. If more are due, it does none.
func checkLimit(t *testing.T, s subject, want *expected) (lines []string) {
	due := 0
	for _, c := range want.report.Actions {
		due += c.Planned
	}
	if due < 2 {
		return nil
	}
	w := newWorld(t, s)
	w.env = map[string]string{"MAX_ACTIONS": "1"}
	before := w.named(t)
	if rep := w.runJob(t, Undisturbed()); rep.Status != report.Aborted || rep.Done() > 0 {
		lines = append(lines, fmt.Sprintf("of %d due, and one allowed: %s, %d done", due, rep.Status, rep.Done()))
	}
	if diff := cmp.Diff(before, w.named(t)); diff != "" {
		lines = append(lines, "it changed something (-before +after):\n"+diff)
	}
	return lines
}

// maxCommit is how many writes a commit may have before the disturbed Firestore refuses it: fewer than a few items need
// together, and as many as one item of the data needs that must be written as a whole.
const maxCommit = 12

func checkTooLarge(t *testing.T, s subject, want *expected) []string {
	return withstands(t, s, want, func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
		opts ...grpc.CallOption) error {
		if commit, ok := req.(*firestorepb.CommitRequest); ok && len(commit.GetWrites()) > maxCommit {
			return status.Error(codes.InvalidArgument, "Transaction too big. Decrease transaction size.")
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	})
}

// checkFirst has the first call of each kind, by what it writes, have a fault. The run does what an undisturbed run does.
func checkFirst(fault Fault) func(*testing.T, subject, *expected) []string {
	return func(t *testing.T, s subject, want *expected) []string {
		var mu sync.Mutex
		had := map[string]bool{}
		return withstands(t, s, want, func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
			opts ...grpc.CallOption) error {
			kind := kindOf(req)
			mu.Lock()
			first := kind != "" && !had[kind]
			had[kind] = true
			mu.Unlock()
			if first && !fault.sent {
				return fault.grpcError()
			}
			err := invoke(ctx, method, req, reply, cc, opts...)
			if first && err == nil {
				return fault.grpcError()
			}
			return err
		})
	}
}

// withstands runs the job with something between it and Firestore. It does what an undisturbed run does.
func withstands(t *testing.T, s subject, want *expected, between grpc.UnaryClientInterceptor) (lines []string) {
	s.between = between
	w := newWorld(t, s)
	rep := w.run(t, Undisturbed())
	if diff := cmp.Diff(want.report.Actions, rep.Actions); rep.Status != report.Completed || diff != "" {
		lines = append(lines, fmt.Sprintf("%s, failures %v, actions (-undisturbed +disturbed):\n%s", rep.Status, rep.Failures, diff))
	}
	return append(lines, w.notEnded(t, want, maxRuns)...)
}

// kindOf returns how a request writes to which collections; empty if it writes nothing but a run's own records. It leaves out what is
// still to be done.
func kindOf(req any) string {
	r, ok := req.(interface{ GetWrites() []*firestorepb.Write })
	if !ok {
		return ""
	}
	var kinds []string
	for i, path := range targetsOf(req) {
		if strings.HasPrefix(path, "cleanup") {
			continue
		}
		parts := strings.Split(path, "/")
		w := r.GetWrites()[i]
		kinds = append(kinds, fmt.Sprintf("%s %T %v", parts[len(parts)-2], w.GetOperation(), slices.Sorted(slices.Values(
			w.GetUpdateMask().GetFieldPaths()))))
	}
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), "\n")
}

// checkTime has each run's time be up once it has written something.
func checkTime(t *testing.T, s subject, want *expected) []string {
	if s.body != "" {
		return nil // a worker that is out of time fails, and its task is sent again
	}
	w := newWorld(t, s)
	w.between = func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
		opts ...grpc.CallOption) error {
		err := invoke(ctx, method, req, reply, cc, opts...)
		if f := w.running.Load(); f != nil && kindOf(req) != "" {
			f.ahead.Store(int64(w.clock + f.Timeout - time.Second)) // what is under way may still end
		}
		return err
	}
	return w.notEnded(t, want, 200)
}

func checkUndo(t *testing.T, s subject, want *expected) []string {
	if !softDeletes(t, s) {
		t.Skip("the Firebase Emulator Suite's Storage has no soft delete, from which objects come back; the embedded one has")
	}
	w := newWorld(t, s)
	before := w.state(t)
	w.run(t, Undisturbed())
	return append(w.takenBack(t, before, Undisturbed(), true), w.notEnded(t, want, maxRuns)...)
}
