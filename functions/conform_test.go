package functions_test

import (
	"flag"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/emulator/sampledata/sampletest"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine"
)

var full = flag.Bool("full", false, "try each part of the security rules")

// TestConform proves of every job and worker of the bundle, on its part of the sample, what the engine promises of all.
func TestConform(t *testing.T) {
	now := time.Now().Add(sampledata.WholeAhead).UTC().Truncate(time.Second)
	tasks := tasksAt(now)
	registered := functions.Registered()
	for _, e := range upstream(t) { // for your own rules those of docs/examples stand
		name := e.Name
		job, sample := registered[name], sampleOf(name)
		if sample != name && tasks[name] == "" {
			t.Errorf("%s is a worker: add a task of it to this test", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := sampletest.Conformance(func() *engine.Function { return functions.New(job) }, now, func(bucket string) sampledata.Sample {
				return sampledata.Job(sample, now, bucket)
			})
			c.Body = tasks[name]
			c.Prove(t)
		})
	}
}

// tasksAt returns a task for each worker, on its job's part of the sample at a time.
func tasksAt(now time.Time) map[string]string {
	return map[string]string{
		"deletePlaceholderUser":      `{"placeholder_user_id":"placeholder-unused"}`,
		"sendInactiveProjectWarning": `{"project_id":"project-dormant","deletion_date":"` + now.AddDate(0, 3, 0).Format(time.DateOnly) + `"}`,
	}
}

// sampleOf returns whose part of the sample is for a job or a worker: a worker's is that of its job.
func sampleOf(name string) string {
	for _, e := range functions.All() {
		if e.Worker == name {
			return e.Name
		}
	}
	return name
}
