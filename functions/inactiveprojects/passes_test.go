package inactiveprojects

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// TestNothingDueCostsUnderTenReads has some pages of dormant projects, all warned. One pass reads them; for the rest of the day a
// run reads next to nothing.
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
	w.Set(t, "projects/undated", old("last_activity_at", "2020"))
	got := w.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{})
	sweeptest.Want(t, "kept", map[string]int{keptInGrace: 3, keptActive: 2, keptUndated: 1}, got.Kept)
	w.Now = hour
	got = w.Run(t, "")
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
	if got := w.Run(t, ""); got.Scanned != 6 {
		t.Errorf("after a day %d projects were scanned, want all 6", got.Scanned)
	}
}

// TestPlanningOutOfTime stops after the first batch of 100: what it planned is done, and the next run begins with the
// 101st project, which its checkpoint names.
func TestPlanningOutOfTime(t *testing.T) {
	w := newWorld(t)
	const n = 250
	w.SetMany(t, n, func(i int) (string, map[string]any) {
		return fmt.Sprintf("projects/p%03d", i), old("last_activity_at", cutoff.Add(time.Duration(i-n)*time.Hour))
	})
	var looks atomic.Int32
	w.Clock = func() time.Time {
		if looks.Add(1) >= 120 {
			return now.Add(2 * time.Minute)
		}
		return now
	}
	got := w.Run(t, "")
	first := got.Actions[warnKind].Done
	if got.Status != sweep.Partial || first == 0 || first >= n {
		t.Fatalf("report %+v", got)
	}
	w.Clock = func() time.Time { return now.Add(10 * time.Minute) }
	w.Now = now.Add(10 * time.Minute)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(warnKind, n-first))
	if delivered := w.deliver(t); delivered != n || len(w.ids(t, "audit_events")) != n {
		t.Errorf("%d tasks, %d events, want %d of each", delivered, len(w.ids(t, "audit_events")), n)
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
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Failed, map[string]sweep.Counts{warnKind: {Planned: 3, Done: 2, Failed: 1}})
	// The next run, ten minutes later, looks at that one alone.
	w.Now = now.Add(10 * time.Minute)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Failed, map[string]sweep.Counts{warnKind: {Planned: 1, Failed: 1}})
	refuse = false
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(warnKind, 1))
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
	if n := w.deliver(t); n != 3 || len(w.ids(t, "audit_events")) != 3 || len(w.ids(t, "mail")) != 3 {
		t.Errorf("%d tasks, %d events, want 3", n, len(w.ids(t, "audit_events")))
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
		checkpoint := g.next(usual, now, undone)
		got, err := progressOf(checkpoint, usual, now)
		if (checkpoint == "") != tt.fresh || err != nil || !tt.fresh && (len(got.Again) != tt.n || !got.Done) {
			t.Errorf("%s: a checkpoint of %d bytes, %+v, %v", name, len(checkpoint), got, err)
		}
	}
}

// TestNextLooksAtWarningsFrom the instant by which all were looked at: a pass of several runs began with that.
func TestNextLooksAtWarningsFrom(t *testing.T) {
	began := now.Add(-time.Hour)
	for done, want := range map[bool]time.Time{false: usual.warnedBy(began), true: usual.warnedBy(now)} {
		g, err := progressOf(progress{Settings: usual.fingerprint(), Began: began, Done: done}.next(usual, now, nil), usual, now)
		if err != nil || !g.Done || !g.Warned.Equal(want) {
			t.Errorf("done before: %v: %+v, %v, want %s", done, g, err, want)
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
		"the same day":          {done.checkpoint(), usual, now.Add(24*time.Hour - tick), false},
		"a day later":           {done.checkpoint(), usual, now.Add(24 * time.Hour), true},
		"changed settings":      {done.checkpoint(), other, now.Add(time.Hour), true},
		"time has gone back":    {done.checkpoint(), usual, now.Add(-tick), true},
		"a long pass goes on":   {progress{Settings: done.Settings, Began: now, Projects: done.Projects}.checkpoint(), usual, now.AddDate(0, 0, 3), false},
		"nothing has been done": {"", usual, now, true},
	} {
		got, err := progressOf(tt.saved, tt.s, tt.now)
		if fresh := got.Projects == ""; err != nil || fresh != tt.fresh || fresh && (got.Done || !got.Began.Equal(tt.now)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// FuzzProgress: a saved checkpoint is refused as one that is none, or gives a progress of these settings that is not from the
// future and can be saved again.
func FuzzProgress(f *testing.F) {
	s := settings{enabled: true, deleteAfter: 6, warnAfter: 2, minSize: 1.5}
	at := time.Date(2026, 3, 10, 0, 10, 0, 0, time.UTC)
	good := progress{Settings: s.fingerprint(), Began: at.Add(-time.Hour), Done: true, Projects: `[{"text":"a"}]`, Warned: at.AddDate(0, -4, 0), Again: []string{"p1", "a/b", ""}}
	aged := good
	aged.Began = at.Add(-24 * time.Hour)
	for _, seed := range []string{"", "{}", "null", "[]", "{", good.checkpoint(), aged.checkpoint(), `{"again":null,"began":"9999-12-31T23:59:59Z"}`, `{"settings":1}`, good.checkpoint() + "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, saved string) {
		g, err := progressOf(saved, s, at)
		if err != nil {
			if !errors.Is(err, documents.ErrCursor) {
				t.Fatalf("checkpoint %q: %v is no ErrCursor", saved, err)
			}
			return
		}
		if g.Settings != s.fingerprint() || g.Began.After(at) || g.Done && !at.Before(g.Began.Add(passEvery)) {
			t.Fatalf("checkpoint %q: %+v", saved, g)
		}
		again, err := progressOf(g.checkpoint(), s, at)
		if diff := cmp.Diff(g, again); err != nil || diff != "" {
			t.Errorf("checkpoint %q: again %v (-want +got):\n%s", saved, err, diff)
		}
	})
}
