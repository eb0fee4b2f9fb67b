package inactiveprojects

import (
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestNothingDueCostsUnderTenReads has some pages of dormant projects, all warned. One pass reads them; for the rest of the day a
// run reads next to nothing, unless the settings change.
func TestNothingDueCostsUnderTenReads(t *testing.T) {
	w := newWorld(t)
	const n = 350
	w.SetMany(t, n, func(i int) (string, map[string]any) {
		return fmt.Sprintf("projects/p%05d", i), map[string]any{
			"last_activity_at": cutoff.Add(-time.Duration(i+1) * time.Minute), "storage_size": 1, "organization_id": "o1"}
	})
	w.SetMany(t, n, func(i int) (string, map[string]any) {
		return fmt.Sprintf("%s/p%05d", warnings, i), warnedOn(now.Add(-time.Duration(i)*time.Second), "2026-05-10")
	})
	got := w.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
	enginetest.Want(t, "kept by a pass", map[string]int{keptInGrace: n}, got.Kept)
	for _, after := range []time.Duration{10 * time.Minute, 20 * time.Minute, 24*time.Hour - tick} {
		w.Now = now.Add(after)
		got := w.Run(t, "")
		enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
		if reads := got.Usage.FirestoreReads; reads >= 10 {
			t.Errorf("after %s: %d reads, want under 10", after, reads)
		}
	}
	w.Set(t, settingsPath, enginetest.With(monthly, "inactive_projects_min_size_mb", 1))
	enginetest.Want(t, "kept by other settings", map[string]int{keptSmall: n}, w.Run(t, "").Kept)
}

// TestBetweenPassesOnlyWhatCameUpIsRead has one project become dormant and one grace end within a day.
func TestBetweenPassesOnlyWhatCameUpIsRead(t *testing.T) {
	w := newWorld(t)
	hour := now.Add(time.Hour)
	w.Set(t, "projects/dormant", old())
	w.Set(t, warnings+"/dormant", warnedOn(now, "2026-05-10"))
	w.Set(t, "projects/soon", old("last_activity_at", cutoff.Add(time.Hour-tick)))
	w.Set(t, "projects/later", old("last_activity_at", cutoff.Add(time.Hour)))
	w.Set(t, "projects/due", old())
	w.Set(t, warnings+"/due", warnedOn(hour.AddDate(0, -1, 0), "2026-04-10"))
	w.Set(t, "projects/notdue", old())
	w.Set(t, warnings+"/notdue", warnedOn(hour.AddDate(0, -1, 0).Add(tick), "2026-04-10"))
	w.Set(t, warnings+"/gone", warnedOn(hour.AddDate(0, -1, 0), "2026-04-10"))
	w.Set(t, "projects/undated", old("last_activity_at", "2020"))
	got := w.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
	enginetest.Want(t, "kept", map[string]int{keptInGrace: 3, "not due": 2, "no usable age": 1}, got.Kept)
	w.Now = hour
	golden := enginetest.NewGolden(t, "between-passes")
	golden.Run(t, "one to warn about and one to mark", w.Function, "", "")
	enginetest.Want(t, "marked", []string{"due"}, w.marked(t))
	enginetest.Want(t, "tasks", 1, w.Deliver(t))
	enginetest.Want(t, "the warning's date", any(w.Now), w.Documents(t, warnings)["soon"]["warned_on"])
	// A day after the pass began comes the next, over the four dormant ones.
	w.Now = now.Add(24*time.Hour - tick)
	// As before, but for the grace of one project less, which has a project: notdue is marked, later is warned about.
	golden.Run(t, "within a day", w.Function, "", "")
	w.Now = now.Add(24 * time.Hour)
	enginetest.Want(t, "scanned after a day", 6, w.Run(t, "").Scanned)
}

func TestPoisonedProject(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"p1", "p2", "p3"} {
		w.Set(t, "projects/"+id, old())
	}
	refuse := true
	w.Tasks().FailCreates(func(task *cloudtaskspb.Task) error {
		if refuse && string(task.GetHttpRequest().GetBody()) == `{"deletion_date":"2026-05-10","project_id":"p2"}` {
			return status.Error(codes.PermissionDenied, "no role")
		}
		return nil
	})
	enginetest.WantReport(t, w.Run(t, ""), report.Failed, map[string]report.Counts{warnKind: {Planned: 3, Done: 2, Failed: 1}})
	// The next run, ten minutes later, looks at that one alone.
	w.Now = now.Add(10 * time.Minute)
	enginetest.WantReport(t, w.Run(t, ""), report.Failed, map[string]report.Counts{warnKind: {Planned: 1, Failed: 1}})
	refuse = false
	enginetest.WantReport(t, w.Run(t, ""), report.Completed, enginetest.Done(warnKind, 1))
	enginetest.WantReport(t, w.Run(t, ""), report.Completed, map[string]report.Counts{})
	told := []int{w.Deliver(t), len(w.IDs(t, "audit_events")), len(w.IDs(t, "mail"))}
	enginetest.Want(t, "tasks, events and mails", []int{3, 3, 3}, told)
}
