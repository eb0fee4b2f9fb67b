package functions_test

import (
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// TestConform proves of every job and worker of the bundle, on its part of the sample, what the engine promises of all.
func TestConform(t *testing.T) {
	now := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second) // the objects' age cannot be chosen
	tasks := map[string]string{
		"deletePlaceholderUser":      `{"placeholder_user_id":"placeholder-unused"}`,
		"sendInactiveProjectWarning": `{"project_id":"project-dormant","deletion_date":"` + now.AddDate(0, 3, 0).Format(time.DateOnly) + `"}`,
	}
	for name, job := range functions.Registered() {
		sample := name
		for _, e := range functions.All() {
			if e.Worker == name {
				sample = e.Name
			}
		}
		if sample != name && tasks[name] == "" {
			t.Errorf("%s is a worker: add a task of it to this test", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sweeptest.Conformance{
				Function: func() *sweep.Function { return functions.New(job) },
				Now:      now, Body: tasks[name],
				Load: func(t testing.TB, f *sweeptest.Function) {
					if err := open(t, f.Project).Load(t.Context(), sampledata.Job(sample, now, f.Bucket)); err != nil {
						t.Fatal(err)
					}
				},
				Read: func(t testing.TB, f *sweeptest.Function) map[string]any {
					return namesIn(t, open(t, f.Project), f.Bucket)
				},
			}.Prove(t)
		})
	}
}

// open opens a project for the sample until the test ends.
func open(t testing.TB, p *backendstest.Project) *sampledata.Project {
	t.Helper()
	project, err := sampledata.Open(t.Context(), p.ID, p.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := project.Close(); err != nil {
			t.Error(err)
		}
	})
	return project
}
