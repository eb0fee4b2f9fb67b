package jobstate

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// What follows are the exact cases that random histories come to too seldom.

var midnight = time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)

const (
	first  = "job-20260110T000000Z-00000001"
	second = "job-20260111T000000Z-00000002"
	third  = "job-20260112T000000Z-00000003"
)

// ends is when the lease of a run that began at midnight ends.
var ends = midnight.Add(timeout + Margin)

// candidate is a run that begins at a time.
func candidate(who string, now time.Time) Candidate {
	return Candidate{Who: who, Begun: &report.Report{RunID: who, Job: "job", Now: now, StartedAt: now}, Now: now,
		For: timeout + Margin}
}

func acquired(t *testing.T, s State, c Candidate) State {
	t.Helper()
	s, err := s.Acquire(c)
	check.OK(t, err)
	return s
}

func released(t *testing.T, s State, r report.Report, checkpoint string) State {
	t.Helper()
	s, err := s.Release(&r, checkpoint)
	check.OK(t, err)
	return s
}

func want[T comparable](t *testing.T, what string, want, got T) {
	t.Helper()
	if want != got {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestLease(t *testing.T) {
	s := acquired(t, State{Checkpoint: "m"}, candidate(first, midnight))
	want(t, "holder", first, s.Leased(ends.Add(-time.Microsecond)))
	want(t, "the run", first, s.Run())
	want(t, "begins at", "m", s.Begins())
	for now, free := range map[time.Time]bool{midnight: false, ends.Add(-time.Microsecond): false, ends: true} {
		after, err := s.Acquire(candidate(second, now))
		var leased *LeasedError
		if free != (err == nil) || !free && (!errors.As(err, &leased) || leased.Holder != first || !leased.Until.Equal(ends)) {
			t.Errorf("at %s: %v", now, err)
		}
		if free {
			want(t, "taken over by", second, after.Leased(now))
			want(t, "begins where the dead run began", "m", after.Begins())
		}
	}
	again := acquired(t, s, candidate(first, midnight.Add(time.Second)))
	want(t, "an answer that was lost: until", ends.Add(time.Second), again.Until)

	var lost *LostError
	if _, err := s.Release(&report.Report{RunID: second}, "n"); !errors.As(err, &lost) || lost.Holder != first {
		t.Errorf("released by another: %v", err)
	}
	s = released(t, s, report.Report{RunID: first, Status: report.Partial, Schedule: "0 3 * * * UTC"}, "n")
	fromTerminal := released(t, acquired(t, s, candidate(second, midnight)), report.Report{RunID: second}, "n")
	want(t, "the schedule after a run that does not know it", "0 3 * * * UTC", fromTerminal.Schedule)
	want(t, "after it", "", s.Leased(midnight))
	want(t, "the next begins at", "n", acquired(t, s, candidate(second, midnight)).Begins())
	want(t, "the last report", first, s.Last.RunID)
}

// TestReleaseThatWasAnswered: its answer was lost, so it is made again, perhaps after somebody else has begun.
func TestReleaseThatWasAnswered(t *testing.T) {
	r := report.Report{RunID: first}
	once := released(t, acquired(t, State{}, candidate(first, midnight)), r, "m")
	twice := released(t, once, r, "m")
	check.Same(t, "made again", once, twice)
	next := acquired(t, once, candidate(second, midnight.Add(night)))
	want(t, "the next one's lease", second, released(t, next, r, "m").Leased(midnight.Add(night)))
}

func TestUndo(t *testing.T) {
	s := released(t, acquired(t, State{}, candidate(first, midnight)), report.Report{RunID: first, Status: report.Partial}, "m")
	s.Stop = "x"
	undo := acquired(t, s, Candidate{Who: "undo-" + first, Now: midnight, For: UndoLease})
	want(t, "leased", "undo-"+first, undo.Leased(midnight))
	want(t, "a run", "", undo.Run())
	want(t, "told to stop", nil, undo.Stop)
	_, err := undo.Acquire(candidate(second, midnight))
	check.Fails(t, err)
	want(t, "after it", "", undo.Free("undo-"+first).Leased(midnight))
	want(t, "given back by another", "undo-"+first, undo.Free("undo-x").Leased(midnight))
	want(t, "the next run begins at", "", acquired(t, undo.Free("undo-"+first), candidate(second, midnight)).Begins())

	end := midnight.Add(UndoLease)
	renewed, err := undo.Renew("undo-"+first, end.Add(-time.Microsecond), UndoLease)
	if err != nil || !renewed.Until.Equal(end.Add(UndoLease-time.Microsecond)) {
		t.Errorf("renewed: %v, until %s", err, renewed.Until)
	}
	var lost *LostError
	if _, err := undo.Renew("undo-"+first, end, UndoLease); !errors.As(err, &lost) {
		t.Errorf("renewed after its end: %v", err)
	}
	if _, err := undo.Renew("undo-x", midnight, UndoLease); !errors.As(err, &lost) {
		t.Errorf("renewed by another: %v", err)
	}
}

// TestRewind: the next run begins at the beginning, and only that, also where one is under way meanwhile.
func TestRewind(t *testing.T) {
	s := State{Checkpoint: "m"}.Rewind()
	want(t, "begins at", "", s.Begins())
	s = acquired(t, s, candidate(first, midnight))
	want(t, "begins at", "", s.Begins())
	s = released(t, s.Rewind(), report.Report{RunID: first}, "n")
	s = acquired(t, s, candidate(second, midnight))
	want(t, "after the run that was under way", "", s.Begins())
	s = released(t, s, report.Report{RunID: second}, "o")
	want(t, "after that", "o", acquired(t, s, candidate(third, midnight)).Begins())
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
		{report.Report{Status: report.Failed}, midnight, true, false},
		{report.Report{Status: report.Aborted}, midnight.Add(time.Microsecond), true, false},
		{report.Report{Status: report.Aborted}, midnight, false, false},
	} {
		tt.last.RunID, tt.last.Now = first, midnight
		a := candidate(second, tt.now)
		a.Retry = tt.retry
		_, err := State{Last: &tt.last}.Acquire(a)
		var ended *EndedError
		if errors.As(err, &ended) != tt.ended || tt.ended && ended.Report.RunID != first {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// TestKilled: what is no lease of a run that is over is none of a killed run.
func TestKilled(t *testing.T) {
	s := acquired(t, State{}, candidate(first, midnight))
	for _, now := range []time.Time{midnight, ends.Add(-time.Microsecond)} {
		if got := s.Killed(now); got != nil {
			t.Errorf("at %s: %+v", now, got)
		}
	}
	got := s.Killed(ends)
	if got == nil || got.Status != report.Killed || got.RunID != first || !got.StartedAt.Equal(midnight) || len(got.Failures) != 1 {
		t.Fatalf("%+v", got)
	}
	want(t, "its failure", true, strings.Contains(got.Failures[0].Error, "it was killed"))
	want(t, "partial in a row", 0, got.PartialRuns)
	ended := released(t, s, report.Report{RunID: first}, "")
	undo := acquired(t, ended, Candidate{Who: "undo-x", Now: midnight, For: UndoLease})
	for what, state := range map[string]State{"nobody": {}, "ended": ended, "an undo": undo} {
		if got := state.Killed(ends); got != nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

func TestTooLong(t *testing.T) {
	s := State{Holder: "job-x", Until: midnight.Add(Longest + Margin)}
	want(t, "too long", nil, s.TooLong("job", midnight))
	s.Until = s.Until.Add(time.Microsecond)
	var foreign *ForeignError
	err := s.TooLong("job", midnight)
	if !errors.As(err, &foreign) || !strings.Contains(err.Error(), "delete the field until of cleanupJobs/job in") {
		t.Errorf("%v, want that it is too long", err)
	}
	s.Holder = ""
	want(t, "too long, though nobody holds it", nil, s.TooLong("job", midnight))
}

// TestForeign: what the program did not write, and what it did.
func TestForeign(t *testing.T) {
	held := func(holder, begun any) map[string]any { return map[string]any{"holder": holder, "begun": begun} }
	for name, tt := range map[string]struct {
		data  map[string]any
		field string // empty: it is read
	}{
		"nothing":           {nil, ""},
		"a run":             {held(first, map[string]any{"runId": first, "job": "job"}), ""},
		"an undo":           {held("undo-x", nil), ""},
		"nobody":            {held("", map[string]any{"runId": first}), ""},
		"no beginning":      {held(first, nil), "holder"},
		"another run":       {held(second, map[string]any{"runId": first}), "holder"},
		"another job's run": {held("other-x", map[string]any{"runId": "other-x"}), "holder"},
		"no run's id":       {held("job-x/y", map[string]any{"runId": "job-x/y"}), "holder"},
		"too long an id": {held("job-"+strings.Repeat("x", maxID), map[string]any{"runId": "job-" + strings.Repeat("x", maxID)}),
			"holder"},
		"odd last report": {map[string]any{"lastReport": map[string]any{"runId": 7}}, ""},
		"no run's report": {map[string]any{"lastReport": map[string]any{"job": "job"}}, ""},
		"odd stop":        {map[string]any{"stop": 7}, ""},
		"odd rewind":      {map[string]any{"rewound": "x"}, "rewound"},
		"odd beginning":   {map[string]any{"begun": 7}, "begun"},
		"odd holder":      {map[string]any{"holder": 7}, "holder"},
		"odd end":         {map[string]any{"until": "later"}, "until"},
		"odd checkpoint":  {map[string]any{"checkpoint": 7}, "checkpoint"},
	} {
		s, err := Of("job", documents.Document{Data: tt.data})
		var foreign *ForeignError
		if errors.As(err, &foreign) != (tt.field != "") || tt.field != "" && !strings.Contains(err.Error(), "the field "+tt.field+" of cleanupJobs/job is") || s.Last != nil {
			t.Errorf("%s: %v, last report %v", name, err, s.Last)
		}
	}
}

var byUndo = Hold{At: midnight, By: "ann", Why: "it came back", RunID: first}

// TestHeld: no run begins, an undo does, and what is done twice comes to the same.
func TestHeld(t *testing.T) {
	s := State{Checkpoint: "m"}.Hold(byUndo)
	a := candidate(second, midnight)
	a.Begun.Job = "job"
	var held *HeldError
	if _, err := s.Acquire(a); !errors.As(err, &held) || held.Hold != byUndo ||
		err.Error() != `held since 2026-01-10 00:00 UTC by "ann", because "it came back" (`+first+`): the job does nothing until firesweep resume ` {
		t.Errorf("%v", err)
	}
	_, err := s.Acquire(Candidate{Who: "undo-" + first, Now: midnight, For: UndoLease})
	want(t, "an undo", nil, err)
	byHand := Hold{At: midnight, By: "ben", Why: "not now"}
	other := Hold{At: midnight, RunID: second}
	for name, tt := range map[string]struct{ before, then, want Hold }{
		"again": {byUndo, Hold{RunID: first}, byUndo}, "by hand": {byUndo, byHand, byHand}, "by hand before": {byHand, byUndo, byHand},
		"another undo": {byUndo, other, other}, "by hand twice": {byHand, Hold{Why: "else"}, byHand},
	} {
		want(t, name, tt.want, *State{}.Hold(tt.before).Hold(tt.then).Held)
	}
	running := acquired(t, State{}, a).Hold(byUndo)
	want(t, "the run that had begun", second, acquired(t, running, a).Leased(midnight))
	want(t, "resumed: begins at", "m", s.Resume().Begins())
	if s.Resume().Held != nil {
		t.Error("it is held nevertheless")
	}
}

// TestHeldWithAllJobs: what holds all jobs holds each, and what holds the new ones those that it does not name.
func TestHeldWithAllJobs(t *testing.T) {
	byHand := Hold{Record: AllJobs, At: midnight, Why: "restoring"}
	undone := Hold{Record: NewJobs, At: midnight, RunID: first}
	all, some := State{Held: &byHand, Keep: []Kept{{Path: "users/a"}}}, State{}.HoldNew(undone, []string{"old"})
	some = some.HoldNew(Hold{Record: NewJobs, RunID: second}, []string{"old", "new"})
	want(t, "held by", second, some.Held.RunID)
	own := Hold{Record: "new", Why: "mine"}
	for name, tt := range map[string]struct {
		job       string
		s         State
		all, some State
		want      *Hold
	}{
		"all":               {"old", State{}, all, State{}, &byHand},
		"its own":           {"new", State{Held: &own}, all, some, &own},
		"new":               {"new", State{}, State{}, some, some.Held},
		"known":             {"old", State{}, State{}, some, nil},
		"resumed":           {"new", State{}, State{}, some.ResumeNew("new"), nil},
		"another resumed":   {"new", State{}, State{}, some.ResumeNew("newer"), some.Held},
		"all resumed":       {"new", State{}, State{}, some.Resume(), nil},
		"nobody holds them": {"new", State{}, State{Keep: all.Keep}, State{}.ResumeNew("new"), nil},
	} {
		s := tt.s.Heed(tt.job, tt.all, tt.some)
		want(t, name, tt.want, s.Held)
		want(t, name+": keeps", len(tt.all.Keep), len(s.Keep))
	}
	want(t, "known when it was resumed", 0, len(some.Resume().Known))
}

// TestKept: what belongs to something on the list is kept, and so is what it belongs to.
func TestKept(t *testing.T) {
	s, err := State{}.Keeping(Kept{Path: "users/a"}, Kept{Path: "logs/"}, Kept{Path: "users/b/notes/"},
		Kept{Path: "gs://b/f/"}, Kept{Path: "account u"}, Kept{Path: "users/a", Hold: Hold{Why: "again"}})
	if err != nil || len(s.Keep) != 5 || s.Keep[0].Why != "" {
		t.Fatalf("%v, %+v", err, s.Keep)
	}
	k := s.Keeps()
	for item, why := range map[string]string{
		"users/a": KeptListed, "users/a/notes/n": KeptListed, "users/ab": "", "logs/x": KeptListed, "logsx/x": "",
		"users/b": KeptWithListed, "users/b/notes/n": KeptListed, "users/b/other/n": "",
		"gs://b/f/x": KeptListed, "gs://b/f": "", "gs://b/fx": "", "gs://b/": KeptWithListed, "account u": KeptListed, "account uv": "",
	} {
		want(t, item, why, k.Why(item))
	}
	want(t, "none has", "", Keeps{}.Why("users/a"))
	byUndo, byHand, other := Hold{RunID: "r", Why: "undo"}, Hold{Why: "a court"}, Hold{RunID: "other"}
	for _, listed := range [][]Hold{{byUndo, byHand, byUndo}, {byHand, byUndo, other}} { // by hand it is listed for good
		again := State{}
		for _, by := range listed {
			again, err = again.Keeping(Kept{Path: "users/a", Hold: by})
			want(t, "error", nil, err)
		}
		want(t, "why", byHand.Why, again.Keep[0].Why)
	}
	again, err := State{Keep: []Kept{{Path: "users/a", Hold: byUndo}}}.Keeping(Kept{Path: "users/a", Hold: other})
	want(t, "by the first undo", "r "+fmt.Sprint(nil), again.Keep[0].RunID+" "+fmt.Sprint(err))
	want(t, "left", 4, len(s.Unkeep("users/a", "users/none").Keep))
}

// TestTooManyKept: 1,000 items, and 500 KiB.
func TestTooManyKept(t *testing.T) {
	var s State
	var err error
	for i := range MaxKept {
		s, err = s.Keeping(Kept{Path: fmt.Sprintf("users/%d", i)})
		check.OK(t, err)
	}
	if s, err = s.Keeping(Kept{Path: "users/x"}); err == nil || len(s.Keep) != MaxKept {
		t.Errorf("%v, %d", err, len(s.Keep))
	}
	_, err = (State{}).Keeping(Kept{Path: "users/x", Hold: Hold{Why: strings.Repeat("x", maxKeptBytes)}})
	check.Fails(t, err)
}

// TestForeignHold: a hold or a list that this program did not write stops the job, and says so.
func TestForeignHold(t *testing.T) {
	many := make([]any, MaxKept+1)
	for i := range many {
		many[i] = map[string]any{"path": fmt.Sprintf("users/%d", i)}
	}
	list := func(path any) map[string]any { return map[string]any{"keep": []any{map[string]any{"path": path}}} }
	for name, tt := range map[string]struct {
		data  map[string]any
		field string // empty: it is read
	}{
		"held":          {map[string]any{"held": map[string]any{"at": midnight, "why": "x"}}, ""},
		"held, no more": {map[string]any{"held": map[string]any{}}, ""},
		"a text":        {map[string]any{"held": "x"}, "held"},
		"no time":       {map[string]any{"held": map[string]any{"at": 7}}, "held"},
		"a document":    {list("users/a"), ""},
		"a list":        {map[string]any{"keep": "users/a"}, "keep"},
		"texts":         {map[string]any{"keep": []any{"users/a"}}, "keep"},
		"null":          {map[string]any{"keep": []any{nil}}, "keep"},
		"a number":      {list(7), "keep"},
		"nothing":       {list(""), "keep"},
		"a bucket":      {list("gs://b/"), "keep"},
		"no account":    {list("account "), "keep"},
		"no document":   {list("users"), "keep"},
		"too many":      {map[string]any{"keep": many}, "keep"},
	} {
		s, err := Of("job", documents.Document{Data: tt.data})
		var foreign *ForeignError
		if errors.As(err, &foreign) != (tt.field != "") || tt.field != "" && !strings.Contains(err.Error(), "the field "+tt.field+" of cleanupJobs/job is") {
			t.Errorf("%s: %v", name, err)
		}
		if strings.HasPrefix(name, "held") && s.Held == nil {
			t.Errorf("%s: it is not held", name)
		}
	}
}
