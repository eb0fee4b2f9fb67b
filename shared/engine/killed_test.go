package engine_test

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestKilledRunIsFound: the run that takes the lease of a dead one over saves a report for it, in the same commit.
func TestKilledRunIsFound(t *testing.T) {
	f := thingsFunction(t, 10, 2)
	wall := start
	f.Clock = func() time.Time { return wall }
	var record map[string]any
	f.Hooks.BeforeApply = func() { record = job(t, f) }
	killed := f.Run(t, `{"force":true}`)
	f.Reset(t)
	f.Set(t, "cleanupJobs/testJob", record) // what a run leaves that is killed while it applies
	f.Hooks.BeforeApply = nil
	wall = start.Add(f.Timeout + time.Minute)
	if got := stateOf(t, f).Killed(wall.Add(-time.Microsecond)); got != nil {
		t.Errorf("it may still be under way, but its report is %+v", got)
	}
	commits := 0
	f.OnCommit(func(_ int, r *firestorepb.CommitRequest, send func() error) error {
		commits++
		if commits == 1 && len(r.GetWrites()) != 2 {
			t.Errorf("the commit that takes the lease has %d writes", len(r.GetWrites()))
		}
		return send()
	})
	next := f.Run(t, "")
	enginetest.WantReport(t, next, report.Completed, map[string]report.Counts{})
	saved, err := report.Of(documents.Document{Data: f.Documents(t, "cleanupRuns")[killed.RunID]})
	if err != nil {
		t.Fatal(err)
	}
	if saved.Status != report.Killed || saved.Job != "testJob" || !saved.Now.Equal(killed.Now) || !saved.StartedAt.Equal(killed.StartedAt) ||
		!saved.Force || saved.Database != killed.Database || saved.Version != killed.Version || len(saved.Actions) > 0 ||
		len(saved.Failures) != 1 || !strings.Contains(saved.Failures[0].Error, "it was killed") {
		t.Errorf("%+v", saved)
	}
	enginetest.Want(t, "it is kept until", any(killed.StartedAt.Add(report.RunRetention)),
		f.Documents(t, "cleanupRuns")[killed.RunID]["expireAt"])
	enginetest.Want(t, "severity", any("WARNING"), oneLine(t, f, "found that run "+killed.RunID+" was killed")["severity"])
}
