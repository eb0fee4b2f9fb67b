package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// inSections is a job that deletes t000 to t002 in the section odd, in which too much is due, and t003 to t004 in the
// section even. Its checkpoints are the section and a thing.
func inSections(first int) cleanup.Job {
	return cleanup.Job{Name: "testJob", Rules: []cleanup.AnyRule{things}, Plan: func(ctx context.Context, p *cleanup.Planner) error {
		for i, s := range []cleanup.Section{{Name: "odd", Next: "even"}, {Name: "even", Next: "end"}} {
			if s.Name == "odd" && p.Checkpoint == "even" {
				continue
			}
			from, to := 0, first
			if i == 1 {
				from, to = first, first+2
			}
			if err := p.Section(ctx, s, func() error { return planThings(ctx, p, s.Name, from, to) }); err != nil {
				return err
			}
		}
		return nil
	}}
}

// planThings considers some things in a section.
func planThings(ctx context.Context, p *cleanup.Planner, section string, from, to int) error {
	for n := from; n < to; n++ {
		if section == "odd" {
			p.Count(cleanup.Count{Collection: "owners", Looked: 10, Due: 10})
		}
		d, found, err := p.Documents.Get(ctx, fmt.Sprintf("things/t%03d", n))
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if err := p.Consider(ctx, things, []documents.Document{d}); err != nil {
			return err
		}
		if err := p.SaveCheckpoint(fmt.Sprintf("%s t%03d", section, n)); err != nil {
			return err
		}
	}
	return nil
}

func seedSections(t *testing.T, f *enginetest.Function) {
	t.Helper()
	seed(t, f, 5)
	f.Set(t, "owners/one", map[string]any{"n": 1})
}

// TestASectionThatTripsDoesNothing: the other is done, and what is not done counts for no limit on actions.
func TestASectionThatTripsDoesNothing(t *testing.T) {
	t.Parallel()
	f := newFunction(t, inSections(3))
	seedSections(t, f)
	f.Env["MAX_ACTIONS"] = "3"
	for _, body := range []string{`{"dryRun":true}`, ""} {
		got := f.Run(t, body)
		want := map[string]report.Counts{"delete thing": {Planned: 5, Done: 2}}
		if body != "" {
			want = map[string]report.Counts{"delete thing": {Planned: 5}}
		}
		enginetest.WantReport(t, got, report.Aborted, want)
		e := onlyFailure(t, got).Error
		begins(t, e, "pass odd: MAX_DUE_PERCENT: 30 of 30 owners are due")
	}
	enginetest.Want(t, "left", []string{"t000", "t001", "t002"}, left(t, f))
	enginetest.Want(t, "the next run begins", "", enginetest.Checkpoint(job(t, f)))
	f.Env["MAX_ACTIONS"] = "2"
	got := f.Run(t, "") // three are due in the first pass, and none in the second
	want := &cleanup.LimitError{Pass: "odd", Limit: "MAX_ACTIONS", Due: 3, Most: 2}
	enginetest.Want(t, "the limit", want, got.Failures[0].Limit)
	enginetest.Want(t, "left then", 3, len(left(t, f)))
	enginetest.WantReport(t, f.Run(t, `{"force":true}`), report.Completed, enginetest.Done("delete thing", 3))
}

// TestWhereARunContinuesAfterASectionThatTripped: out of time in it, behind it; out of time while the other is done, there; and
// the run after that comes back to it.
func TestWhereARunContinuesAfterASectionThatTripped(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		asked      int // how often the time is asked before it is up; 0: it is up when the plan is made
		checkpoint string
	}{"while it is planned": {3, "even"}, "before the other is done": {0, "even"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFunction(t, inSections(3))
			seedSections(t, f)
			late := start.Add(f.Timeout)
			asked, up := 0, false
			f.Clock = func() time.Time {
				if asked++; up || tt.asked > 0 && asked > tt.asked+3 {
					return late
				}
				return start
			}
			f.Hooks.BeforeApply = func() { up = true }
			got := f.Run(t, "")
			enginetest.Want(t, "status", report.Aborted, got.Status)
			enginetest.Want(t, "left", 5, len(left(t, f)))
			enginetest.Want(t, "checkpoint", tt.checkpoint, enginetest.Checkpoint(job(t, f)))
			f.Clock, f.Hooks.BeforeApply = func() time.Time { return late.Add(time.Hour) }, nil
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete thing", 2))
			enginetest.Want(t, "the third run", report.Aborted, f.Run(t, "").Status)
			enginetest.Want(t, "left", 3, len(left(t, f)))
		})
	}
}

// TestUnknownShareOfASection fails the run and does the others.
func TestUnknownShareOfASection(t *testing.T) {
	t.Parallel()
	whole := inSections(0)
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		if err := p.Section(ctx, cleanup.Section{Name: "unknown"}, func() error {
			p.Count(cleanup.Count{Unknown: errors.New("nobody knows")})
			return p.ConsiderRefs(ctx, things, documents.Ref{Collection: "things", ID: "t004"})
		}); err != nil {
			return err
		}
		return whole.Plan(ctx, p)
	}})
	seed(t, f, 5)
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{"delete thing": {Planned: 3, Done: 2}})
	enginetest.Want(t, "failures", []report.Failure{{Target: "unknown", Action: "check safety limits", Error: "nobody knows"}}, got.Failures)
	enginetest.Want(t, "left", []string{"t002", "t003", "t004"}, left(t, f))
}
