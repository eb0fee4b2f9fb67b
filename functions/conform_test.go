package functions_test

import (
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/emulator/sampledata/sampletest"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/sweep"
)

// TestConform proves of every job and worker of the bundle, on its part of the sample, what the engine promises of all.
func TestConform(t *testing.T) {
	now := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second) // the objects' age cannot be chosen
	tasks := map[string]string{
		"deletePlaceholderUser":      `{"placeholder_user_id":"placeholder-unused"}`,
		"sendInactiveProjectWarning": `{"project_id":"project-dormant","deletion_date":"` + now.AddDate(0, 3, 0).Format(time.DateOnly) + `"}`,
	}
	for name, job := range functions.Registered() {
		sample, now := name, now
		for _, e := range functions.All() {
			if e.Worker == name {
				sample = e.Name
			}
			if e.Name == name {
				now = time.Now().Add(sampledata.Ahead(e)).UTC().Truncate(time.Second)
			}
		}
		if sample != name && tasks[name] == "" {
			t.Errorf("%s is a worker: add a task of it to this test", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := sampletest.Conformance(func() *sweep.Function { return functions.New(job) }, now, func(bucket string) sampledata.Sample {
				return sampledata.Job(sample, now, bucket)
			})
			c.Body = tasks[name]
			c.Prove(t)
		})
	}
}
