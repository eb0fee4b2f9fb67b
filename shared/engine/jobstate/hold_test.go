package jobstate

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
)

var byUndo = Hold{At: midnight, By: "ann", Why: "it came back", RunID: first}

// TestHeld: no run begins, an undo does, and what is done twice comes to the same.
func TestHeld(t *testing.T) {
	s := State{Checkpoint: "m"}.Hold(byUndo)
	a := candidate(second, midnight)
	a.Begun.Job = "job"
	var held *HeldError
	if _, err := s.Acquire(a); !errors.As(err, &held) || held.Hold != byUndo ||
		err.Error() != `held since 2026-01-10T00:00:00Z by "ann", because "it came back": the job does nothing until firesweep resume ` {
		t.Errorf("%v", err)
	}
	if _, err := s.Acquire(Candidate{Who: "undo-" + first, Now: midnight, For: UndoLease}); err != nil {
		t.Errorf("an undo: %v", err)
	}
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
	if some = some.HoldNew(Hold{Record: NewJobs, RunID: second}, []string{"old", "new"}); some.Held.RunID != second {
		t.Errorf("%+v", some)
	}
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
	want(t, "left", 4, len(s.Unkeep("users/a", "users/none").Keep))
}

// TestTooManyKept: 1,000 items, and 500 KiB.
func TestTooManyKept(t *testing.T) {
	var s State
	var err error
	for i := range MaxKept {
		if s, err = s.Keeping(Kept{Path: fmt.Sprintf("users/%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if s, err = s.Keeping(Kept{Path: "users/x"}); err == nil || len(s.Keep) != MaxKept {
		t.Errorf("%v, %d", err, len(s.Keep))
	}
	if _, err = (State{}).Keeping(Kept{Path: "users/x", Hold: Hold{Why: strings.Repeat("x", maxKeptBytes)}}); err == nil {
		t.Error("too long, and no error")
	}
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
		s, err := Of(config.Config{Project: "p", Database: "d"}, "job", documents.Document{Data: tt.data})
		var foreign *ForeignError
		if errors.As(err, &foreign) != (tt.field != "") || tt.field != "" && !strings.Contains(err.Error(), "updateMask.fieldPaths="+tt.field+"'") {
			t.Errorf("%s: %v", name, err)
		}
		if strings.HasPrefix(name, "held") && s.Held == nil {
			t.Errorf("%s: it is not held", name)
		}
	}
}
