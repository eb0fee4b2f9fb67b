package inactiveprojects

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// TestNothingDueCostsUnderTenReads has 10,000 dormant projects, all warned. One pass reads them; for the rest of the day a
// run reads next to nothing.
func TestNothingDueCostsUnderTenReads(t *testing.T) {
	w := newWorld(t)
	const n = 10_000
	w.SetMany(t, n, func(i int) (string, map[string]any) {
		return fmt.Sprintf("projects/p%05d", i), map[string]any{
			"last_activity_at": cutoff.Add(-time.Duration(i+1) * time.Minute), "storage_size": 1, "organization_id": "o1"}
	})
	w.SetMany(t, n, func(i int) (string, map[string]any) {
		return fmt.Sprintf("%s/p%05d", warnings, i), warnedOn(now.Add(-time.Duration(i)*time.Second), "2026-05-10")
	})
	got := w.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{})
	if reads := got.Usage.FirestoreReads; reads > 2*n+2*n/100+50 || got.Kept[keptInGrace] != n {
		t.Errorf("a pass: %d reads, kept %v", reads, got.Kept)
	}
	for _, after := range []time.Duration{10 * time.Minute, 20 * time.Minute, 24*time.Hour - tick} {
		w.Now = now.Add(after)
		got := w.Run(t, "")
		sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{})
		if reads := got.Usage.FirestoreReads; reads >= 10 {
			t.Errorf("after %s: %d reads, want under 10", after, reads)
		}
	}
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
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
	w.Now = hour
	got := w.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{warnKind: {Planned: 1, Done: 1}, markKind: {Planned: 1, Done: 1}})
	sweeptest.Want(t, "marked", []string{"due"}, w.marked(t))
	if n := w.deliver(t); n != 1 || w.Documents(t, warnings)["soon"] == nil {
		t.Errorf("%d tasks, warnings %v", n, w.ids(t, warnings))
	}
	// Lease 2, no journal, settings; grace ended 2, their projects 2, settings, entry and organization of due; dormant 1, settings,
	// its entry and organization; both in one commit 7: settings, projects 2, entries 2, organization, event; index entries of
	// the two queries by time.
	if reads := got.Usage.FirestoreReads; reads != 24 {
		t.Errorf("%d reads, want 24", reads)
	}
	// A day after the pass began comes the next, over the four dormant ones.
	w.Now = now.Add(24*time.Hour - tick)
	if got := w.Run(t, ""); got.Scanned != 1 { // later
		t.Errorf("within a day %d projects were scanned, want 1", got.Scanned)
	}
	w.Now = now.Add(24 * time.Hour)
	if got := w.Run(t, ""); got.Scanned != 5 {
		t.Errorf("after a day %d projects were scanned, want all 5", got.Scanned)
	}
}

// TestOutOfTimeGoesOnWithTheUnprocessedOne lets time be over when one of three groups of warnings, whichever came first, has been handed
// over. The others are recorded or not, and none of them is lost: the next run makes the same promises.
func TestOutOfTimeGoesOnWithTheUnprocessedOne(t *testing.T) {
	w := newWorld(t)
	const n, group = 75, 25
	w.SetMany(t, n, func(i int) (string, map[string]any) {
		return fmt.Sprintf("projects/p%02d", i), old("last_activity_at", cutoff.Add(time.Duration(i-n)*time.Hour))
	})
	var tasks, groups atomic.Int64
	var late atomic.Bool
	handedOver := make(chan struct{})
	w.Tasks().FailCreates(func(*cloudtaskspb.Task) error {
		if tasks.Add(1) == group {
			close(handedOver)
		}
		return nil
	})
	w.OnCommit(func(_ int, commit *firestorepb.CommitRequest, send func() error) error {
		if strings.Contains(commit.String(), "/audit_events/") && groups.Add(1) == 2 {
			<-handedOver
			late.Store(true)
		}
		return send()
	})
	w.Clock = func() time.Time {
		if late.Load() {
			return now.Add(4 * time.Minute)
		}
		return now
	}
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Partial, map[string]sweep.Counts{warnKind: {Planned: n, Done: group}})
	if len(w.Tasks().Pending("")) != group || w.events(t) <= group {
		t.Errorf("%d tasks, %d events: want %d, and events of more", len(w.Tasks().Pending("")), w.events(t), group)
	}
	late.Store(false)
	w.Now = now.Add(10 * time.Minute)
	first := 0 // group that was not handed over
	for _, task := range w.Tasks().Pending("") {
		if strings.Contains(string(task.GetHttpRequest().GetBody()), `"p00"`) {
			first = group
		}
	}
	preview := w.Run(t, `{"dryRun":true}`)
	sweeptest.Want(t, "the next run's first project", fmt.Sprintf("projects/p%02d", first), preview.Plan[0].Target)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(warnKind, n-first))
	if delivered := w.deliver(t); delivered != n || w.events(t) != n || len(w.ids(t, "mail")) != n {
		t.Errorf("%d tasks, %d events, %d mails, want %d of each", delivered, w.events(t), len(w.ids(t, "mail")), n)
	}
}

func (w world) events(t *testing.T) int {
	t.Helper()
	return len(w.ids(t, "audit_events"))
}

// TestPlanningOutOfTime stops after the first batch of 100: what it planned is done, and the next run begins with the
// 101st project, which its position names.
func TestPlanningOutOfTime(t *testing.T) {
	w := newWorld(t)
	const n = 250
	w.SetMany(t, n, func(i int) (string, map[string]any) {
		return fmt.Sprintf("projects/p%03d", i), old("last_activity_at", cutoff.Add(time.Duration(i-n)*time.Hour))
	})
	wall, looks := now, 0
	w.Clock = func() time.Time {
		if looks++; looks == 120 {
			wall = now.Add(2 * time.Minute)
		}
		return wall
	}
	got := w.Run(t, "")
	first := got.Actions[warnKind].Done
	if got.Status != sweep.Partial || first == 0 || first >= n {
		t.Fatalf("report %+v", got)
	}
	w.Clock = func() time.Time { return now.Add(10 * time.Minute) }
	w.Now = now.Add(10 * time.Minute)
	preview := w.Run(t, `{"dryRun":true}`)
	sweeptest.Want(t, "the next run's first project", fmt.Sprintf("projects/p%03d", first), preview.Plan[0].Target)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(warnKind, n-first))
	if delivered := w.deliver(t); delivered != n || w.events(t) != n {
		t.Errorf("%d tasks, %d events, want %d of each", delivered, w.events(t), n)
	}
	// The pass is complete: nothing is read again.
	w.Now = w.Now.Add(10 * time.Minute)
	if got := w.Run(t, ""); got.Usage.FirestoreReads >= 10 {
		t.Errorf("%d reads after the pass", got.Usage.FirestoreReads)
	}
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
	got := w.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Failed, map[string]sweep.Counts{warnKind: {Planned: 3, Done: 2, Failed: 1}})
	// The next run, ten minutes later, looks at that one alone.
	w.Now = now.Add(10 * time.Minute)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Failed, map[string]sweep.Counts{warnKind: {Planned: 1, Failed: 1}})
	refuse = false
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(warnKind, 1))
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
	if n := w.deliver(t); n != 3 || w.events(t) != 3 || len(w.ids(t, "mail")) != 3 {
		t.Errorf("%d tasks, %d events, want 3", n, w.events(t))
	}
}

func TestManyFailuresBeginANewPass(t *testing.T) {
	g := progress{Settings: usual.fingerprint(), Began: now}
	for name, tt := range map[string]struct {
		n     int
		id    string
		fresh bool
	}{
		"few":                          {maxAgain, strings.Repeat("長", 499), false},
		"many":                         {maxAgain + 1, "p", true},
		"six bytes each, as JSON does": {maxAgain, strings.Repeat("<", 1490), true},
	} {
		var undone []documents.Ref
		for i := range tt.n {
			undone = append(undone, documents.Ref{Collection: projects, ID: fmt.Sprint(i, tt.id)})
		}
		position := g.next(usual, now, undone)
		got, err := progressOf(position, usual, now)
		if (position == "") != tt.fresh || err != nil || !tt.fresh && (len(got.Again) != tt.n || !got.Done) {
			t.Errorf("%s: a position of %d bytes, %+v, %v", name, len(position), got, err)
		}
	}
}

func TestProgressOf(t *testing.T) {
	done := progress{Settings: usual.fingerprint(), Began: now, Done: true, Projects: `[{"time":"2026-01-01T00:00:00Z"},{"text":"p"}]`}
	other := usual
	other.minSize = 1
	for name, tt := range map[string]struct {
		saved string
		s     settings
		now   time.Time
		fresh bool
	}{
		"the same day":          {done.position(), usual, now.Add(24*time.Hour - tick), false},
		"a day later":           {done.position(), usual, now.Add(24 * time.Hour), true},
		"changed settings":      {done.position(), other, now.Add(time.Hour), true},
		"time has gone back":    {done.position(), usual, now.Add(-tick), true},
		"a long pass goes on":   {progress{Settings: done.Settings, Began: now, Projects: done.Projects}.position(), usual, now.AddDate(0, 0, 3), false},
		"nothing has been done": {"", usual, now, true},
	} {
		got, err := progressOf(tt.saved, tt.s, tt.now)
		if fresh := got.Projects == ""; err != nil || fresh != tt.fresh || fresh && (got.Done || !got.Began.Equal(tt.now)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	w := newWorld(t)
	w.Set(t, "cleanupJobs/deleteInactiveProjects", map[string]any{"position": "rubbish"})
	w.Set(t, "projects/p1", old())
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(warnKind, 1))
	if _, err := progressOf("rubbish", usual, now); err == nil || !errors.Is(err, documents.ErrCursor) {
		t.Errorf("%v", err)
	}
}
