package reliability

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"firebase.google.com/go/v4/auth"
	"google.golang.org/grpc"

	_ "github.com/firesweep/firesweep" // registers all functions
	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/emulator/sampledata/sampletest"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

// subject is a job with its worker, if it has one, and the data that it runs on.
type subject struct {
	name   string // as in docs/contributing/reliability.md
	job    cleanup.Job
	worker *cleanup.Job
	body   string    // of the job's requests: a worker's task, where it is tried alone
	now    time.Time // every run's
	data   func(now time.Time, bucket string) sampledata.Sample
	env    map[string]string // of the functions, besides what they have anyway
	checks bool              // only what is checked once is tried, with no fault or race at each call

	// between is between the job, or an undo, and its calls, to show that a careless one is found; nil: nothing is.
	between func(undoes bool, sent, answer any, send func() error) error
}

// subjects are all jobs with a part in the sample data, each on its part, their workers, each with a task, and the rules of
// docs/examples.
func subjects() (all []subject) {
	jobs := functions.Registered()
	for _, e := range functions.All() {
		if !slices.Contains(sampledata.Jobs(), e.Name) {
			continue // it is tried with the job that calls it, or is a rule of your own
		}
		s := sampled(jobs[e.Name])
		if e.Worker != "" {
			worker := jobs[e.Worker]
			alone := s
			alone.name, alone.job, alone.body, alone.checks = e.Worker, worker, tasks[e.Worker], true
			s.worker = &worker
			all = append(all, alone)
		}
		all = append(all, s)
	}
	for _, e := range examples() {
		s := subject{name: e.Name, job: declared.Job(e.Name, *e.Rule), now: now, checks: !slices.Contains(tried, e.Name),
			data: func(now time.Time, _ string) sampledata.Sample { return sampledata.ExampleData(e, now) }}
		if s.checks {
			s.now = sampledata.OldEnough()
		}
		all = append(all, s)
	}
	return all
}

// tasks are a task for each worker.
var tasks = map[string]string{
	"deletePlaceholderUser":      `{"placeholder_user_id":"placeholder-unused"}`,
	"sendInactiveProjectWarning": `{"project_id":"project-dormant","deletion_date":"` + now.AddDate(0, 3, 0).Format(time.DateOnly) + `"}`,
}

// tried are the rules of docs/examples with a fault and a race at each call, one of every kind.
var tried = []string{
	"cleanupUnconfirmedUsers", "cleanupNotifications", "cleanupClosedTickets", "hideForgottenPosts", "cleanupHiddenPosts",
	"cleanupOrphanedAvatars", "cleanupUnusedPictures", "cleanupAnonymousAccounts", "cleanupUnverifiedAccounts",
}

// examples returns the entries of docs/examples.
var examples = sync.OnceValue(func() []manifest.Entry {
	all, err := sampledata.Examples("../../docs/examples")
	if err != nil {
		panic(err)
	}
	return all
})

// exampleOf returns the example of a name.
func exampleOf(name string) (manifest.Entry, bool) {
	i := slices.IndexFunc(examples(), func(e manifest.Entry) bool { return e.Name == name })
	if i < 0 {
		return manifest.Entry{}, false
	}
	return examples()[i], true
}

// newFunction returns the function that serves a job.
func newFunction(job cleanup.Job) *engine.Function {
	if e, ok := exampleOf(job.Name); ok {
		return engine.NewFunction(job, time.Duration(e.TimeoutSeconds)*time.Second, e.Uses())
	}
	return functions.New(job)
}

// sampled is a job on its part of the sample data.
func sampled(job cleanup.Job) subject {
	return subject{name: job.Name, job: job, now: now, data: func(now time.Time, bucket string) sampledata.Sample {
		return sampledata.Job(job.Name, now, bucket)
	}}
}

// now is every run's: after the objects that a test uploads have become old enough, on a day with nothing special.
var now = time.Now().UTC().Add(ahead).Truncate(time.Second)

const ahead = 48 * time.Hour

// world is a project with a job's part of the sample data, and the functions that work on it.
type world struct {
	*backendstest.Project
	subject
	content *sampledata.Project
	people  *auth.Client
	sample  sampledata.Sample

	serve    atomic.Value            // the http.HandlerFunc of the worker's process
	address  string                  // of the worker
	clock    time.Duration           // how far the clock is ahead of the machine's
	query    string                  // of the job's requests
	running  atomic.Pointer[started] // the job's last process
	approved *report.Approval        // that runs are restricted to; nil: to none
}

func newWorld(t *testing.T, s subject) *world {
	t.Helper()
	p := backendstest.Start(t)
	// Where this is set, Google's client opens a connection of its own beside the one that it is given, and never closes it: with
	// -full there are so many that the emulator has no file left for another.
	ok(t, os.Unsetenv(backends.FirestoreHost))
	if s.worker != nil && p.Tasks() == nil {
		t.Skip("only the embedded Cloud Tasks can be told to deliver")
	}
	w := &world{
		Project: p, subject: s, sample: s.data(s.now, p.Bucket),
		content: sampletest.Open(t, p), people: p.Auth(t),
	}
	ok(t, w.content.Load(t.Context(), w.sample))
	if s.worker != nil {
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			w.serve.Load().(http.HandlerFunc)(rw, r)
		}))
		t.Cleanup(server.Close)
		w.address = server.URL
	}
	return w
}

var ok = check.OK

// started is a process of a job or worker.
type started struct {
	*enginetest.Function
	process *Process
	ahead   atomic.Int64 // how far its clock is ahead of the machine's, in nanoseconds
}

func (w *world) start(t *testing.T, job cleanup.Job, steps *Steps) *started {
	t.Helper()
	s := &started{}
	f := newFunction(job)
	f.Hooks.Dial = append(f.Hooks.Dial, w.dial(false)...)
	s.process = steps.Run(f)
	s.ahead.Store(int64(w.clock))
	f.Clock = func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }
	s.Function = enginetest.On(t, f, w.Project)
	if e, ok := exampleOf(job.Name); ok {
		s.Indexes = e.Indexes
	}
	maps.Copy(s.Env, w.env)
	s.Env["TASKS_TARGET_URL"] = "http://127.0.0.1:1/" // nothing is delivered to a job that is tried without its worker
	s.Now = w.now
	if w.worker != nil {
		s.Env["TASKS_TARGET_URL"] = w.address
	}
	return s
}

// dial returns the dial options by which between comes between a process and its calls.
func (s subject) dial(undoes bool) []grpc.DialOption {
	if s.between == nil {
		return nil
	}
	return []grpc.DialOption{wire.Around(func(_ context.Context, _ string, sent, answer any, send func() error) error {
		return s.between(undoes, sent, answer, send)
	})}
}

// serving calls the function with a request that ends, or a clock that goes on, when the steps say so.
func (s *started) serving(ctx context.Context, t *testing.T, steps *Steps, call func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	steps.OnEnding(func(e Ending) {
		switch e {
		case ToldToStop:
			cancel()
		case OutOfTime:
			s.ahead.Add(int64(s.Timeout))
		}
	})
	call(ctx)
	s.process.End(t, s.Project)
}

// run runs the job once and delivers the tasks that are there. It returns the report of the run.
func (w *world) run(t *testing.T, steps *Steps) *report.Report {
	t.Helper()
	rep := w.runJob(t, steps)
	w.deliver(t, steps)
	return rep
}

// runJob runs the job once.
func (w *world) runJob(t *testing.T, steps *Steps) *report.Report {
	t.Helper()
	f := w.start(t, w.job, steps)
	w.running.Store(f)
	var rep report.Report
	f.serving(t.Context(), t, steps, func(ctx context.Context) {
		if w.approved != nil {
			err := f.Function.Function.Run(ctx, engine.Options{Approved: w.approved}, func(r *report.Report, _ bool) { rep = *r })
			ok(t, err)
			return
		}
		answer := f.PostQuery(ctx, t, w.query, w.body)
		if err := json.Unmarshal(answer.Body.Bytes(), &rep); err != nil || rep.RunID == "" {
			t.Fatalf("answer %d %s: not a report", answer.Code, answer.Body)
		}
	})
	return &rep
}

// deliver delivers the tasks that are there, each once. A task that fails is due again.
func (w *world) deliver(t *testing.T, steps *Steps) {
	t.Helper()
	if w.worker == nil {
		return
	}
	worker := w.start(t, *w.worker, steps)
	w.serve.Store(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		worker.serving(r.Context(), t, steps, func(ctx context.Context) { worker.ServeHTTP(rw, r.WithContext(ctx)) })
	}))
	// What fails is told by what is left.
	_, _ = w.Tasks().Deliver(t.Context(), w.now.Add(w.clock+24*time.Hour))
}

// maxRuns is how many undisturbed runs may follow a disturbed one until nothing is left to do.
const maxRuns = 4

// recover runs the job undisturbed until nothing is left to do, and returns false if something is after [maxRuns] runs. The clock is
// set so that leases of dead runs have expired.
func (w *world) recover(t *testing.T) bool {
	t.Helper()
	for range maxRuns {
		w.expireLease()
		rep := w.run(t, Undisturbed())
		planned := 0
		for _, c := range rep.Actions {
			planned += c.Planned
		}
		if rep.Status == report.Completed && planned == 0 && w.pending() == 0 {
			return true
		}
	}
	return false
}

// expireLease has so much time pass that the lease of a dead run of the job has expired, and that of an undo, which is shorter.
func (w *world) expireLease() { w.clock += newFunction(w.job).Timeout + 2*time.Minute }

// pending returns how many tasks are not done.
func (w *world) pending() int {
	if w.worker == nil {
		return 0
	}
	return len(w.Tasks().Pending(""))
}

// unfinished returns a line for each of the bundle's own records of something that is still to be done, and for an undo log that
// cannot be read.
func (w *world) unfinished(t *testing.T) (lines []string) {
	t.Helper()
	for _, d := range w.All(t) {
		_, path, _ := strings.Cut(d.Ref.Path, "/documents/")
		if strings.HasPrefix(path, collections.Jobs+"/") && strings.Count(path, "/") > 1 {
			lines = append(lines, path+" is still noted")
		}
	}
	// To say what would be taken back reads all of the undo logs.
	if _, _, err := w.undo(t, Undisturbed(), enginetest.LoggedRuns(t, w.content.Firestore), restore.Options{}); err != nil {
		lines = append(lines, err.Error())
	}
	return lines
}
