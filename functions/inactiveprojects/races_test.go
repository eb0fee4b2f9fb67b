package inactiveprojects

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// TestChangedBetweenPlanAndMark has users do something to projects that are about to be marked.
func TestChangedBetweenPlanAndMark(t *testing.T) {
	w := newWorld(t)
	changes := map[string]map[string]any{
		"active": old("last_activity_at", now), "small": old("storage_size", 0), "pending": old("pending_delete", true),
		"bymark": old("marked_for_deletion_on", cutoff), "undated": old("last_activity_at", missing), "same": old("name", "renamed"),
		"unreachable": old("owner_ids", []any{""}, "maintainer_ids", nil), "moved": old("organization_id", "botless"),
	}
	all := []string{"gone", "unwarned", "promised"}
	for id := range changes {
		all = append(all, id)
	}
	for _, id := range all {
		w.Set(t, "projects/"+id, old())
		w.Set(t, warnings+"/"+id, warnedOn(cutoff, "2026-02-10"))
	}
	w.Hooks.BeforeApply = func() {
		for id, data := range changes {
			w.Set(t, "projects/"+id, data)
		}
		for _, path := range []string{"projects/gone", warnings + "/unwarned"} {
			if _, err := w.Firestore(t).Doc(path).Delete(t.Context()); err != nil {
				t.Error(err)
			}
		}
		w.Set(t, warnings+"/promised", warnedOn(cutoff, "2026-12-31"))
	}
	got := w.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{markKind: {Planned: 11, Done: 1, Changed: 10}})
	sweeptest.Want(t, "marked", []string{"bymark", "same"}, w.marked(t))
	if at := w.project(t, "bymark")["marked_for_deletion_on"]; at != cutoff {
		t.Errorf("somebody else's mark became %v", at)
	}
	sweeptest.Want(t, "warnings", []string{"active", "bymark", "gone", "moved", "pending", "promised", "small", "undated", "unreachable"}, w.ids(t, warnings))
}

// TestActivityDuringTheCommit has it come after the transaction has read the project: the commit is refused and the project
// judged anew.
func TestActivityDuringTheCommit(t *testing.T) {
	w := newWorld(t)
	w.Set(t, "projects/p1", old())
	w.Set(t, warnings+"/p1", warnedOn(cutoff, "2026-02-10"))
	w.OnCommit(func(_ int, commit *firestorepb.CommitRequest, send func() error) error {
		if writes(commit, "projects/p1") && w.project(t, "p1")["last_activity_at"] != now {
			// The emulator would let the user's write wait for the transaction's lock; production answers Aborted.
			go w.Set(t, "projects/p1", old("last_activity_at", now))
			return status.Error(codes.Aborted, "contention")
		}
		return send()
	})
	got := w.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{markKind: {Planned: 1, Changed: 1}})
	if len(w.marked(t)) != 0 {
		t.Error("a project that somebody works on was marked")
	}
}

func writes(commit *firestorepb.CommitRequest, path string) bool {
	for _, write := range commit.GetWrites() {
		if strings.HasSuffix(write.GetUpdate().GetName(), "/documents/"+path) || strings.HasSuffix(write.GetDelete(), "/documents/"+path) {
			return true
		}
	}
	return false
}

func TestSettingsChangedBetweenPlanAndMark(t *testing.T) {
	for name, settings := range map[string]map[string]any{
		"off":     with(monthly, "delete_inactive_projects", false),
		"invalid": with(monthly, "inactive_projects_delete_after_months", 1),
		"longer":  with(monthly, "inactive_projects_delete_after_months", 24),
		"larger":  with(monthly, "inactive_projects_min_size_mb", 1),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Set(t, "projects/p1", old())
			w.Set(t, warnings+"/p1", warnedOn(cutoff, "2026-02-10"))
			w.Hooks.BeforeApply = func() { w.Set(t, settingsPath, settings) }
			sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, map[string]sweep.Counts{markKind: {Planned: 1, Changed: 1}})
			if len(w.marked(t)) != 0 || len(w.ids(t, warnings)) != 1 {
				t.Errorf("marked %v", w.marked(t))
			}
		})
	}
}

func TestActiveBetweenPlanAndWarning(t *testing.T) {
	w := newWorld(t)
	w.Set(t, "projects/p1", old())
	w.Hooks.BeforeApply = func() { w.Set(t, "projects/p1", old("last_activity_at", now)) }
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, map[string]sweep.Counts{warnKind: {Planned: 1, Changed: 1}})
	if w.events(t) != 0 || len(w.Tasks().Pending("")) != 0 {
		t.Error("its people are warned")
	}
}

// TestKilledAtEveryCommit lets the process die before and after each commit of the job and of its worker. Mark and entry
// change together, and whoever comes after brings it to the same end.
func TestKilledAtEveryCommit(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at := 1; at <= 5; at++ {
			t.Run(fmt.Sprintf("after=%v/%d", after, at), func(t *testing.T) {
				w := newWorld(t)
				w.Set(t, "projects/warn", old())
				w.Set(t, "projects/mark", old())
				w.Set(t, warnings+"/mark", warnedOn(cutoff, "2026-02-10"))
				dead, died := false, false
				kill := func(n int, _ *firestorepb.CommitRequest, send func() error) error {
					if dead || n != at || died {
						if dead {
							return status.Error(codes.PermissionDenied, "the process is dead")
						}
						return send()
					}
					dead, died = true, true
					if after {
						if err := send(); err != nil {
							t.Error(err)
						}
					}
					return status.Error(codes.PermissionDenied, "the process is dead")
				}
				w.OnCommit(kill)
				wall := now
				w.Clock = func() time.Time { return wall }
				w.Run(t, "")
				dead = false
				_, entry := w.Documents(t, warnings)["mark"]
				if (w.project(t, "mark")["marked_for_deletion_on"] == nil) != entry {
					t.Error("mark and entry did not change together")
				}
				wall = wall.Add(w.Timeout).Add(2 * time.Minute) // the dead run's lease has expired
				w.Run(t, "")
				w.deliver(t)
				sweeptest.Want(t, "marked", []string{"mark"}, w.marked(t))
				sweeptest.Want(t, "warnings", map[string]map[string]any{"warn": warnedOn(now, "2026-05-10")}, w.Documents(t, warnings))
				if w.events(t) != 1 || len(w.ids(t, "mail")) != 1 || len(w.Tasks().Pending("")) != 0 {
					t.Errorf("%d events, mail %v", w.events(t), w.ids(t, "mail"))
				}
			})
		}
	}
}

// TestLostAnswers has each commit of the job and of its worker take effect and its answer be lost: it is done, and not done
// twice.
func TestLostAnswers(t *testing.T) {
	w := newWorld(t)
	w.worker.Now = now
	w.Set(t, "projects/mark", old())
	w.Set(t, warnings+"/mark", warnedOn(cutoff, "2026-02-10"))
	w.Set(t, "projects/p1", old())
	var mu sync.Mutex
	lost := map[string]bool{}
	lose := func(_ int, commit *firestorepb.CommitRequest, send func() error) error {
		err := send()
		name := fmt.Sprint(len(commit.GetWrites()), commit.GetWrites()[0].GetUpdate().GetName())
		mu.Lock()
		defer mu.Unlock()
		if err == nil && !lost[name] {
			lost[name] = true
			return status.Error(codes.Unavailable, "the answer was lost")
		}
		return err
	}
	w.OnCommit(lose)
	w.worker.OnCommit(lose)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, map[string]sweep.Counts{warnKind: {Planned: 1, Done: 1}, markKind: {Planned: 1, Done: 1}})
	sweeptest.WantReport(t, w.worker.Run(t, task), sweep.Completed, sweeptest.Done(sendKind, 1))
	if len(lost) != 5 { // lease, event, mark, report, warning
		t.Errorf("%d answers were lost: %v", len(lost), lost)
	}
	if w.deliver(t) != 1 || w.events(t) != 1 || len(w.ids(t, "mail")) != 1 {
		t.Errorf("%d events, mail %v", w.events(t), w.ids(t, "mail"))
	}
	sweeptest.Want(t, "marked", []string{"mark"}, w.marked(t))
}
