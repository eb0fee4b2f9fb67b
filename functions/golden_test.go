package functions_test

import (
	"slices"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/emulator/sampledata/sampletest"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// TestGolden compares what each job and worker reports and requests on its part of the sample with testdata/golden.
func TestGolden(t *testing.T) {
	for _, e := range upstream(t) { // your own rules need no file
		name, job := e.Name, functions.Registered()[e.Name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 3, 10, 6, 0, 0, 0, time.UTC)
			if slices.Contains(functions.New(job).Uses, config.Storage) { // the time of an upload cannot be chosen, and is always before this
				now = now.AddDate(100, 0, 0)
			}
			body := tasksAt(now)[name]
			start := func() *enginetest.Function {
				f := enginetest.New(t, functions.New(job))
				f.Now, f.Clock = now, func() time.Time { return now }
				f.Env["TASKS_TARGET_URL"] = "http://127.0.0.1:1/" // so that nothing is delivered
				return f
			}
			var varying []string
			if name == "cleanupBannedUsers" { // users and notes of earlier runs share a call if they come in time
				varying = []string{"authCalls"}
			}
			g := enginetest.NewGolden(t, "golden/"+name)
			g.Run(t, "nothing to do", start(), "", body)
			f := start()
			ok(t, sampletest.Open(t, f.Project).Load(t.Context(), sampledata.Job(sampleOf(name), now, f.Bucket)))
			g.Run(t, "preview", f, "?dryRun=true", body, varying...)
			g.Run(t, "run", f, "", body, varying...)
			g.Run(t, "second run", f, "", body, varying...)
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
