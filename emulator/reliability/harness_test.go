package reliability

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/functions/expiredcomped"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
)

// careless is cleanupReports as it must not be: its rule finds each report due without looking at it.
func careless(change func(report cleanup.Subject, d cleanup.Decision, run cleanup.Run) cleanup.Change) subject {
	rule := cleanup.Rule[cleanup.Subject]{
		Name: "careless", Load: cleanup.Itself, Change: change,
		Reach: cleanup.Reach{Items: "reports", Deletes: []string{"reports"}, Writes: []string{"reports"}},
		Judge: func(cleanup.Subject, cleanup.Run) cleanup.Decision {
			return cleanup.Do("delete report", "it was found")
		},
	}
	s := sampled(functions.Registered()["cleanupReports"])
	s.job.Rules = []cleanup.AnyRule{rule}
	s.job.Plan = func(ctx context.Context, p *cleanup.Planner) error {
		due := documents.Query{Collection: "reports", Where: []documents.Filter{
			{Field: "status", Op: "in", Value: []string{"reviewed", "dismissed"}},
			{Field: "createdAt", Op: "<", Value: retention.MonthsBefore(p.Now, 1)},
		}, OrderBy: []string{"createdAt"}}
		return p.Sweep(ctx, due, "", rule)
	}
	return s
}

// TestFindsWhatIsCareless proves that a job that a crash leaves half done, one that does not look again, a log that is written after
// what it is of, a hold that is set after what it keeps is back, and an undo that does not look whether somebody else has written,
// are found.
func TestFindsWhatIsCareless(t *testing.T) {
	t.Parallel()
	deletes := func(report cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
		return cleanup.Change{Writes: []documents.Write{{Op: documents.Delete, Ref: report.Ref()}}}
	}
	halfDone := careless(func(report cleanup.Subject, d cleanup.Decision, run cleanup.Run) cleanup.Change {
		if report.Data["status"] == "deleting" {
			return deletes(report, d, run)
		}
		// The next run does not find it so, and nothing is remembered of it.
		mark := documents.Write{Op: documents.Update, Ref: report.Ref(), Data: map[string]any{"status": "deleting"}}
		return cleanup.Change{Writes: []documents.Write{mark}, Again: true}
	})
	s := sampled(expiredcomped.Job)
	lateLog, lateHold, blind := s, s, s
	lateLog.between, lateHold.between, blind.between = logAfterCommit, holdAfterRestoring(), overwriting
	ofReports := func(c Call) bool { return strings.Contains(c.String(), "reports/") }
	logs := func(c Call) bool { return strings.Contains(c.String(), "/cleanupUndo/") }
	back := func(c Call) bool { return c.Method == "Commit" && restores(c.String()) }
	for name, tt := range map[string]struct {
		s      subject
		ofUndo bool              // what is disturbed
		at     func(c Call) bool // where it shows
		try    func(t *testing.T, s subject, want *expected, p point) ([]string, *Steps)
		fault  Fault
	}{
		"a crash leaves it half done": {halfDone, false, ofReports, tryFault, Faults[0]},
		"it does not look again":      {careless(deletes), false, ofReports, tryRace, users[0]},
		"the log is late":             {lateLog, false, logs, tryUndone, Faults[0]},
		"the hold is late":            {lateHold, true, back, tryUndoFault, Faults[1]},
		"it overwrites":               {blind, true, back, tryUndoRace, users[0]},
	} {
		want := expect(t, tt.s)
		found := false
		for i, c := range want.callsOf(t, tt.s, kind{ofUndo: tt.ofUndo}) {
			if !found && tt.at(c) {
				lines, steps := tt.try(t, tt.s, want, point{tt.fault, i + 1})
				found = steps.Struck() && len(lines) > 0
			}
		}
		if !found {
			t.Errorf("%s, and no difference was found", name)
		}
	}
}

// logAfterCommit leaves the undo log out of each commit and writes it afterwards.
func logAfterCommit(_ bool, sent, answer any, send func() error) error {
	isLog := func(w *firestorepb.Write) bool { return strings.Contains(w.GetUpdate().GetName(), "/cleanupUndo/") }
	all := writesOf(sent)
	if !slices.ContainsFunc(all, isLog) {
		return send()
	}
	commit := sent.(*firestorepb.CommitRequest)
	commit.Writes = slices.DeleteFunc(slices.Clone(all), isLog)
	if err := send(); err != nil {
		return err
	}
	log := slices.DeleteFunc(slices.Clone(all), func(w *firestorepb.Write) bool { return !isLog(w) })
	return sendInstead(sent, answer, send, &firestorepb.CommitRequest{Database: commit.GetDatabase(), Writes: log})
}

// sendInstead sends another request in place of one, whose answer is left as it is.
func sendInstead(sent, answer any, send func() error, other proto.Message) error {
	request, reply := sent.(proto.Message), answer.(proto.Message)
	for _, m := range []proto.Message{request, reply} {
		was := proto.Clone(m)
		defer func() {
			proto.Reset(m)
			proto.Merge(m, was)
		}()
	}
	proto.Reset(request)
	proto.Merge(request, other)
	return send()
}

// holdAfterRestoring keeps what is to be held back until documents are restored and the undo is about to end.
func holdAfterRestoring() func(undoes bool, sent, answer any, send func() error) error {
	var mu sync.Mutex
	var waiting []proto.Message
	restored := false
	return func(undoes bool, sent, answer any, send func() error) (err error) {
		if !undoes {
			return send()
		}
		mu.Lock()
		defer mu.Unlock()
		commit, isCommit := sent.(*firestorepb.CommitRequest)
		if isCommit && strings.Contains(commit.String(), "by undoing a run") {
			waiting = append(waiting, proto.Clone(commit))
			proto.Merge(answer.(proto.Message), &firestorepb.CommitResponse{
				WriteResults: []*firestorepb.WriteResult{{UpdateTime: timestamppb.Now()}}, CommitTime: timestamppb.Now()})
			return nil
		}
		restoring := isCommit && restores(strings.Join(targetsOf(sent), " "))
		if isCommit && restored && !restoring {
			for _, held := range waiting {
				err = cmp.Or(err, sendInstead(sent, answer, send, held))
			}
			waiting = nil
		}
		err = cmp.Or(err, send())
		restored = restored || restoring && err == nil
		return err
	}
}

// restores reports whether a commit of an undo is of the application's documents.
func restores(targets string) bool { return !strings.Contains(targets, "cleanup") }

// overwriting takes the conditions from the writes that restore documents.
func overwriting(_ bool, sent, _ any, send func() error) error {
	if restores(strings.Join(targetsOf(sent), " ")) {
		for _, w := range writesOf(sent) {
			w.CurrentDocument = nil
		}
	}
	return send()
}

// TestEveryJobIsTried keeps a job from being left out of what is tried, or from being tried with nothing.
func TestEveryJobIsTried(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	ok(t, err)
	_, table, _ := strings.Cut(string(text), "\n| job | what users do |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	named := map[string]bool{}
	for _, s := range subjects() {
		if s.checks {
			continue
		}
		named[s.name] = true
		if len(actionsOf(s.name)) == 0 {
			t.Errorf("nothing is said of what users do while %s runs, so no race is tried: "+
				"add it to actions in emulator/reliability/actions_test.go", s.name)
		}
		for _, a := range actionsOf(s.name) {
			if a.do == nil || a.then == nil && len(a.kept)+len(a.made)+len(a.objects)+len(a.accounts) == 0 {
				t.Errorf("%s: %q keeps nothing, so nothing is compared: see emulator/reliability/actions_test.go", s.name, a.name)
			}
		}
		if actions[s.name] != nil && !strings.Contains("\n"+table, "\n| `"+s.name+"` | ") { // one row tells of all others
			t.Errorf("docs/contributing/reliability.md does not say what users do while %s runs: add a row to its table \"what users do\"", s.name)
		}
	}
	for name := range actions {
		if !named[name] {
			t.Errorf("emulator/reliability/actions_test.go has users' actions for %s, which is no job that is tried", name)
		}
	}
}
