package reliability

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/functions/bannedusers"
	"github.com/firesweep/firesweep/functions/expiredcomped"
	"github.com/firesweep/firesweep/functions/ghostcircles"
	"github.com/firesweep/firesweep/functions/inactiveprojects"
	"github.com/firesweep/firesweep/functions/memberinvites"
	"github.com/firesweep/firesweep/functions/orphanedmedia"
	"github.com/firesweep/firesweep/functions/placeholderusers"
	"github.com/firesweep/firesweep/functions/reports"
	"github.com/firesweep/firesweep/functions/resolvedinquiries"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// subject is a job with its worker, if it has one.
type subject struct {
	job    sweep.Job
	worker *sweep.Job
}

func subjects() []subject {
	return []subject{
		{job: orphanedmedia.Job},
		{job: resolvedinquiries.Job},
		{job: ghostcircles.Job},
		{job: bannedusers.Job},
		{job: reports.Job},
		{job: expiredcomped.Job},
		{job: inactiveprojects.Job, worker: &inactiveprojects.Worker},
		{job: memberinvites.Job},
		{job: placeholderusers.Job, worker: &placeholderusers.Worker},
	}
}

// now is every run's: after the objects that a test uploads have become old enough, on a day with nothing special.
var now = time.Now().UTC().Add(48 * time.Hour).Truncate(time.Second)

// world is a project with a job's part of the sample data, and the functions that work on it.
type world struct {
	*backendstest.Project
	subject
	data   *sampledata.Project
	sample sampledata.Sample

	serve   atomic.Value  // the http.HandlerFunc of the worker's process
	address string        // of the worker
	clock   time.Duration // how far the clock is ahead of the machine's
}

func newWorld(t *testing.T, s subject) *world {
	t.Helper()
	p := backendstest.Start(t)
	if s.worker != nil && p.Tasks() == nil {
		t.Skip("only the embedded Cloud Tasks can be told to deliver")
	}
	w := &world{
		Project: p, subject: s, sample: sampledata.Job(s.job.Name, now, p.Bucket),
		data: &sampledata.Project{Firestore: p.Firestore(t), Bucket: p.Storage(t).Bucket(p.Bucket), Auth: p.Auth(t)},
	}
	if err := w.data.Load(t.Context(), w.sample); err != nil {
		t.Fatal(err)
	}
	if s.worker != nil {
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.serve.Load().(http.HandlerFunc)(rw, r) }))
		t.Cleanup(server.Close)
		w.address = server.URL
	}
	return w
}

// started is a process of a job or worker.
type started struct {
	*sweeptest.Function
	process *Process
	ahead   atomic.Int64 // how far its clock is ahead of the machine's, in nanoseconds
}

func (w *world) start(t *testing.T, job sweep.Job, steps *Steps) *started {
	t.Helper()
	f := functions.New(job)
	s := &started{process: steps.Run(f)}
	s.ahead.Store(int64(w.clock))
	f.Clock = func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }
	s.Function = sweeptest.On(t, f, w.Project)
	if w.address != "" {
		s.Env["TASKS_TARGET_URL"] = w.address
	}
	return s
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
	if err := s.process.End(); err != nil {
		t.Errorf("roll back what a process left open: %v", err)
	}
}

// run runs the job once and delivers the tasks that are there, each once. A task that fails is due again.
func (w *world) run(t *testing.T, steps *Steps) *sweep.Report {
	t.Helper()
	f := w.start(t, w.job, steps)
	f.Now = now
	var report sweep.Report
	f.serving(t.Context(), t, steps, func(ctx context.Context) {
		answer := f.PostContext(ctx, t, "")
		if err := json.Unmarshal(answer.Body.Bytes(), &report); err != nil || report.RunID == "" {
			t.Fatalf("answer %d %s: not a report", answer.Code, answer.Body)
		}
	})
	if w.subject.worker != nil {
		worker := w.start(t, *w.subject.worker, steps)
		w.serve.Store(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			worker.serving(r.Context(), t, steps, func(ctx context.Context) { worker.ServeHTTP(rw, r.WithContext(ctx)) })
		}))
		// What fails is told by what is left.
		_, _ = w.Tasks().Deliver(t.Context(), now.Add(w.clock+24*time.Hour))
	}
	return &report
}

// maxRuns is how many undisturbed runs may follow a disturbed one until nothing is left to do.
const maxRuns = 4

// recover runs the job undisturbed until nothing is left to do, and returns false if something always is. The clock is set so
// that leases of dead runs have expired.
func (w *world) recover(t *testing.T) bool {
	t.Helper()
	for range maxRuns {
		w.clock += functions.New(w.job).Timeout + 2*time.Minute
		report := w.run(t, Undisturbed())
		planned := 0
		for _, c := range report.Actions {
			planned += c.Planned
		}
		if report.Status == sweep.Completed && planned == 0 && w.pending() == 0 {
			return true
		}
	}
	return false
}

// pending returns how many tasks are not done.
func (w *world) pending() int {
	if w.subject.worker == nil {
		return 0
	}
	return len(w.Tasks().Pending(""))
}

// outcome runs the job until nothing is left to do and compares what is there then with what a sample must end as. Of the
// bundle's own records, what is noted to be done later counts. Each line names one difference.
func (w *world) outcome(t *testing.T, want sampledata.Sample) (lines []string) {
	t.Helper()
	if !w.recover(t) {
		lines = append(lines, fmt.Sprintf("after %d undisturbed runs something is still left to do", maxRuns))
	}
	return append(lines, w.differences(t, want)...)
}

func (w *world) differences(t *testing.T, want sampledata.Sample) []string {
	t.Helper()
	left, err := w.data.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lines := want.Differences(left)
	notes, err := w.notes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range notes {
		lines = append(lines, path+" is still noted")
	}
	if n := w.pending(); n > 0 {
		lines = append(lines, fmt.Sprintf("%d tasks are left", n))
	}
	return lines
}

// notes returns the documents below cleanupJobs/{job}.
func (w *world) notes(ctx context.Context) (paths []string, err error) {
	jobs, err := w.data.Firestore.Collection("cleanupJobs").DocumentRefs(ctx).GetAll()
	if err != nil {
		return nil, fmt.Errorf("list cleanupJobs: %w", err)
	}
	for _, job := range jobs {
		collections, err := job.Collections(ctx).GetAll()
		if err != nil {
			return nil, fmt.Errorf("list the collections of %s: %w", job.Path, err)
		}
		for _, c := range collections {
			notes, err := c.DocumentRefs(ctx).GetAll()
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", c.Path, err)
			}
			for _, note := range notes {
				_, path, _ := strings.Cut(note.Path, "/documents/")
				paths = append(paths, path)
			}
		}
	}
	return paths, nil
}
