package state

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// What follows are the exact cases that random histories come to too seldom. Each of these mutants died: a live holder keeps
// nobody out; a lease ends early; a task of another run, after any call, or of what left nothing or was stopped, is admitted;
// what a killed call reserved, what is done, or what others reserved does not count; a retry, or a run after an undo, has the
// limit for itself; an undo leaves the run its tasks or its place; what is left of shards is lost; partial counts as through;
// somebody else gives a range back or splits; a lost answer is not known; an order to stop outlives its run; a rewind is
// forgotten; a run that lives is reported killed, or one that was killed is not; an undo renews what has ended; negative counts
// are read.

var midnight = time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)

const (
	first  = "job-20260110T000000Z-00000001"
	second = "job-20260111T000000Z-00000002"
	later  = "job-20260110T000100Z-00000003" // a call of the first run
)

// begun returns a state in which a run has just begun.
func begun(t *testing.T, s State, who string, now time.Time, alone bool) State {
	t.Helper()
	return acquired(t, s, Ask{Who: who, Begin: &report.Report{RunID: who, Job: "job", Now: now, StartedAt: now}, Now: now, Alone: alone,
		For: timeout + Margin, Longest: timeout + Margin})
}

func acquired(t *testing.T, s State, a Ask) State {
	t.Helper()
	s, err := s.Acquire(a)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func released(t *testing.T, s State, g Release, status report.Status, next bool) State {
	t.Helper()
	g.Now = midnight
	g.Report = &report.Report{RunID: g.Who, Status: status, Continued: next, StartedAt: midnight}
	s, err := s.Release(g)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// split returns a state in which a run has been split at "b" and "c".
func split(t *testing.T) State {
	t.Helper()
	s, err := begun(t, State{}, first, midnight, false).Split(&report.Report{RunID: first, StartedAt: midnight},
		[]cleanup.Bounds{{End: "b"}, {Begin: "b", End: "c"}, {Begin: "c"}}, midnight)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func taskFor(run string, n int, token string, now time.Time) Ask {
	return Ask{Who: later, Task: &Task{Run: run, Range: n, Token: token}, Now: now, For: timeout + Margin}
}

// wantOvertaken checks that a task's call is turned away.
func wantOvertaken(t *testing.T, what string, s State, a Ask) {
	t.Helper()
	var overtaken *OvertakenError
	if _, err := s.Acquire(a); !errors.As(err, &overtaken) {
		t.Errorf("%s: %v, want that it is overtaken", what, err)
	}
}

func want[T comparable](t *testing.T, what string, want, got T) {
	t.Helper()
	if want != got {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestTasksThatContinueNothing(t *testing.T) {
	s := split(t)
	acquired(t, s, taskFor(first, 2, first, midnight))
	wantOvertaken(t, "another run's", s, taskFor(second, 2, first, midnight))
	wantOvertaken(t, "after another call", s, taskFor(first, 2, second, midnight))
	wantOvertaken(t, "a range that there is not", s, taskFor(first, 3, first, midnight))
	for status, left := range map[report.Status]bool{report.Partial: true, report.Failed: true, report.Completed: false, report.Aborted: false} {
		ended := released(t, acquired(t, s, taskFor(first, 1, first, midnight)), Release{Who: later, Range: 1, Token: first}, status, false)
		again := taskFor(first, 1, first, midnight) // which comes once more
		again.Who = second
		if _, err := ended.Acquire(again); (err == nil) != left {
			t.Errorf("after a call that was %s: %v", status, err)
		}
	}
	stopped := acquired(t, s, taskFor(first, 1, first, midnight))
	stopped, err := stopped.Release(Release{Who: later, Range: 1, Token: first, Report: &report.Report{Status: report.Partial, Stopped: true}})
	if err != nil {
		t.Fatal(err)
	}
	wantOvertaken(t, "a run that was stopped", stopped, taskFor(first, 1, later, midnight))
}

// TestKilledCall: what it reserved counts as done, for all that comes after it for the same now.
func TestKilledCall(t *testing.T) {
	s := acquired(t, split(t), taskFor(first, 1, first, midnight))
	looking := map[string]cleanup.Lookups{"users": {Asked: 4, Missing: 1}}
	s, err := s.Reserve(later, 1, 7, looking, func(int, map[string]cleanup.Lookups) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	want(t, "spent, but for its own", 0, s.Spent(1))
	want(t, "spent", 7, s.Spent(-1))
	expired := midnight.Add(timeout + Margin)
	ask := taskFor(first, 1, first, expired.Add(-time.Microsecond))
	ask.Who = second
	var leased *LeasedError
	if _, err := s.Acquire(ask); !errors.As(err, &leased) {
		t.Errorf("a microsecond before the end of the lease: %v", err)
	}
	ask.Now = expired
	s = acquired(t, s, ask)
	want(t, "spent, but for what another call may do", 7, s.Spent(1))
	want(t, "looked up", cleanup.Lookups{Asked: 4, Missing: 1}, s.Looked()["users"])

	dead := expired.Add(timeout + Margin)
	want(t, "for the same now", 7, acquired(t, s, Ask{Who: second, Begin: &report.Report{RunID: second, Now: midnight}, Now: dead}).Spent(-1))
	want(t, "after an undo", 7, acquired(t, s, Ask{Who: "undo-x", Now: dead, For: UndoLease}).Spent(-1))
	want(t, "for another now", 0, begun(t, s, second, dead, false).Spent(-1))
}

// TestUndo: it has one range, from the beginning, and no task continues what was before.
func TestUndo(t *testing.T) {
	s := released(t, acquired(t, split(t), taskFor(first, 1, first, midnight)), Release{Who: later, Range: 1, Checkpoint: "bb", Token: first}, report.Partial, true)
	want(t, "goes on", true, s.Last.Continued)
	s.Stop = first
	undo := acquired(t, s, Ask{Who: "undo-" + first, Now: midnight, For: UndoLease})
	want(t, "the last report goes on", false, undo.Last.Continued)
	want(t, "the report before is untouched", true, s.Last.Continued)
	want(t, "ranges", 1, len(undo.Ranges))
	want(t, "begins", "", undo.NextBegins())
	want(t, "leased", "undo-"+first, undo.Leased(midnight))
	want(t, "told", nil, undo.Stop)
	for _, state := range []State{undo, undo.Free("undo-" + first)} {
		wantOvertaken(t, "a task", state, taskFor(first, 0, later, midnight))
	}
	want(t, "after it", "", undo.Free("undo-"+first).Leased(midnight))
	want(t, "given back by another", "undo-"+first, undo.Free("undo-x").Leased(midnight))
	if _, err := undo.Renew("undo-"+first, midnight.Add(UndoLease), UndoLease); err == nil {
		t.Error("it renews a lease that has ended")
	}
	renewed, err := undo.Renew("undo-"+first, midnight.Add(UndoLease-time.Microsecond), UndoLease)
	if _, until := renewed.Holder(); err != nil || !until.Equal(midnight.Add(2*UndoLease-time.Microsecond)) {
		t.Errorf("renewed until %s, %v", until, err)
	}
}

// TestWhatIsLeftOfShards comes before all else, if it can be handed out.
func TestWhatIsLeftOfShards(t *testing.T) {
	s := released(t, acquired(t, split(t), taskFor(first, 1, first, midnight)), Release{Who: later, Range: 1, Through: true, Token: first}, report.Completed, false)
	next := begun(t, s, second, midnight.Add(night), false)
	want(t, "ranges", fmt.Sprint([]cleanup.Bounds{{End: "b"}, {Begin: "c"}}), fmt.Sprint([]cleanup.Bounds{next.Ranges[0].Bounds, next.Ranges[1].Bounds}))
	want(t, "remaining", 2, s.Remaining())
	part := released(t, acquired(t, split(t), taskFor(first, 1, first, midnight)), Release{Who: later, Range: 1, Checkpoint: "bb", Token: first}, report.Partial, true)
	over := begun(t, part, second, midnight.Add(night), false)
	want(t, "what is left of a part", cleanup.Bounds{Begin: "bb", End: "c"}, over.Ranges[1].Bounds)
	want(t, "the run before goes on", false, over.Last.Continued)
	alone := begun(t, s, second, midnight.Add(night), true)
	want(t, "divided", false, alone.Divided())
	want(t, "begins", "", alone.NextBegins())
	want(t, "divided, rewound", false, begun(t, s.Rewind(), second, midnight.Add(night), false).Divided())
}

// TestBegins: where a call or a run begins.
func TestBegins(t *testing.T) {
	s := released(t, begun(t, State{}, first, midnight, false), Release{Who: first, Checkpoint: "m"}, report.Partial, false)
	want(t, "the next run", "m", begun(t, s, second, midnight.Add(night), false).Begins(0))
	want(t, "the next run, rewound", "", begun(t, s.Rewind(), second, midnight.Add(night), false).Begins(0))
	want(t, "a preview, rewound", "", s.Rewind().NextBegins())
	under := begun(t, s, second, midnight.Add(night), false).Rewind() // while it is under way
	under = released(t, under, Release{Who: second, Checkpoint: "x"}, report.Partial, false)
	want(t, "after a run that was under way", "", under.NextBegins())

	shard := released(t, acquired(t, split(t), taskFor(first, 1, first, midnight)), Release{Who: later, Range: 1, Through: true, Checkpoint: "z", Token: first},
		report.Failed, false)
	want(t, "a shard that failed", "b", shard.Begins(1))
	want(t, "one that was not begun", "c", shard.Begins(2))
	want(t, "who is not split", "z", shard.NextBegins())
}

// TestReleaseThatWasAnswered: its answer was lost, so it is made again, perhaps after somebody else has begun.
func TestReleaseThatWasAnswered(t *testing.T) {
	g := Release{Who: first, Checkpoint: "m", Report: &report.Report{RunID: first, Actions: map[string]report.Counts{"x": {Done: 3}}}}
	once, err := begun(t, State{}, first, midnight, false).Release(g)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := once.Release(g)
	if err != nil || twice.Spent(-1) != 3 || twice.Month.Runs != 1 {
		t.Errorf("%v, %+v", err, twice)
	}
	next := begun(t, once, second, midnight.Add(night), false)
	after, err := next.Release(g)
	if err != nil || after.Leased(midnight.Add(night)) != second {
		t.Errorf("%v, %+v", err, after)
	}
}

// TestRetries of a run that was aborted or stopped are not planned.
func TestRetries(t *testing.T) {
	for _, tt := range []struct {
		last  report.Report
		now   time.Time
		retry bool
		ended bool
	}{
		{report.Report{Status: report.Aborted}, midnight, true, true},
		{report.Report{Status: report.Partial, Stopped: true}, midnight, true, true},
		{report.Report{Status: report.Partial}, midnight, true, false},
		{report.Report{Status: report.Aborted}, midnight.Add(time.Microsecond), true, false},
		{report.Report{Status: report.Aborted}, midnight, false, false},
	} {
		tt.last.RunID, tt.last.Now = first, midnight
		_, err := State{Last: &tt.last}.Acquire(Ask{Who: second, Begin: &report.Report{RunID: second, Now: tt.now}, Retry: tt.retry, Now: tt.now})
		var ended *EndedError
		if errors.As(err, &ended) != tt.ended {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// TestKilled: what is no lease of a run that is over is none of a killed run.
func TestKilled(t *testing.T) {
	s := begun(t, State{}, first, midnight, false)
	end := midnight.Add(timeout + Margin)
	for _, now := range []time.Time{midnight, end.Add(-time.Microsecond)} {
		if got := s.Killed(now); got != nil {
			t.Errorf("at %s: %+v", now, got)
		}
	}
	got := s.Overtaken(second, end)
	if got == nil || got.Status != report.Killed || got.RunID != first || !got.StartedAt.Equal(midnight) || len(got.Failures) != 1 {
		t.Fatalf("%+v", got)
	}
	want(t, "its failure", true, strings.Contains(got.Failures[0].Error, "it was killed"))
	ended := released(t, s, Release{Who: first}, report.Completed, false)
	undo := acquired(t, ended, Ask{Who: "undo-x", Now: midnight, For: UndoLease})
	for what, state := range map[string]State{"nobody": {}, "ended": ended, "an undo": undo} {
		if got := state.Overtaken(second, end); got != nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
	goesOn := released(t, s, Release{Who: first, Checkpoint: "m"}, report.Partial, true)
	if got := goesOn.Overtaken(second, midnight); got == nil || got.Continued || got.Status != report.Partial {
		t.Errorf("a run that was to go on: %+v", got)
	}
}

// TestPartialRuns are counted in a row, however many calls each takes; one that was killed is none of them.
func TestPartialRuns(t *testing.T) {
	s := State{}
	for i, id := range []string{first, second} {
		s = released(t, begun(t, s, id, midnight.AddDate(0, 0, i), false), Release{Who: id, Checkpoint: "m"}, report.Partial, true)
		ask := taskFor(id, 0, id, midnight.AddDate(0, 0, i))
		s = released(t, acquired(t, s, ask), Release{Who: later, Checkpoint: "n", Token: id}, report.Partial, false)
		want(t, "runs", i+1, s.Last.PartialRuns)
		want(t, "runs of the month", i+1, s.Month.At(midnight).Runs)
	}
	killed := begun(t, s, later, midnight.AddDate(0, 0, 2), false).Killed(midnight.AddDate(0, 0, 3))
	want(t, "partial in a row, killed after them", 0, killed.PartialRuns)
}

// TestWhatWasBegun by a call was left, and is planned anew by the next one.
func TestWhatWasBegun(t *testing.T) {
	s := begun(t, State{}, first, midnight, false)
	for i, c := range []report.Counts{{Planned: 3, Done: 1, Begun: 2}, {Planned: 2, Done: 1, Begun: 1}} {
		var err error
		if i > 0 {
			s = acquired(t, s, taskFor(first, 0, first, midnight))
		}
		s, err = s.Release(Release{Who: []string{first, later}[i], Checkpoint: "m", Now: midnight, Report: &report.Report{
			Status: report.Partial, Continued: i == 0, StartedAt: midnight, Actions: map[string]report.Counts{"x": c}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	want(t, "the run", report.Counts{Planned: 3, Done: 2, Begun: 1}, s.Last.Totals())
}

func TestTooLong(t *testing.T) {
	s := State{Ranges: []Range{{Holder: "job-x", Until: midnight.Add(7 * time.Minute)}}}
	var long *TooLongError
	ask := Ask{Who: second, Begin: &report.Report{}, Now: midnight, Longest: 6 * time.Minute}
	if _, err := s.Acquire(ask); errors.As(err, &long) {
		t.Errorf("%v", err)
	}
	s.Ranges[0].Until = s.Ranges[0].Until.Add(time.Microsecond)
	if _, err := s.Acquire(ask); !errors.As(err, &long) {
		t.Errorf("%v, want that it is too long", err)
	}
	if err := s.TooLong(midnight, 6*time.Minute); !errors.As(err, &long) {
		t.Errorf("%v, want that it is too long", err)
	}
	if err := s.TooLong(midnight.Add(time.Microsecond), 6*time.Minute); err != nil {
		t.Error(err)
	}
}

// TestForeign: what the program did not write, and what it did.
func TestForeign(t *testing.T) {
	own := map[string]any{"runId": first, "job": "job"}
	ranges := func(one any) map[string]any { return map[string]any{"ranges": []any{one}} }
	for name, tt := range map[string]struct {
		data  map[string]any
		field string // empty: it is read
	}{
		"nothing":           {nil, ""},
		"a run":             {map[string]any{"run": first, "begun": own}, ""},
		"no such run":       {map[string]any{"run": first}, "run"},
		"another run":       {map[string]any{"run": second, "begun": own}, "run"},
		"another job's run": {map[string]any{"run": "other-x", "begun": map[string]any{"runId": "other-x"}}, "run"},
		"odd month":         {map[string]any{"month": 7}, ""},
		"odd last report":   {map[string]any{"lastReport": map[string]any{"runId": 7}}, ""},
		"odd stop":          {map[string]any{"stop": 7}, ""},
		"odd rewind":        {map[string]any{"rewound": "x"}, "rewound"},
		"odd beginning":     {map[string]any{"begun": 7}, "begun"},
		"no run's id":       {map[string]any{"run": "job-x/y", "begun": map[string]any{"runId": "job-x/y"}}, "run"},
		"negative":          {map[string]any{"earlier": int64(-1)}, "earlier"},
		"a text":            {map[string]any{"ranges": "x"}, "ranges"},
		"a map":             {map[string]any{"ranges": map[string]any{}}, "ranges"},
		"no range":          {map[string]any{"ranges": []any{}}, "ranges"},
		"an odd range":      {ranges("x"), "ranges"},
		"odd holder":        {ranges(map[string]any{"holder": 7}), "ranges"},
		"odd end":           {ranges(map[string]any{"until": "later"}), "ranges"},
		"negative done":     {ranges(map[string]any{"done": -1}), "ranges"},
		"negative reserved": {ranges(map[string]any{"reserved": -1}), "ranges"},
		"negative lookups":  {ranges(map[string]any{"looked": map[string]any{"x": map[string]any{"Asked": 1, "Missing": -9}}}), "ranges"},
		"more missing than asked": {ranges(map[string]any{"looking": map[string]any{"x": map[string]any{"Asked": 1, "Missing": 2}}}),
			"ranges"},
		"more than any run does": {map[string]any{"earlier": int64(mostCounted + 1)}, "earlier"},
		"more lookups than that": {ranges(map[string]any{"looked": map[string]any{"x": map[string]any{"Asked": mostCounted + 1}}}), "ranges"},
		"odd checkpoint":         {ranges(map[string]any{"checkpoint": 7}), "ranges"},
		"so many that their sum is less": {map[string]any{"ranges": []any{
			map[string]any{"done": int64(math.MaxInt64)}, map[string]any{"reserved": int64(math.MaxInt64)}}}, "ranges"},
	} {
		_, err := Of(config.Config{Project: "p", Database: "d"}, "job", documents.Document{Data: tt.data})
		var foreign *ForeignError
		if errors.As(err, &foreign) != (tt.field != "") || tt.field != "" && !strings.Contains(err.Error(), "updateMask.fieldPaths="+tt.field+"'") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
