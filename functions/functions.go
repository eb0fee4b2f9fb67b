// Package functions holds functions/schedule.json, the one list of what is deployed, and registers the jobs of the
// packages below it under the names that stand there.
package functions

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"time"

	framework "github.com/GoogleCloudPlatform/functions-framework-go/functions"

	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/shutdown"
	"github.com/firesweep/firesweep/shared/sweep"
)

//go:embed schedule.json
var scheduleJSON []byte

// All returns the entries of schedule.json in their order.
func All() []manifest.Entry {
	entries, err := manifest.Parse(scheduleJSON)
	if err != nil {
		panic("functions/schedule.json: " + err.Error()) // the file is compiled in and tested
	}
	return entries
}

// New returns the function that serves a job or a worker, with the times and backends that schedule.json gives it.
func New(job sweep.Job) *sweep.Function {
	for _, e := range All() {
		if e.Name == job.Name {
			timeout, err := e.Timeout(os.Getenv)
			if err != nil {
				panic(fmt.Sprintf("%s: wrong configuration: %v", job.Name, err))
			}
			f := sweep.NewFunction(job, timeout, e.Uses())
			f.StopAfter = time.Duration(e.StopAfterSeconds) * time.Second
			return f
		}
	}
	panic(fmt.Sprintf("functions/schedule.json has no entry for the job %q: add one, or correct the name in the job's package", job.Name))
}

var registered = map[string]sweep.Job{}

// Register makes a job a Cloud Function; its package calls it in init.
func Register(job sweep.Job) {
	framework.HTTP(job.Name, shutdown.Handler(New(job).ServeHTTP))
	registered[job.Name] = job
}

// Registered returns every job and worker of the packages that the program imports, by its name. A program that imports the
// bundle has all of schedule.json: what ranges over the jobs takes them from here.
func Registered() map[string]sweep.Job { return maps.Clone(registered) }
