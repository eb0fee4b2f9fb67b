package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/backtest"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// readTime is when the database was read last, by its own clock.
func readTime(t testing.TB, f *enginetest.Function) time.Time {
	t.Helper()
	rep, err := f.Plan(t.Context(), engine.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return rep.Read
}

// TestBacktest tells what somebody would have missed, what is gone, and what was written to in vain.
func TestBacktest(t *testing.T) {
	t.Parallel()
	f := boxFunction(t)
	for _, id := range []string{"gone", "pinned", "same", "used", "written"} {
		f.Set(t, "boxes/"+id, map[string]any{"state": "old", "n": 1})
	}
	f.Set(t, "boxes/new", map[string]any{"state": "new"})
	at := readTime(t, f)
	f.Delete(t, "boxes/gone")
	f.Set(t, "boxes/used", map[string]any{"state": "new", "opened": at})
	f.Set(t, "boxes/written", map[string]any{"state": "old", "n": 2})
	f.Set(t, "boxes/later", map[string]any{"state": "old"})
	f.Set(t, "boxes/new", map[string]any{"state": "old"})
	f.Set(t, "cleanupJobs/pins/pinned/p", map[string]any{"targets": []any{"boxes/pinned"}, "of": "x", "at": at, "by": ""})
	before := everything(t, f)

	b, err := f.Backtest(t.Context(), engine.PlanOptions{Now: at}, nil)
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Want(t, "planned", 5, b.Planned)
	enginetest.Want(t, "gone", 1, b.Gone)
	enginetest.Want(t, "written", 1, b.Written)
	enginetest.Want(t, "missed", []backtest.Kept{
		{Planned: report.Planned{Target: "boxes/pinned", Action: "delete box", Reason: "it is old"}, Kept: "pinned, until it is released with firesweep release"},
		{Planned: report.Planned{Target: "boxes/used", Action: "delete box", Reason: "it is old"}, Kept: "in use"},
	}, undated(b.Kept))
	if used := b.Kept[1].Used; !used.After(at) || used.After(readTime(t, f)) {
		t.Errorf("used at %s, which is not after %s", used, at)
	}
	enginetest.Want(t, "all that there is", before, everything(t, f))
}

// TestBacktestOfTwoRulesForOneCollection compares each item with the rule that found it.
func TestBacktestOfTwoRulesForOneCollection(t *testing.T) {
	t.Parallel()
	whole := cleanup.Rule[cleanup.Subject]{Name: "whole", Load: cleanup.Itself, Reach: cleanup.Reach{Items: "boxes"},
		Judge: func(s cleanup.Subject, _ cleanup.Run) cleanup.Decision {
			if s.Data["state"] == "empty" {
				return cleanup.Do("delete empty box", "it is empty")
			}
			return cleanup.Keep("full")
		}}
	job, sweep := boxJob(), boxJob().Plan
	job.Rules = append(job.Rules, whole)
	job.Plan = func(ctx context.Context, p *cleanup.Planner) error {
		return errors.Join(sweep(ctx, p), p.Sweep(ctx, documents.Query{Collection: "boxes", Select: []string{"state"}}, "", whole))
	}
	f := newFunction(t, job)
	for id, state := range map[string]string{"empty": "empty", "filled": "empty", "old": "old", "used": "old"} {
		f.Set(t, "boxes/"+id, map[string]any{"state": state})
	}
	preview, err := f.Plan(t.Context(), engine.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := preview.Read
	f.Set(t, "boxes/filled", map[string]any{"state": "new"})
	f.Set(t, "boxes/used", map[string]any{"state": "new"})
	b, err := f.Backtest(t.Context(), engine.PlanOptions{Now: at}, nil)
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Want(t, "planned", 4, b.Planned)
	missed := []backtest.Kept{
		{Planned: report.Planned{Target: "boxes/used", Action: "delete box", Reason: "it is old"}, Kept: "in use"},
		{Planned: report.Planned{Target: "boxes/filled", Action: "delete empty box", Reason: "it is empty"}, Kept: "full"},
	}
	enginetest.Want(t, "missed", missed, undated(b.Kept))

	text, err := json.Marshal(preview)
	if err == nil {
		preview = &report.Report{} // as it was logged
		err = json.Unmarshal(text, preview)
	}
	if err == nil {
		b, err = f.Backtest(t.Context(), engine.PlanOptions{}, preview)
	}
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Want(t, "missed of the preview", missed, undated(b.Kept))
}

// undated are items without the time when they were used last.
func undated(all []backtest.Kept) []backtest.Kept {
	all = slices.Clone(all)
	for i := range all {
		all[i].Used = time.Time{}
	}
	return all
}

// everything is all that a test's project holds.
func everything(t *testing.T, f *enginetest.Function) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, collection := range []string{"boxes", "things", "gone", "cleanupJobs", "cleanupRuns", "cleanupJobs/pins/pinned"} {
		all[collection] = f.Documents(t, collection)
	}
	return all
}

// TestBacktestReadsNoMore than a plan, one document for each item, and its own few.
func TestBacktestReadsNoMore(t *testing.T) {
	t.Parallel()
	f := newFunction(t, thingsJob(10))
	f.Job.Rules = []cleanup.AnyRule{things}
	seed(t, f, 60)
	at := readTime(t, f)
	plan, err := f.Plan(t.Context(), engine.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var pinned []any
	for i := range 30 {
		pinned = append(pinned, fmt.Sprintf("things/t%03d", i))
	}
	f.Set(t, "cleanupJobs/pins/pinned/p", map[string]any{"targets": pinned, "of": "x", "at": at, "by": ""})
	b, err := f.Backtest(t.Context(), engine.PlanOptions{Now: at}, nil)
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Want(t, "planned, kept", []int{60, 30}, []int{b.Planned, len(b.Kept)})
	if most := plan.Usage.FirestoreReads + 60 + 3; b.Reads > most {
		t.Errorf("%d reads, want at most %d", b.Reads, most)
	}
	for most := int64(1); most < b.Reads; most += 7 {
		bounded, err := f.Backtest(t.Context(), engine.PlanOptions{Now: at, MaxReads: most}, nil)
		if err != nil && !errors.Is(err, backtest.ErrMaxReads) || bounded.Reads > most+25 {
			t.Errorf("of %d reads at most: %d, %v", most, bounded.Reads, err)
		}
	}
}

// TestBacktestWithoutHistory guesses nothing.
func TestBacktestWithoutHistory(t *testing.T) {
	t.Parallel()
	f := newFunction(t, thingsJob(2))
	seed(t, f, 2)
	f.Hooks.Dial = append(f.Hooks.Dial, tooOld()...)
	if b, err := f.Backtest(t.Context(), engine.PlanOptions{Now: time.Now().AddDate(0, 0, -8).Truncate(time.Minute)}, nil); !errors.Is(err, backtest.ErrNoHistory) {
		t.Errorf("%+v, %v", b, err)
	}
}

// TestJobsWithoutABacktest are those that go through what cannot be read as it was.
func TestJobsWithoutABacktest(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		job  cleanup.Job
		want bool
	}{
		"documents": {boxJob(), true},
		"accounts":  {cleanup.Job{Accounts: true}, true},
		"files":     {cleanup.Job{Reach: cleanup.Reach{Objects: []cleanup.Files{{Folder: "a/"}}}}, false},
		"a worker":  {cleanup.Job{Task: &cleanup.Task{}}, false},
	} {
		if got := backtest.WhyNot(tt.job); (got == "") != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestBacktestModel replays random histories and compares by brute force.
func TestBacktestModel(t *testing.T) {
	t.Parallel()
	f := boxFunction(t)
	rapid.Check(t, func(r *rapid.T) {
		for _, id := range ids(t, f, "boxes") {
			f.Delete(t, "boxes/"+id)
		}
		now := map[string]map[string]any{}
		written := map[string]bool{}
		n := 0
		change := func() {
			for range rapid.IntRange(0, 6).Draw(r, "writes") {
				id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(r, "id")
				n++
				switch rapid.IntRange(0, 3).Draw(r, "write") {
				case 0:
					f.Delete(t, "boxes/"+id)
					delete(now, id)
				case 1:
					now[id] = map[string]any{"state": "old", "n": n}
				case 2:
					now[id] = map[string]any{"state": "new", "n": n}
				default:
					now[id] = map[string]any{"n": n} // cannot be judged
				}
				if now[id] != nil {
					f.Set(t, "boxes/"+id, now[id])
				}
				written[id] = true
			}
		}
		change()
		then := maps.Clone(now)
		at := readTime(t, f)
		clear(written)
		change()

		want := map[string]int{}
		var missed []string
		for _, id := range slices.Sorted(maps.Keys(then)) {
			switch is := now[id]; {
			case then[id]["state"] != "old":
				continue
			case is == nil:
				want["gone"]++
			case is["state"] != "old":
				missed = append(missed, fmt.Sprintf("boxes/%s %v", id, map[any]string{"new": "in use", nil: "no state"}[is["state"]]))
			case written[id]:
				want["written"]++
			}
			want["planned"]++
		}
		b, err := f.Backtest(t.Context(), engine.PlanOptions{Now: at}, nil)
		if err != nil {
			r.Fatal(err)
		}
		var got []string
		for _, m := range b.Kept {
			got = append(got, m.Target+" "+m.Kept)
		}
		if !slices.Equal(got, missed) || b.Planned != want["planned"] || b.Gone != want["gone"] || b.Written != want["written"] {
			r.Fatalf("%+v, want %v and %v", b, want, missed)
		}
	})
}

// tooOld answers as Firestore does where it does not keep what is asked for.
func tooOld() []grpc.DialOption {
	refuse := status.Error(codes.FailedPrecondition, "The requested 'read_time' is too old")
	return wire.Before(func(context.Context, string, any) error { return refuse })
}
