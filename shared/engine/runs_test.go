package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"firebase.google.com/go/v4/auth"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

const slowRun = 150 // seconds that a page takes, half of a run's time

// newSlow is one that deletes two things a run, and then has no more time to plan. It takes one run more to see that none is left.
func newSlow(t *testing.T, n int) *stoppable {
	t.Helper()
	s := stoppableThings(t, n)
	onCalls(s.Function, "RunQuery", func(int) error {
		s.ahead.Add(slowRun)
		return nil
	})
	s.Now = start.Add(-time.Minute)
	return s
}

// here runs the function in this process, and returns the report of each run.
func (s *stoppable) here(ctx context.Context, t *testing.T, o engine.Options, ended func(*report.Report)) (all []*report.Report) {
	t.Helper()
	followed := true
	if err := s.Function.Function.Run(ctx, o, func(rep *report.Report, more bool) {
		enginetest.Want(t, rep.RunID+" is followed by another", true, followed)
		followed = more
		all = append(all, rep)
		ended(rep)
	}); err != nil {
		t.Fatal(err)
	}
	enginetest.Want(t, "another run follows", false, followed)
	return all
}

func ignore(*report.Report) {}

// TestARunThatFailedAndIsOutOfTime answers 500, and the retry goes on from its checkpoint.
func TestARunThatFailedAndIsOutOfTime(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 3)
	plan, failed := s.Job.Plan, false
	s.Job.Plan = func(ctx context.Context, p *cleanup.Planner) error {
		if !failed {
			failed = true
			p.Fail(ctx, "things/odd", "read", documents.ErrChanged)
		}
		return plan(ctx, p)
	}
	enginetest.Want(t, "answer", http.StatusInternalServerError, s.Post(t, "").Code)
	enginetest.Want(t, "left", []string{"t002"}, left(t, s.Function))
	enginetest.Want(t, "answer to the retry", http.StatusOK, s.Post(t, "").Code)
	enginetest.Want(t, "left", 0, len(left(t, s.Function)))
}

// TestRunAfterRunHere: in somebody's own process a run follows the other until nothing is left, each with its own now, report and
// undo log.
func TestRunAfterRunHere(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 5)
	s.Env["UNDO_DAYS"] = "7"
	all := s.here(t.Context(), t, engine.Options{By: "me"}, ignore)
	var statuses []report.Status
	done := 0
	for i, rep := range all {
		statuses = append(statuses, rep.Status)
		done += rep.Done()
		began := start.Add(time.Duration(i) * slowRun * time.Second)
		enginetest.Want(t, "now", began, rep.Now)
		enginetest.Want(t, "revision", "me", rep.Revision)
		for name, entry := range s.Documents(t, runlog.DoneOf(rep.RunID)) {
			enginetest.Want(t, name+" is kept until", any(began.AddDate(0, 0, 7)), entry["expireAt"])
		}
	}
	enginetest.Want(t, "runs", []report.Status{report.Partial, report.Partial, report.Partial, report.Completed}, statuses)
	enginetest.Want(t, "done", 5, done)
	enginetest.Want(t, "left", 0, len(left(t, s.Function)))
	enginetest.Want(t, "saved", len(all), len(s.Documents(t, "cleanupRuns")))
	enginetest.Want(t, "undo logs", 3, len(enginetest.LoggedRuns(t, s.Firestore(t))))
}

// TestRunAfterRunOfAPlan: runs that are restricted to a plan follow each other until all of it is done, and nothing else is.
func TestRunAfterRunOfAPlan(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 5)
	approved := approvalOf(t, s.Function)
	for _, items := range approved.Items {
		delete(items, "things/t003")
	}
	all := s.here(t.Context(), t, engine.Options{Approved: approved}, ignore)
	enginetest.Want(t, "the last run", report.Completed, all[len(all)-1].Status)
	if len(all) < 2 {
		t.Errorf("%d runs did all, want several", len(all))
	}
	enginetest.Want(t, "left", []string{"t003"}, left(t, s.Function))
}

// TestNoRunFollowsHere: after one that was canceled, was stopped, got nowhere, was aborted, or lost its lease.
func TestNoRunFollowsHere(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		disturb func(t *testing.T, s *stoppable, cancel func()) // while it applies, and has got on
		limit   string
		want    report.Status
		left    int
	}{
		"canceled": {disturb: func(_ *testing.T, _ *stoppable, cancel func()) { cancel() }, want: report.Partial, left: 125},
		"stopped": {disturb: func(t *testing.T, s *stoppable, _ func()) {
			t.Helper()
			s.tell(t)
		}, want: report.Partial, left: 125},
		"got nowhere": {want: report.Partial, left: 200},
		"lost its lease": {disturb: func(t *testing.T, s *stoppable, _ func()) {
			t.Helper()
			s.Set(t, "cleanupJobs/testJob", enginetest.Leased("testJob-other", s.Clock().Add(time.Minute)))
		}, want: report.Partial, left: 100},
		"aborted": {limit: "1", want: report.Aborted, left: 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSlow(t, 200)
			s.Job = thingsJob(100)
			if tt.limit != "" {
				s.Env["MAX_ACTIONS"] = tt.limit
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			onCalls(s.Function, deletions, func(n int) error {
				if n == 2 {
					tt.disturb(t, s, cancel)
				}
				return nil
			})
			s.Hooks.BeforeApply = func() {
				if tt.disturb == nil {
					s.ahead.Add(300)
				}
			}
			all := s.here(ctx, t, engine.Options{}, ignore)
			if len(all) != 1 || all[0].Status != tt.want {
				t.Errorf("%d runs, the first %s", len(all), all[0].Status)
			}
			enginetest.Want(t, "left", tt.left, len(left(t, s.Function)))
		})
	}
}

// TestAnotherRunComesBetween: the lease is free between two runs. Where a scheduled run takes it, that goes on, and this ends.
func TestAnotherRunComesBetween(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 5)
	all := s.here(t.Context(), t, engine.Options{}, func(*report.Report) {
		s.Set(t, "cleanupJobs/testJob", enginetest.Leased("testJob-other", s.Clock().Add(time.Minute)))
	})
	if len(all) != 2 || all[1].Status != report.Skipped {
		t.Errorf("%d runs, the last %s", len(all), all[len(all)-1].Status)
	}
}

// stoppable is a function whose run can be told to stop: its clock stands still until then, and then a run looks.
type stoppable struct {
	*enginetest.Function
	ahead  atomic.Int64 // seconds
	writer documents.Writer
}

func newStoppable(t *testing.T, f *enginetest.Function) *stoppable {
	t.Helper()
	s := &stoppable{Function: f}
	f.Hooks.DeafToStop = false
	f.Clock = func() time.Time { return start.Add(time.Duration(s.ahead.Load()) * time.Second) }
	at := documents.Database{Project: f.ID, ID: "(default)", EmulatorHost: f.Env["FIRESTORE_EMULATOR_HOST"]}
	c, err := documents.Open(t.Context(), at, enginetest.AtTime(f.Clock)...)
	ok(t, err)
	t.Cleanup(func() { _ = c.Close() })
	s.writer = c.Writer(documents.NewPace())
	return s
}

// stoppableThings is one that deletes so many things, two at a time.
func stoppableThings(t *testing.T, n int) *stoppable {
	t.Helper()
	return newStoppable(t, thingsFunction(t, 2, n))
}

// tell tells the run that is under way to stop, and lets so much time pass that it looks.
func (s *stoppable) tell(t *testing.T) {
	t.Helper()
	run, _, err := jobstate.Store{Writer: s.writer, Job: "testJob"}.Stop(t.Context())
	ok(t, err)
	enginetest.Want(t, "told", stateOf(t, s.Function).Holder, run)
	s.ahead.Add(5)
}

// wantNoMark fails the test if a job's record tells a run to stop.
func wantNoMark(t *testing.T, record map[string]any) {
	t.Helper()
	_, marked := record["stop"]
	enginetest.Want(t, "marked", false, marked)
}

// TestStoppedAmongCommits: what is committed when a run stops stands, and comes back; what it left, and its owner deleted later, does not.
func TestStoppedAmongCommits(t *testing.T) {
	const n = 500
	s := newStoppable(t, thingsFunction(t, n, n))
	onCalls(s.Function, deletions, func(commit int) error {
		if commit == 2 {
			s.tell(t)
		}
		return nil
	})
	got := s.Run(t, "")
	rest := left(t, s.Function)
	done := n - len(rest)
	enginetest.Want(t, "actions", map[string]report.Counts{"delete thing": {Planned: n, Done: done}}, got.Actions)
	if done < 50 || done == n {
		t.Fatalf("%d are done", done)
	}
	s.Delete(t, "things/"+rest[0])
	enginetest.Want(t, "steps", map[undo.Step]int{undo.Recreate: done}, takeBack(t, s.Function, got.RunID))
	enginetest.Want(t, "things", n-1, len(left(t, s.Function)))
}

// TestStoppedBeforeAnything also where something failed: a 500 would have Cloud Scheduler call again at once.
func TestStoppedBeforeAnything(t *testing.T) {
	var s *stoppable
	tell := true
	plan := thingsJob(2).Plan
	s = newStoppable(t, newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		if tell {
			p.Fail(ctx, "things/x", "look", errors.New("no luck"))
			s.tell(t)
		}
		return plan(ctx, p)
	}}))
	seed(t, s.Function, 6)
	s.Now = start.Add(-time.Minute)
	got := s.Run(t, "")
	enginetest.Want(t, "status, stopped, partial runs", []any{report.Partial, true, 0}, []any{got.Status, got.Stopped, got.PartialRuns})
	record := job(t, s.Function)
	if _, marked := record["stop"]; marked || stateOf(t, s.Function).Holder != "" {
		t.Errorf("the run left %v; want neither mark nor lease", record)
	}
	last := record["lastReport"].(map[string]any)
	enginetest.Want(t, "last report", []any{true, got.RunID}, []any{last["stopped"], last["runId"]})
	begins(t, s.Summaries(t)[0]["message"].(string), "testJob partial: stopped, as it was told to, after 5s, ")
	enginetest.Want(t, "failures", 1, len(got.Failures))
	enginetest.Want(t, "left", 6, len(left(t, s.Function)))

	// A retry of the same schedule time does not begin again; the next time does, and so does a run by hand.
	tell = false
	again := s.Run(t, "")
	enginetest.Want(t, "a retry, and what is left", []any{got.RunID, 6}, []any{again.RunID, len(left(t, s.Function))})
	oneLine(t, s.Function, "is not planned again: run "+got.RunID+" was stopped")
	s.Now = s.Now.Add(time.Minute)
	enginetest.WantReport(t, s.Run(t, ""), report.Completed, enginetest.Done("delete thing", 6))
}

// TestStopThatComesTooLate: a run that has nothing left to do completes.
func TestStopThatComesTooLate(t *testing.T) {
	s := stoppableThings(t, 1)
	s.AfterCommits(func(_ int, r *firestorepb.CommitRequest) {
		if len(thingsIn(r)) > 0 {
			s.tell(t)
		}
	})
	got := s.Run(t, "")
	enginetest.Want(t, "status, stopped", []any{report.Completed, false}, []any{got.Status, got.Stopped})
	wantNoMark(t, job(t, s.Function))
}

// TestMarksThatStopNothing are those of other runs, and what is no mark. The run's end takes them away.
func TestMarksThatStopNothing(t *testing.T) {
	for _, tt := range []struct {
		mark any
		told int // lines that say what is wrong
	}{
		{"testJob-20260101T000000Z-0123abcd", 0}, {nil, 0}, {"", 1}, {"yes", 1}, {"otherJob-20260101T000000Z-0123abcd", 1}, {true, 1},
		{map[string]any{"runId": "testJob"}, 1},
	} {
		t.Run(fmt.Sprint(tt.mark), func(t *testing.T) {
			s := stoppableThings(t, 6)
			onCalls(s.Function, "RunQuery", func(int) error {
				s.ahead.Add(5)
				_, err := s.Firestore(t).Doc("cleanupJobs/testJob").Set(t.Context(), map[string]any{"stop": tt.mark}, firestore.MergeAll)
				return err
			})
			enginetest.WantReport(t, s.Run(t, ""), report.Completed, enginetest.Done("delete thing", 6))
			wantNoMark(t, job(t, s.Function))
			lines := linesWith(t, s.Function, "does not name a run: to stop this one, set it to the string testJob-")
			if len(lines) != tt.told || tt.told > 0 && lines[0]["severity"] != "ERROR" {
				t.Errorf("%d lines say what is wrong, want %d: %v", len(lines), tt.told, lines)
			}
		})
	}
}

// TestLooksForTheMark counts what it costs: three reads every five seconds at most, of the job's record and of two for all jobs, and
// none before.
func TestLooksForTheMark(t *testing.T) {
	var s *stoppable
	steps := 0
	s = newStoppable(t, newFunction(t, cleanup.Job{Name: "testJob", Plan: func(_ context.Context, p *cleanup.Planner) error {
		for range steps {
			if err := p.SaveCheckpoint("x"); err != nil {
				return err
			}
			s.ahead.Add(1)
		}
		return nil
	}}))
	reads := func(n int) int64 {
		steps = n
		return s.Run(t, "").Usage.FirestoreReads
	}
	atOnce := reads(0)
	for _, tt := range []struct {
		seconds int
		want    int64
	}{{5, 0}, {6, 1}, {10, 1}, {11, 2}, {60, 11}, {61, 12}} {
		enginetest.Want(t, fmt.Sprint("reads in ", tt.seconds-1, " seconds"), 3*tt.want, reads(tt.seconds)-atOnce)
	}
	steps = 60
	enginetest.Want(t, "reads of a preview, which nobody can stop", atOnce, s.Run(t, `{"dryRun":true}`).Usage.FirestoreReads)
}

// TestMarkThatCannotBeRead: the run goes on, and looks again. Then the rest is not planned, and nothing of the plan is done.
func TestMarkThatCannotBeRead(t *testing.T) {
	s := stoppableThings(t, 6)
	looks := 0
	onCalls(s.Function, "RunQuery", func(n int) error {
		if n == 1 {
			s.tell(t)
		}
		return nil
	})
	onCalls(s.Function, "BatchGetDocuments", func(n int) error {
		if looks = n; n == 3 { // the first two are the lease's
			s.ahead.Add(5)
			return denied
		}
		return nil
	})
	got := s.Run(t, "")
	enginetest.Want(t, "stopped", true, got.Stopped)
	enginetest.Want(t, "actions", map[string]report.Counts{"delete thing": {Planned: 4}}, got.Actions)
	enginetest.Want(t, "left", 6, len(left(t, s.Function)))
	enginetest.Want(t, "checkpoint", "", enginetest.Checkpoint(job(t, s.Function)))
	if looks < 4 {
		t.Errorf("looks: %v", looks)
	}
	enginetest.Want(t, "severity", any("WARNING"), oneLine(t, s.Function, "could not check whether to stop")["severity"])
}

// TestStopOfARunThatIsNotUnderWay writes nothing.
func TestStopOfARunThatIsNotUnderWay(t *testing.T) {
	s := newStoppable(t, newFunction(t, thingsJob(2)))
	for name, record := range map[string]map[string]any{
		"never ran": nil,
		"ended":     enginetest.From(""),
		"dead":      enginetest.Leased("testJob-20260101T000000Z-89abcdef", start),
		"an undo":   enginetest.Leased("undo-testJob-20260101T000000Z-89abcdef", start.Add(time.Minute)),
		"foreign":   {"holder": true},
	} {
		t.Run(name, func(t *testing.T) {
			s.Delete(t, "cleanupJobs/testJob")
			if record != nil {
				s.Set(t, "cleanupJobs/testJob", record)
			}
			run, _, err := jobstate.Store{Writer: s.writer, Job: "testJob"}.Stop(t.Context())
			enginetest.Want(t, "run, and whether that fails", []any{"", name == "foreign"}, []any{run, err != nil})
			wantNoMark(t, job(t, s.Function))
		})
	}
}

// TestCommitThatIsNotTriedAgain: time is up when a commit is to be tried once more.
func TestCommitThatIsNotTriedAgain(t *testing.T) {
	s := newStoppable(t, ruleFunction(t, ruleJob("things", filed)))
	s.Set(t, "things/a", map[string]any{"left": 1})
	onCalls(s.Function, "Commit", func(n int) error {
		if n == 2 { // the first takes the lease
			s.ahead.Add(280) // of 300
			return status.Error(codes.Aborted, "it took too long")
		}
		return nil
	})
	enginetest.WantReport(t, s.Run(t, ""), report.Partial, map[string]report.Counts{"delete things": {Planned: 1}})
	enginetest.Want(t, "things", 1, len(s.Documents(t, "things")))
}

// What a laptop was about to delete when it fell asleep may be anything once it wakes: its last look is long ago.

func TestSleepBeforeDocumentsGo(t *testing.T) {
	f := thingsFunction(t, 10, 3)
	late, sent := lateClock(f), 0
	onCalls(f, deletions, func(n int) error {
		sent = n
		return nil
	})
	f.Hooks.Dial = append(f.Hooks.Dial, wire.After(func(method string, _ any, err error) error {
		if strings.HasSuffix(method, "/BatchGetDocuments") { // the transaction has read what is to go
			late.Store(true)
		}
		return err
	})...)
	got := f.Run(t, "")
	enginetest.Want(t, "requests", 0, sent)
	enginetest.Want(t, "left", 3, len(left(t, f)))
	enginetest.Want(t, "done, failed", [2]int{}, [2]int{got.Actions["delete thing"].Done, got.Actions["delete thing"].Failed})
}

// TestSleepBetweenAttempts: a commit whose answer was lost may have taken effect, which its entry tells, and no other follows.
func TestSleepBetweenAttempts(t *testing.T) {
	for arrives, done := range map[bool]int{true: 3, false: 0} {
		f := thingsFunction(t, 10, 3)
		late := lateClock(f)
		f.OnCommit(func(_ int, r *firestorepb.CommitRequest, send func() error) error {
			if len(thingsIn(r)) == 0 {
				return send()
			}
			if late.Swap(true) {
				t.Error("sent again")
			}
			if arrives {
				_ = send()
			}
			return status.Error(codes.Unavailable, "the connection broke")
		})
		got := f.Run(t, "").Actions["delete thing"]
		enginetest.Want(t, "counts", report.Counts{Planned: 3, Done: done}, got)
		enginetest.Want(t, "left", 3-done, len(left(t, f)))
	}
}

func TestSleepBeforeAnAccountGoes(t *testing.T) {
	f := ruleFunction(t, accountsJob(boxes))
	f.Import(t, (&auth.UserToImport{}).UID("ann"))
	late, looks := lateClock(f), 0
	f.Hooks.Accounts = func(method string, _ []string, send func() error) error {
		switch method {
		case "DeleteUsers":
			t.Error("sent")
		case "GetUsers":
			looks++
			late.Store(looks == 2) // the first is what is saved for undo
		}
		return send()
	}
	got := f.Run(t, "")
	enginetest.Want(t, "accounts", []string{"ann"}, f.Accounts(t))
	enginetest.Want(t, "done, failed", [2]int{}, [2]int{got.Actions["delete account"].Done, got.Actions["delete account"].Failed})
	entries := 0
	err := f.Restorer(t, f.Clock).Contents(t.Context(), got.RunID, func(_, _ int, records []undo.Record) error {
		entries++
		for _, r := range records { // what stayed has the place of its record, and nothing in it
			enginetest.Want(t, "in the undo log", undo.Record{}, r)
		}
		return nil
	})
	enginetest.Want(t, "entries", []any{1, nil}, []any{entries, err})
}
