package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"

	"github.com/firesweep/firesweep/shared/backends"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/internal/apply"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/harmless"
	"github.com/firesweep/firesweep/shared/logging"
	"github.com/firesweep/firesweep/shared/tasks"
	"github.com/firesweep/firesweep/shared/usage"
	"github.com/firesweep/firesweep/shared/version"
)

// storageWritesPerSecond is Cloud Storage's own advice for a bucket's first writes.
const storageWritesPerSecond = 1000

// Function serves one job over HTTP: POST runs it.
type Function struct {
	Job       cleanup.Job
	Timeout   time.Duration    // after which the platform gives the run up
	StopAfter time.Duration    // if not 0, starts no more work this long into the run, even if the timeout allows it
	Uses      []config.Backend // what the job works on

	Getenv func(string) string
	Clock  func() time.Time
	Log    io.Writer
	Hooks  Hooks

	operators bool // the credentials are those of whoever calls the command

	mu     sync.Mutex
	opened map[config.Config]*clients
}

// Hooks let tests watch and disturb a run. All may be nil.
type Hooks struct {
	backends.Hooks
	BeforeApply func()            // called between planning and applying
	DialTasks   []grpc.DialOption // for the Cloud Tasks connection
	DeafToStop  bool              // the run does not look for an order to stop, so that its reads do not depend on its duration
	AnyClock    bool              // the clock may be far from Firestore's
	PlanBytes   int               // that a plan may hold; 0: as many as the memory limit allows

	writers func(*apply.Applier) // called when it is known what the run would write with
}

// clients are shared by the runs of one configuration.
type clients struct {
	*backends.Opened
	tasks *tasks.Client // nil if the function does not use Cloud Tasks
}

// close closes the connections, which no run uses any more. A connection that cannot be closed does no harm.
func (c *clients) close() {
	_ = c.Close()
	if c.tasks != nil {
		_ = c.tasks.Close()
	}
}

// NewFunction returns a function on the process's environment, clock and standard error.
func NewFunction(job cleanup.Job, timeout time.Duration, uses []config.Backend) *Function {
	return &Function{Job: job, Timeout: timeout, Uses: uses, Getenv: os.Getenv, Clock: time.Now, Log: logging.Stderr{}}
}

// forOperator returns a function like this one for whoever calls the command, with connections of its own.
func (f *Function) forOperator() *Function {
	return &Function{
		Job: f.Job, Timeout: f.Timeout, StopAfter: f.StopAfter, Uses: f.Uses,
		Getenv: f.Getenv, Clock: f.Clock, Log: f.Log, Hooks: f.Hooks, operators: true,
	}
}

// ServeHTTP runs the job.
func (f *Function) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	log := logging.New(f.Log).With(logging.Labels(slog.String("job", f.Job.Name)))
	defer func() {
		if v := recover(); v != nil {
			log.ErrorContext(r.Context(), f.Job.Name+" panicked", logging.Problem("panic"), logging.Reported(),
				logging.Stack(v, debug.Stack()))
			panicked := errors.New("the function panicked; see its log")
			refusal{http.StatusInternalServerError, "internal", panicked}.answer(w)
		}
	}()
	wall := f.Clock()
	req, cfg, now, refused := f.receive(w, r, wall)
	if refused != nil {
		f.refuse(r.Context(), w, log, refused)
		return
	}
	c, err := f.open(context.WithoutCancel(r.Context()), cfg)
	if err != nil {
		f.refuse(r.Context(), w, log, &refusal{http.StatusInternalServerError, "unavailable", err})
		return
	}
	run := f.newRun(c, cfg, logging.New(f.Log), wall, now, req)
	rep := run.execute(r.Context())
	code := rep.HTTPStatus()
	if f.Job.Task != nil && rep.Status == report.Skipped { // it is held, and Cloud Tasks is to call again
		code = http.StatusServiceUnavailable
	}
	respond(w, code, rep)
}

// refusal is the answer to a request for which no run is started.
type refusal struct {
	status int
	code   string
	err    error
}

func (r refusal) answer(w http.ResponseWriter) {
	respond(w, r.status, map[string]any{"error": map[string]string{"code": r.code, "message": r.err.Error()}})
}

// receive reads what a request asks for, by which configuration, and the run's now.
func (f *Function) receive(w http.ResponseWriter, r *http.Request, wall time.Time) (
	req request, cfg config.Config, now time.Time, refused *refusal,
) {
	var err error
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		err := fmt.Errorf("%s is called with POST, not %s", f.Job.Name, harmless.Clip(r.Method, maxQuoted))
		return req, cfg, now, &refusal{http.StatusMethodNotAllowed, "method_not_allowed", err}
	}
	if req, err = parseRequest(w, r, f.Job.Task); err != nil {
		return req, cfg, now, &refusal{http.StatusBadRequest, "invalid_request", err}
	}
	cfg, err = config.Load(config.For(f.Job.Name, f.Getenv), f.Job.Settings, f.Uses...)
	if err != nil {
		return req, cfg, now, &refusal{http.StatusInternalServerError, "misconfigured", err}
	}
	if cfg.DryRun && req.dryRun != nil && !*req.dryRun {
		return req, cfg, now, &refusal{http.StatusBadRequest, "invalid_request", errors.New(f.Job.Name + " only plans, because its " +
			"DRY_RUN is true, and no request can change that: deploy it with DRY_RUN=false (Terraform: dry_run)")}
	}
	now, req.scheduled, err = runTime(r.Header, f.Job.Task != nil, wall, cfg.Emulators.Any())
	if err != nil {
		return req, cfg, now, &refusal{http.StatusBadRequest, "invalid_request", err}
	}
	if req.dryRun == nil {
		req.dryRun = &cfg.DryRun
	}
	return req, cfg, now, nil
}

// refuse answers a request for which no run is started. The log says what is wrong, but never shows the body, which may hold
// anything.
func (f *Function) refuse(ctx context.Context, w http.ResponseWriter, log *slog.Logger, r *refusal) {
	if r.status == http.StatusInternalServerError {
		log.ErrorContext(ctx, f.Job.Name+" did not run: "+r.err.Error(), logging.Problem(harmless.Clip(r.err.Error(), maxProblem)),
			logging.Reported())
	} else {
		log.WarnContext(ctx, f.Job.Name+" refused a request: "+r.err.Error(), slog.String("code", r.code),
			slog.Int("httpStatus", r.status))
	}
	r.answer(w)
}

// Binding is what a plan must be for to restrict a run of the function: it does at most what is in the plan, each item only if
// the job proposes it still and it is still what it was. All else holds as in every run. So a plan that somebody forged does
// nothing that the job would not do.
func (f *Function) Binding(cfg config.Config) report.Binding {
	b := report.Binding{Project: cfg.Project, Database: cfg.Database, Job: f.Job.Name, Entry: f.Job.Entry, Version: version.Release}
	if slices.Contains(f.Uses, config.Storage) {
		b.Bucket = cfg.Bucket
	}
	return b
}

// newRun returns a run that begins at wall. Its time limits count from wall with its monotonic reading, so that a wall clock that
// is set back does not stretch the run ([state.Since]).
func (f *Function) newRun(c *clients, cfg config.Config, log *slog.Logger, wall, now time.Time, req request) *run {
	started := wall.UTC().Truncate(time.Millisecond)
	id := newRunID(f.Job.Name, started)
	stopAfter := f.Timeout - stopMargin(f.Timeout)
	if f.StopAfter > 0 {
		stopAfter = min(stopAfter, f.StopAfter)
	}
	r := &run{
		Teller: &tell.Teller{Worker: f.Job.Task != nil, Report: &report.Report{
			Job: f.Job.Name, Entry: f.Job.Entry, RunID: id, DryRun: *req.dryRun, Force: req.Force, Now: now, StartedAt: started,
			Database: cfg.Database, Bucket: f.Binding(cfg).Bucket, Approved: req.Approved.Size(),
			Revision: cmp.Or(req.By, f.Getenv("K_REVISION")), Schedule: f.Getenv("SCHEDULE"), Version: version.String(),
			Actions: map[string]report.Counts{}, Kept: map[string]int{}, Failures: []report.Failure{},
		}, Logger: log.With(logging.Labels(slog.String("job", f.Job.Name), slog.String("runId", id)))},
		deadline: deadline{
			clock: f.Clock, timeout: f.Timeout, begun: wall, planUntil: wall.Add(stopAfter / 2), stopAt: wall.Add(stopAfter),
			preview: *req.dryRun,
		},
		request: req,
		job:     f.Job,
		config:  cfg,
		hooks:   f.Hooks,
		clients: c,
		meter:   new(usage.Meter),
		ownStop: f.StopAfter > 0,
	}
	r.decider = &decide.Decider{Teller: r.Teller, Time: &r.deadline, Job: f.Job, Run: r.known(), Documents: c.Documents.Reader(),
		Approved: req.Approved, Saves: cfg.UndoDays > 0 && !*req.dryRun}
	r.applier = &apply.Applier{Decider: r.decider, Log: &runlog.Log{
		Job: f.Job.Name, Run: id, Saves: r.decider.Saves, Expire: started.AddDate(0, 0, max(1, cfg.UndoDays)),
	}}
	r.openWriters()
	return r
}

// openWriters opens what the run writes with, each at the pace that its service takes.
func (r *run) openWriters() {
	a, c := r.applier, r.clients
	a.Tasks = c.tasks
	a.Documents = c.Documents.Writer(r.hooks.Writes())
	a.Documents.InTime = r.inTime
	if c.Objects != nil {
		a.Objects = c.Objects.Writer(rate.NewLimiter(storageWritesPerSecond, apply.MaxObjects))
		r.decider.Objects = c.Objects.Reader()
		a.Objects.InTime = r.inTime // each batch tells by itself what it deletes
	}
	if c.Accounts != nil {
		a.Accounts = c.Accounts.Writer()
		a.Accounts.InTime = r.inTime
		r.decider.People = a.Accounts.Reader
	}
	if r.hooks.writers != nil {
		r.hooks.writers(a)
	}
}

// open returns clients for the configuration, those of an earlier request if they fit. A failed attempt leaves nothing behind,
// so that the next request tries again.
func (f *Function) open(ctx context.Context, cfg config.Config) (_ *clients, err error) {
	cfg = cfg.WithoutOwn() // no client depends on them
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.opened[cfg]; c != nil {
		return c, nil
	}
	c := &clients{}
	if c.Opened, err = f.Hooks.Open(ctx, cfg, f.Uses, f.operators); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if slices.Contains(f.Uses, config.Tasks) {
		c.tasks, err = tasks.Open(ctx, tasks.Queue{
			Project: cfg.Project, Location: cfg.TasksLocation, ID: cfg.TasksQueue, TargetURL: cfg.TasksTargetURL,
			ServiceAccount: cfg.TasksServiceAccount, EmulatorHost: cfg.Emulators.Tasks,
		}, func() time.Time { return f.Clock() }, f.Hooks.DialTasks...)
		if err != nil {
			return nil, err
		}
	}
	if f.opened == nil {
		f.opened = map[config.Config]*clients{}
	}
	f.opened[cfg] = c
	return c, nil
}

// Close closes the function's connections, which otherwise last as long as the process: for tests, which make many functions. A
// later request opens new ones.
func (f *Function) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.opened {
		c.close()
	}
	clear(f.opened)
}

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // people read this in a terminal
	_ = e.Encode(body)     // a report can always be encoded
	// An error here means that the caller is gone; what the run did is in the log and in cleanupRuns.
	_, _ = w.Write(harmless.JSON(text.Bytes()))
}
