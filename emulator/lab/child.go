package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	_ "github.com/firesweep/firesweep" // registers all functions
	"github.com/firesweep/firesweep/emulator/lab/standin"
	"github.com/firesweep/firesweep/emulator/process"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// childArgument makes the program the process that is measured.
const childArgument = "run-one-job"

// order is what the measured process is told.
type order struct {
	Case    string
	Job     string
	Items   int
	Now     time.Time
	Google  standin.Address
	Env     map[string]string // what the job is told besides what its case says
	Headers map[string]string // of the one request that a part of a split run is called with; nil: it is called as usual
}

// outcome is what the measured process answers.
type outcome struct {
	Reports []*report.Report // of a worker, one for each task
	Elapsed time.Duration    // of the requests
	CPU     time.Duration    // of the process, from the request to its answer
	Memory  int              // bytes, the most that the process held; 0 where the system does not tell
}

// runOne reads an order, runs the job by its function's HTTP handler, and writes the outcome.
func runOne(in io.Reader, out io.Writer) error {
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	job, known := functions.Registered()[o.Job]
	if !known {
		return fmt.Errorf("there is no job %q", o.Job)
	}
	i := slices.IndexFunc(cases, func(m measured) bool { return m.name == o.Case })
	if i < 0 {
		return fmt.Errorf("there is no case %q", o.Case)
	}
	folder, err := os.MkdirTemp("", "lab-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // what cannot be removed stays in the system's temporary folder
	credentials := filepath.Join(folder, "credentials.json")
	if err := os.WriteFile(credentials, []byte(standin.Credentials), 0o600); err != nil {
		return err
	}
	if err := os.Setenv("GOOGLE_APPLICATION_CREDENTIALS", credentials); err != nil {
		return err
	}
	o.Google.Everywhere()
	before, began := cpu(), time.Now()
	f := o.function(job, cases[i])
	defer f.Close()
	result := outcome{Reports: make([]*report.Report, 1)}
	switch {
	case o.Headers != nil:
		result.Reports[0], err = post(f, "", o.Headers) // a task has no body
	case cases[i].task != nil:
		result.Reports, err = cases[i].callEach(f, o.Items)
	default:
		result.Reports[0], err = post(f, "{}", scheduled(o.Now))
	}
	if err != nil {
		return err
	}
	result.Elapsed, result.CPU = time.Since(began), cpu()-before
	if _, result.Memory, err = process.Memory(os.Getpid()); err != nil && runtime.GOOS == "linux" {
		return err
	}
	return json.NewEncoder(out).Encode(result)
}

// function returns a job's function with the settings that Terraform would give it.
func (o order) function(job cleanup.Job, m measured) *engine.Function {
	f := functions.New(job)
	f.Log = io.Discard
	environment := map[string]string{
		"GOOGLE_CLOUD_PROJECT": o.Google.Project, "STORAGE_BUCKET": o.Google.Bucket, "TASKS_LOCATION": "asia-northeast1",
		"TASKS_QUEUE": "lab", "TASKS_SERVICE_ACCOUNT": "lab@example.com", "TASKS_TARGET_URL": "https://worker.example.com/",
		"DRY_RUN": "false",
	}
	maps.Copy(environment, m.env)
	maps.Copy(environment, o.Env)
	f.Getenv = func(name string) string { return environment[name] }
	f.Hooks.DeafToStop = true // or a slow machine would count more reads: one in five seconds
	f.Hooks.Dial, f.Hooks.DialTasks, f.Hooks.Transport = o.Google.Dial(), o.Google.Dial(), o.Google.Transport
	return f
}

// callEach calls a worker with each of its tasks, as many at a time as its queue would.
func (m measured) callEach(f *engine.Function, n int) ([]*report.Report, error) {
	all := make([]*report.Report, n)
	var tasks errgroup.Group
	tasks.SetLimit(m.atOne)
	for i := range n {
		tasks.Go(func() (err error) {
			all[i], err = post(f, m.task(i, n), nil)
			return err
		})
	}
	return all, tasks.Wait()
}

// scheduled are the headers with which Cloud Scheduler calls a function.
func scheduled(now time.Time) map[string]string {
	return map[string]string{"X-CloudScheduler-ScheduleTime": now.Format(time.RFC3339Nano)}
}

// post calls a function.
func post(f *engine.Function, body string, headers map[string]string) (*report.Report, error) {
	answer, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	f.ServeHTTP(answer, request)
	var rep *report.Report
	if err := json.Unmarshal(answer.Body.Bytes(), &rep); err != nil || rep.RunID == "" {
		return nil, fmt.Errorf("%s answered %d: %s", f.Job.Name, answer.Code, answer.Body)
	}
	return rep, nil
}

// cpu returns the CPU time that the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
