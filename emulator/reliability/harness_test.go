package reliability

import (
	"context"
	"github.com/firesweep/firesweep/functions"
	"os"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
	"github.com/firesweep/firesweep/shared/sweep"
)

// careless is cleanupReports as it must not be: its rule finds each report due without looking at it.
func careless(change func(report sweep.Subject, d sweep.Decision, run sweep.Run) sweep.Change) subject {
	rule := sweep.Rule[sweep.Subject]{
		Name: "careless", Load: sweep.Itself, Change: change,
		Judge: func(sweep.Subject, sweep.Run) sweep.Decision { return sweep.Do("delete report", "it was found") },
	}
	s := sampled(functions.Registered()["cleanupReports"])
	s.job.Rules = []sweep.AnyRule{rule}
	s.job.Plan = func(ctx context.Context, p *sweep.Planner) error {
		due := documents.Query{Collection: "reports", Where: []documents.Filter{
			{Field: "status", Op: "in", Value: []string{"reviewed", "dismissed"}},
			{Field: "createdAt", Op: "<", Value: retention.MonthsBefore(p.Now, 1)},
		}, OrderBy: []string{"createdAt"}}
		return p.Sweep(ctx, due, "", rule)
	}
	return s
}

// TestFindsWhatACrashBreaks proves that a fault at every step finds a job that a crash leaves half done.
func TestFindsWhatACrashBreaks(t *testing.T) {
	t.Parallel()
	s := careless(func(report sweep.Subject, d sweep.Decision, _ sweep.Run) sweep.Change {
		if report.Data["status"] != "deleting" { // so that the next run does not find it, and nothing is remembered of it
			mark := documents.Write{Op: documents.Update, Ref: report.Ref(), Data: map[string]any{"status": "deleting"}}
			return sweep.Change{Writes: []documents.Write{mark}, Again: d.Kind}
		}
		return sweep.Change{Writes: []documents.Write{{Op: documents.Delete, Ref: report.Ref()}}}
	})
	for at := len(undisturbed(t, s)) - 3; at > 0; at-- { // before the three calls that save the report
		lines, tried := tryFault(t, s, At(at, Faults[0]))
		if tried && len(lines) > 0 {
			return
		}
	}
	t.Error("the process died at every call, and no difference was found")
}

// TestFindsWhatARaceBreaks proves that a user's write before every call finds a job that does not look again.
func TestFindsWhatARaceBreaks(t *testing.T) {
	t.Parallel()
	s := careless(func(report sweep.Subject, _ sweep.Decision, _ sweep.Run) sweep.Change {
		return sweep.Change{Writes: []documents.Write{{Op: documents.Delete, Ref: report.Ref()}}}
	})
	for at := len(undisturbed(t, s)) - 3; at > 0; at-- {
		lines, tried := tryRace(t, s, at)
		if tried && len(lines) > 0 {
			return
		}
	}
	t.Error("a user wrote before every call, and no difference was found")
}

// TestEveryJobIsTried keeps a job from being left out of what is tried, or from being tried with nothing.
func TestEveryJobIsTried(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n| job | what users do |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	named := map[string]bool{}
	for _, s := range subjects() {
		named[s.name] = true
		if len(actions[s.name]) == 0 {
			t.Errorf("nothing is said of what users do while %s runs, so no race is tried: add it to actions in emulator/reliability/actions_test.go", s.name)
		}
		for _, a := range actions[s.name] {
			if a.do == nil || a.then == nil && len(a.kept)+len(a.made)+len(a.objects)+len(a.accounts) == 0 {
				t.Errorf("%s: %q keeps nothing, so nothing is compared: see emulator/reliability/actions_test.go", s.name, a.name)
			}
		}
		if !strings.Contains("\n"+table, "\n| `"+s.name+"` | ") {
			t.Errorf("docs/reliability.md does not say what users do while %s runs: add a row to its table \"what users do\"", s.name)
		}
	}
	for name := range actions {
		if !named[name] {
			t.Errorf("emulator/reliability/actions_test.go has users' actions for %s, which is no job that is tried", name)
		}
	}
	for name := range variants {
		if !named[name] {
			t.Errorf("emulator/reliability/world_test.go has variants of %s, which is no job that is tried", name)
		}
	}
}
