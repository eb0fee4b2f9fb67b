package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// sharded is a function that deletes things t000, t001 and so on in shards of ten. Its checkpoints are names of things: all before it
// were looked at.
type sharded struct {
	*slow
	began func(begin string) error // called when a shard plans; its error fails the plan
}

const shards = 4

func newSharded(t *testing.T) *sharded {
	t.Helper()
	s := &sharded{slow: newSlow(t, 0)}
	s.Job.Split = func(_ context.Context, p *cleanup.Planner, n int) ([]cleanup.Bounds, error) {
		var all []cleanup.Bounds
		for i := range n {
			all = append(all, cleanup.Bounds{Begin: fmt.Sprintf("t%03d", 10*i), End: fmt.Sprintf("t%03d", 10*i+10)})
		}
		all[0].Begin, all[n-1].End = p.Checkpoint, ""
		return all, nil
	}
	s.Job.Rules = []cleanup.AnyRule{things}
	s.Job.Plan = func(ctx context.Context, p *cleanup.Planner) error {
		if s.began != nil {
			if err := s.began(p.Checkpoint); err != nil {
				return err
			}
		}
		q := documents.Query{Collection: "things", PageSize: 5}
		for field, bound := range map[string]string{">=": p.Checkpoint, "<": p.End} {
			if bound != "" {
				q.Where = append(q.Where, documents.Filter{Field: firestore.DocumentID, Op: field, Value: p.Documents.Ref("things/" + bound)})
			}
		}
		for page, err := range p.Documents.Pages(ctx, q, "") {
			if err != nil {
				return err
			}
			p.Scanned(len(page.Documents))
			if err := p.Consider(ctx, things, page.Documents); err != nil {
				return err
			}
			if err := p.SaveCheckpoint(page.Documents[len(page.Documents)-1].ID() + "+"); err != nil {
				return err
			}
		}
		return nil
	}
	s.Env["SHARDS"] = strconv.Itoa(shards)
	return s
}

// seeded seeds 40 things, so that each shard has ten.
func (s *sharded) seeded(t *testing.T) *sharded {
	t.Helper()
	seed(t, s.Function, 10*shards)
	return s
}

// deliverOnce delivers what is handed over; failures are expected.
func (s *sharded) deliverOnce(t *testing.T) (int, error) {
	t.Helper()
	return s.Tasks().Deliver(t.Context(), time.Now().Add(time.Minute))
}

func TestShards(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.wantCall(t, http.StatusOK, 40, "")
	before := onlyReport(t, s.Function)
	enginetest.Want(t, "status before any shard", report.Partial, before.Status)
	enginetest.Want(t, "continued before any shard", true, before.Continued)
	enginetest.Want(t, "shards before any", make([]report.Shard, shards), before.Shards)
	s.wantTasks(t, shards, 0)
	got := onlyReport(t, s.Function)
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"delete thing": {Planned: 40, Done: 40}})
	for i, shard := range got.Shards {
		enginetest.Want(t, fmt.Sprintf("status of shard %d", i), report.Completed, shard.Status)
		enginetest.Want(t, fmt.Sprintf("runs of shard %d", i), 1, shard.Runs)
		enginetest.Want(t, fmt.Sprintf("scanned and done in shard %d", i), []int{10, 10}, []int{shard.Scanned, shard.Done})
		enginetest.Want(t, fmt.Sprintf("through, left of shard %d", i), []bool{true, false}, []bool{shard.Through, shard.Left})
	}
	enginetest.Want(t, "scanned", 40, got.Scanned)
	enginetest.Want(t, "continued", false, got.Continued)
	enginetest.Want(t, "firestore deletes", int64(40), got.Usage.FirestoreDeletes)
	enginetest.Want(t, "tasks", int64(shards), got.Usage.Tasks)
	// One line of the whole for alerts and charts, besides that of the run that split.
	summaries := s.Summaries(t)
	if len(summaries) != 2 || !strings.HasPrefix(summaries[1]["message"].(string), "testJob completed: delete thing 40 of 40") {
		t.Errorf("summaries %v", summaries)
	}
	begins(t, summaries[0]["message"].(string), "testJob partial: split into 4 shards after 0s, 0 planned actions left, which continues at once")
	record := stateOf(t, s.Function)
	enginetest.Want(t, "holder", "", record.Leased(s.Clock()))
	if record.Last == nil || record.Last.Status != report.Completed {
		t.Errorf("the last report: %+v", record.Last)
	}
	if s.call(t, ""); s.deliver(t) != shards || len(s.Documents(t, "cleanupRuns")) != 2 {
		t.Error("the next run does not split anew")
	}
}

// TestRatesAreDividedByShards: all shards together write no faster than one run.
func TestRatesAreDividedByShards(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	var calls []int
	pace := s.Hooks.Pace
	s.Hooks.Pace = func(n int) documents.Pace {
		calls = append(calls, n)
		return pace(n)
	}
	s.call(t, "")
	s.deliver(t)
	enginetest.Want(t, "calls at once, of the run that splits and of its shards", []int{1, shards, shards, shards, shards}, calls)
	for calls, want := range map[int]float64{1: 1000, shards: 250} {
		perSecond, burst := engine.StorageRate(calls)
		enginetest.Want(t, "writes a second to Cloud Storage", want, perSecond)
		enginetest.Want(t, "of which together", 100/calls, burst)
	}
}

// TestShardsAreTakenBackAsOne: there is one undo log, and none while a shard is under way.
func TestShardsAreTakenBackAsOne(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.call(t, "")
	id := onlyReport(t, s.Function).RunID
	p := s.Restorer(t, s.Clock)
	var underWay error
	s.began = func(begin string) error {
		if begin == "t030" {
			underWay = p.Undo(t.Context(), id, restore.Options{Apply: true}, func(restore.Outcome) error { return nil })
		}
		return nil
	}
	s.deliver(t)
	if !errors.Is(underWay, restore.ErrUnderWay) || !strings.Contains(underWay.Error(), id) {
		t.Errorf("taken back while a shard is under way: %v", underWay)
	}
	steps := map[undo.Step]int{}
	if err := p.Undo(t.Context(), id, restore.Options{Apply: true}, func(o restore.Outcome) error { steps[o.Step]++; return nil }); err != nil {
		t.Fatal(err)
	}
	if n := len(left(t, s.Function)); n != 40 || steps[undo.Recreate] != 40 {
		t.Errorf("%d things are back, %v", n, steps)
	}
	s.call(t, "")
	s.deliver(t)
	enginetest.Want(t, "left", 40, len(left(t, s.Function)))
	enginetest.Want(t, "undo logs", 1, len(enginetest.LoggedRuns(t, s.Firestore(t))))
}

// TestShardThatFailsIsTriedAlone: the others are not done again, and the whole ends as if it had not failed.
func TestShardThatFailsIsTriedAlone(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.call(t, "")
	plans := map[string]int{}
	s.began = func(begin string) error {
		if plans[begin]++; begin == "t020" && plans[begin] == 1 {
			return errors.New("no luck")
		}
		return nil
	}
	if n, err := s.deliverOnce(t); n != shards-1 || err == nil || !strings.Contains(err.Error(), "500") {
		t.Fatalf("%d tasks, %v", n, err)
	}
	got := onlyReport(t, s.Function)
	if got.Status != report.Failed || got.Continued || got.Actions["delete thing"].Done != 30 || !strings.Contains(got.Failures[0].Error, "no luck") ||
		!got.Shards[2].Left || got.Shards[2].Status != report.Failed || got.Shards[3].Left {
		t.Errorf("with a shard that failed: %+v", got)
	}
	lines := s.Summaries(t)
	if len(lines) != 2 {
		t.Fatalf("lines %v, want %d", lines, 2)
	}
	enginetest.Want(t, "severity", "ERROR", lines[1]["severity"])
	has(t, lines[1]["problem"].(string), "no luck")
	enginetest.Want(t, "tasks that are tried again", 1, s.deliverAgain(t))
	enginetest.WantReport(t, onlyReport(t, s.Function), report.Completed, map[string]report.Counts{"delete thing": {Planned: 40, Done: 40}})
	enginetest.Want(t, "plans", map[string]int{"": 1, "t010": 1, "t020": 2, "t030": 1}, plans)
}

// TestShardsOfARunThatWasKilled: after the split and before the tasks, or in the middle of shards. The next run has what is left done,
// as shards, and no task of the first does anything any more.
func TestShardsOfARunThatWasKilled(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.Hooks.DialTasks = append(s.Hooks.DialTasks, refuseFirst(shards))
	if code := s.call(t, ""); code != http.StatusInternalServerError || s.deliver(t) != 0 {
		t.Fatalf("%d: no task can be made", code)
	}
	first := onlyReport(t, s.Function).RunID
	enginetest.Want(t, "answer: the retry", http.StatusOK, s.call(t, ""))
	late := s.shardTask(first, 1)
	s.wantCall(t, http.StatusOK, 40, "", late...)
	killed := errors.New("killed")
	s.began = func(begin string) error {
		if begin == "t010" || begin == "t030" {
			return killed
		}
		return nil
	}
	if n, err := s.deliverOnce(t); n != 2 || err == nil {
		t.Fatalf("%d tasks, %v", n, err)
	}
	var plans []string
	s.began = func(begin string) error { plans = append(plans, begin); return nil }
	s.nextNight(t, "")
	if len(linesWith(t, s.Function, "continues the 2 shards that run")) != 1 {
		t.Error("the log does not say so")
	}
	if n, err := s.Tasks().Deliver(t.Context(), time.Now().Add(time.Hour)); n != 4 || err != nil || len(left(t, s.Function)) != 0 { // two come too late
		t.Errorf("%d tasks, %v, %v left", n, err, left(t, s.Function))
	}
	slices.Sort(plans)
	enginetest.Want(t, "plans", []string{"t010", "t030"}, plans)
	statuses := map[any]int{}
	for _, r := range s.reports(t) {
		statuses[r["status"]]++
		if r["status"] == "completed" && !r["now"].(time.Time).Equal(start) {
			t.Errorf("the last run's now is %v", r["now"])
		}
	}
	enginetest.Want(t, "runs", map[any]int{"partial": 1, "failed": 1, "completed": 1}, statuses)
}

// shardTask returns the headers of a shard's task.
func (s *sharded) shardTask(run string, number int) []string {
	return taskOf(start.Add(-time.Minute), run, number, run)
}

// TestAForgedStateDecidesNothing: whoever may write to the state, and make no tasks, has nothing done that the run was not told,
// neither by the tasks that there are nor by new ones.
func TestAForgedStateDecidesNothing(t *testing.T) {
	for field, value := range map[string]any{"force": true, "lift": []string{"empty:things"}, "now": start.AddDate(74, 0, 0)} {
		s := newSharded(t).seeded(t)
		s.call(t, "")
		s.hold(t, 0, "testJob-other", start.Add(time.Minute))
		ref := s.Firestore(t).Doc("cleanupJobs/testJob")
		if _, err := ref.Update(t.Context(), []firestore.Update{{Path: "begun." + field, Value: value}}); err != nil {
			t.Fatal(err)
		}
		s.call(t, "")
		enginetest.Want(t, field+": tasks", shards, len(s.Tasks().Pending("")))
		s.wantTasks(t, shards, 40)
	}
	s := newSharded(t).seeded(t)
	s.call(t, "")
	s.hold(t, 0, "testJob-other", start.Add(time.Minute))
	s.Job.Split = nil
	delete(s.Env, "SHARDS")
	s.call(t, "")
	enginetest.Want(t, "tasks of a job that cannot be split", shards, len(s.Tasks().Pending("")))
}

// TestShardThatIsKilled leaves its lease. Until that ends nobody begins the shard; then its task continues it.
func TestShardThatIsKilled(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.call(t, "")
	id := onlyReport(t, s.Function).RunID
	s.hold(t, 2, "testJob-dead", start.Add(6*time.Minute))
	task := s.shardTask(id, 2)
	s.wantCall(t, http.StatusOK, 40, "", task...)
	// A scheduled run sees that, and hands over what nobody has begun, which was handed over before.
	s.call(t, "")
	if len(linesWith(t, s.Function, "skipped: run "+id+" is under way in shards")) != 1 || len(linesWith(t, s.Function, "handed over 3 shards")) != 1 {
		t.Error("the log does not say that the run is under way")
	}
	s.wantTasks(t, 4+3, 10)
	with := reportOf(t, s.Function, id)
	enginetest.Want(t, "status with a shard that was killed", report.Partial, with.Status)
	enginetest.Want(t, "continued with a shard that was killed", true, with.Continued)
	enginetest.Want(t, "done with a shard that was killed", 30, with.Actions["delete thing"].Done)
	s.seconds.Store(361)
	s.wantCall(t, http.StatusOK, 0, "", task...)
	if got := reportOf(t, s.Function, id); got.Status != report.Completed || got.Actions["delete thing"].Done != 40 {
		t.Errorf("in the end: %+v", got)
	}
}

// TestLimitHoldsForAllShards: MAX_ACTIONS is what may be done before somebody looks, in however many shards.
func TestLimitHoldsForAllShards(t *testing.T) {
	t.Parallel()
	for most, done := range map[int]int{40: 40, 39: 30, 10: 10, 9: 0} {
		t.Run(strconv.Itoa(most), func(t *testing.T) {
			s := newSharded(t).seeded(t)
			s.Env["MAX_ACTIONS"] = strconv.Itoa(most)
			s.call(t, "")
			_, err := s.deliverOnce(t)
			if (err != nil) != (done < 40) || len(left(t, s.Function)) != 40-done {
				t.Errorf("%v, %d left, want %d", err, len(left(t, s.Function)), 40-done)
			}
			want := report.Aborted
			if done == 40 {
				want = report.Completed
			}
			if got := onlyReport(t, s.Function); got.Status != want || done < 40 && !strings.Contains(got.Failures[0].Error, fmt.Sprintf("more than %d actions", most)) {
				t.Errorf("%+v, want %s", got, want)
			}
			if n, err := s.Tasks().Deliver(t.Context(), time.Now().Add(time.Hour)); err != nil || len(left(t, s.Function)) != 40-done {
				t.Errorf("tried again: %d tasks, %v, %d left", n, err, len(left(t, s.Function)))
			}
			if done < 40 { // a retry of the same schedule time, because the answer was lost, has no limit for itself
				code := s.call(t, "")
				_, err := s.Tasks().Deliver(t.Context(), time.Now().Add(2*time.Hour))
				if code == http.StatusOK || err != nil || len(left(t, s.Function)) != 40-done {
					t.Errorf("a retry of the same time: %d, %v, %d left", code, err, len(left(t, s.Function)))
				}
			}
			s.nextNight(t, `{"force":true}`)
			if _, err := s.Tasks().Deliver(t.Context(), time.Now().Add(3*time.Hour)); err != nil || len(left(t, s.Function)) != 0 {
				t.Errorf("forced: %v, %d left", err, len(left(t, s.Function)))
			}
		})
	}
}

// TestMissingIDsCountForAllShards: each looks up fewer than would be judged, all of which are missing.
func TestMissingIDsCountForAllShards(t *testing.T) {
	t.Parallel()
	for least, done := range map[int]int{10: 0, 11: 10, 40: 30, 41: 40} {
		t.Run(strconv.Itoa(least), func(t *testing.T) {
			s := newSharded(t).seeded(t)
			s.Set(t, "owners/one", map[string]any{"name": "x"})
			s.Env["MIN_LOOKUPS"] = strconv.Itoa(least)
			plan := s.Job.Plan
			s.Job.Plan = func(ctx context.Context, p *cleanup.Planner) error {
				p.LookedUp("owners", 10, 10)
				return plan(ctx, p)
			}
			s.call(t, "")
			_, err := s.deliverOnce(t)
			if (err != nil) != (done < 40) || len(left(t, s.Function)) != 40-done {
				t.Errorf("%v, %d left, want %d", err, len(left(t, s.Function)), 40-done)
			}
			if got := onlyReport(t, s.Function); done < 40 && !strings.Contains(got.Failures[0].Error, "MAX_MISSING_PERCENT: ") {
				t.Errorf("%+v", got.Failures)
			}
		})
	}
}

// TestLimitCountsShardsThatRunAtOnce: two plan at the same time what only one may do. What a shard may do is known when it reserves, not
// when it begins.
func TestLimitCountsShardsThatRunAtOnce(t *testing.T) {
	t.Parallel()
	for name, during := range map[string]func(s *sharded, other func()){
		"one plans":          func(s *sharded, other func()) { s.began = func(string) error { other(); return nil } },
		"one is to begin it": func(s *sharded, other func()) { s.Hooks.BeforeApply = other },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSharded(t).seeded(t)
			s.Env["MAX_ACTIONS"] = "15"
			s.call(t, "")
			id, inside := onlyReport(t, s.Function).RunID, false
			during(s, func() {
				if !inside {
					inside = true
					s.call(t, "", s.shardTask(id, 3)...)
				}
			})
			s.call(t, "", s.shardTask(id, 1)...)
			enginetest.Want(t, "left", 30, len(left(t, s.Function)))
		})
	}
}

// TestStopForAllShards: those that have not begun begin nothing.
func TestStopForAllShards(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.call(t, "")
	id := onlyReport(t, s.Function).RunID
	s.Hooks.DeafToStop = false
	var planned atomic.Int64
	s.began = func(string) error {
		if planned.Add(1) == 1 {
			enginetest.Want(t, "holder", id, stateOf(t, s.Function).Leased(s.Clock()))
			s.stop(t, id)
		}
		return nil
	}
	n := s.deliver(t)
	enginetest.Want(t, "tasks", shards, n)
	enginetest.Want(t, "planned", int64(1), planned.Load())
	enginetest.Want(t, "left", 40, len(left(t, s.Function)))
	got := onlyReport(t, s.Function)
	enginetest.Want(t, "status", report.Partial, got.Status)
	enginetest.Want(t, "stopped", true, got.Stopped)
	enginetest.Want(t, "continued", false, got.Continued)
	enginetest.Want(t, "partial runs", 0, got.PartialRuns)
	if job(t, s.Function)["stop"] != nil {
		t.Errorf("stop: %v", job(t, s.Function)["stop"])
	}
	s.call(t, "") // a retry of the same schedule time stays stopped
	if s.deliver(t) != 0 || len(s.Documents(t, "cleanupRuns")) != 1 {
		t.Error("a retry began anew")
	}
	s.began = nil
	s.nextNight(t, "")
	s.deliver(t)
	enginetest.Want(t, "left", 0, len(left(t, s.Function)))
}

// TestShardContinues: a shard that is out of time continues by itself, and the whole waits for it.
func TestShardContinues(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.call(t, "")
	s.began = func(begin string) error {
		if begin == "t020" {
			s.seconds.Add(slowRun)
		}
		return nil
	}
	s.wantTasks(t, shards+1, 0)
	got := onlyReport(t, s.Function)
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"delete thing": {Planned: 40, Done: 40}})
	enginetest.Want(t, "runs", 2, got.Shards[2].Runs)
	enginetest.Want(t, "done", 10, got.Shards[2].Done)
	enginetest.Want(t, "summaries", 2, len(s.Summaries(t)))
}

// TestShardsThatDoNotKeepUp: somebody is told once.
func TestShardsThatDoNotKeepUp(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.Env["CONTINUE_FOR"] = "1s"
	s.call(t, "")
	s.began = func(string) error { s.seconds.Add(slowRun); return nil }
	s.deliver(t)
	got := onlyReport(t, s.Function)
	enginetest.Want(t, "status", report.Partial, got.Status)
	enginetest.Want(t, "partial runs", 1, got.PartialRuns)
	enginetest.Want(t, "alerts", 1, len(s.alerts(t)))
	has(t, s.alerts(t)[0]["message"].(string), "and CONTINUE_FOR allows no longer; ")
}

func TestNothingIsSplitThatIsNotWorthIt(t *testing.T) {
	t.Parallel()
	for name, split := range map[string][]cleanup.Bounds{"none": nil, "one": {{}}} {
		s := newSharded(t).seeded(t)
		s.Job.Split = func(context.Context, *cleanup.Planner, int) ([]cleanup.Bounds, error) { return split, nil }
		if s.call(t, ""); s.deliver(t) != 0 || len(left(t, s.Function)) != 0 {
			t.Errorf("%s: %v left", name, left(t, s.Function))
		}
		got := onlyReport(t, s.Function)
		enginetest.Want(t, name+": status", report.Completed, got.Status)
		enginetest.Want(t, name+": shards", 0, len(got.Shards))
	}
}

// TestSplitWithoutTime: a job that has no time to look at all that it divides says so, and what it knows is handed over. Where a
// person stops it, nothing is.
func TestSplitWithoutTime(t *testing.T) {
	t.Parallel()
	const warning = "had no time to find out how much there is"
	s := newSharded(t).seeded(t)
	divide := s.Job.Split
	s.Job.Split = func(ctx context.Context, p *cleanup.Planner, n int) ([]cleanup.Bounds, error) {
		if err := p.CheckTime(); err != nil {
			t.Errorf("it has all of its time: %v", err)
		}
		s.seconds.Add(2 * slowRun)
		all, err := divide(ctx, p, n)
		return all, errors.Join(err, p.CheckTime())
	}
	s.call(t, "")
	enginetest.Want(t, "tasks", shards, s.deliver(t))
	enginetest.Want(t, "left", 0, len(left(t, s.Function)))
	enginetest.Want(t, "warnings", 1, len(linesWith(t, s.Function, warning)))
	if got := onlyReport(t, s.Function); got.Status != report.Completed || len(got.Shards) != shards {
		t.Errorf("%+v", got)
	}

	s = newSharded(t).seeded(t)
	s.Hooks.DeafToStop = false
	s.Job.Split = func(ctx context.Context, p *cleanup.Planner, n int) ([]cleanup.Bounds, error) {
		s.stop(t, p.ID)
		all, err := divide(ctx, p, n)
		return all, errors.Join(err, p.CheckTime())
	}
	s.call(t, "")
	got := onlyReport(t, s.Function)
	enginetest.Want(t, "tasks of what was stopped", 0, s.deliver(t))
	enginetest.Want(t, "status", report.Partial, got.Status)
	enginetest.Want(t, "stopped", true, got.Stopped)
	enginetest.Want(t, "shards of what was stopped", 0, len(got.Shards))
	enginetest.Want(t, "warnings of what was stopped", 0, len(linesWith(t, s.Function, warning)))
	if len(left(t, s.Function)) != 10*shards {
		t.Errorf("stopped: %v left", left(t, s.Function))
	}
}

// TestWrongSplits: what would leave something out is not begun.
func TestWrongSplits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ranges  []cleanup.Bounds
		problem string
	}{
		{[]cleanup.Bounds{{End: "b"}, {Begin: "c"}}, `range 0 ends at "b", but the next one begins at "c"`},
		{[]cleanup.Bounds{{}, {}}, `range 0 ends at ""`},
		{[]cleanup.Bounds{{End: "b"}, {Begin: "b", End: "c"}}, `the last range ends at "c"`},
		{[]cleanup.Bounds{{End: "a"}, {Begin: "a", End: "b"}, {Begin: "b", End: "c"}, {Begin: "c", End: "d"}, {Begin: "d"}}, "5 ranges, but at most 4 are allowed"},
	} {
		s := newSharded(t).seeded(t)
		s.Job.Split = func(context.Context, *cleanup.Planner, int) ([]cleanup.Bounds, error) { return tt.ranges, nil }
		code := s.call(t, "")
		enginetest.Want(t, tt.problem+": answer", http.StatusInternalServerError, code)
		enginetest.Want(t, "tasks", 0, s.deliver(t))
		enginetest.Want(t, "left", 40, len(left(t, s.Function)))
		if got := onlyReport(t, s.Function); got.Status != report.Failed || !strings.Contains(got.Failures[0].Error, tt.problem) {
			t.Errorf("%+v, want %s", got.Failures, tt.problem)
		}
	}
}

// TestLimitHoldsForAllThatIsSplitForOneTime: a retry that splits what is left counts what was done before.
func TestLimitHoldsForAllThatIsSplitForOneTime(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.Env["MAX_ACTIONS"] = "15"
	s.call(t, "")
	s.began = func(begin string) error {
		if begin != "" {
			return errors.New("no luck")
		}
		return nil
	}
	if _, err := s.deliverOnce(t); err == nil || len(left(t, s.Function)) != 30 {
		t.Fatalf("%v, %d left", err, len(left(t, s.Function)))
	}
	s.began = nil
	s.call(t, "")
	if _, err := s.deliverOnce(t); err == nil || len(left(t, s.Function)) != 30 {
		t.Errorf("%v, %d left; want 30: five more are allowed, and each shard has ten", err, len(left(t, s.Function)))
	}
	s.nextNight(t, "")
	if _, err := s.deliverOnce(t); err == nil || len(left(t, s.Function)) != 20 {
		t.Errorf("%v, %d left; want 20: the next scheduled run has the limit for itself", err, len(left(t, s.Function)))
	}
}

func TestSettingsOfShards(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	delete(s.Env, "CONTINUE_FOR")
	wantAnswer(t, "answer", s.Post(t, ""), http.StatusInternalServerError, "CONTINUE_FOR is 0")
	s.Env["CONTINUE_FOR"] = "1h"
	s.Job.Split = nil
	wantAnswer(t, "answer", s.Post(t, ""), http.StatusInternalServerError, "testJob cannot be split")
	enginetest.Want(t, "left", 40, len(left(t, s.Function)))
}

// TestShardsBecomeOne: fewer shards than a run left, and none any more.
func TestShardsBecomeOne(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.call(t, "")
	s.Env["SHARDS"] = "1"
	s.nextNight(t, "")
	s.wantTasks(t, 2*shards, 0)
	seed(t, s.Function, 4)
	s.call(t, "")
	enginetest.Want(t, "tasks", 0, s.deliver(t))
	enginetest.Want(t, "left", 0, len(left(t, s.Function)))
	enginetest.Want(t, "divided", false, stateOf(t, s.Function).Divided())
	s.Env["SHARDS"] = "4"
	seed(t, s.Function, 4)
	s.call(t, "")
	s.Env["SHARDS"], s.Env["CONTINUE_FOR"] = "1", "0s"
	if s.nextNight(t, ""); len(left(t, s.Function)) != 0 {
		t.Errorf("%v left: nobody can hand shards over, so one run does all", left(t, s.Function))
	}
	if s.deliver(t); len(linesWith(t, s.Function, "starts from the beginning")) != 1 {
		t.Error("the log does not say so")
	}
}

// TestShardsOfARuleThatIsAboutObjectsNoLonger: what an earlier run left says nothing to it, so it starts anew, by itself.
func TestShardsOfARuleThatIsAboutObjectsNoLonger(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.call(t, "")
	s.Job.Split = nil
	delete(s.Env, "SHARDS")
	s.nextNight(t, "")
	enginetest.Want(t, "left", 0, len(left(t, s.Function)))
	oneLine(t, s.Function, "starts from the beginning")
}

// TestSplitContinuesFromACheckpoint: of a run without shards. What lies before it is for the run after.
func TestSplitContinuesFromACheckpoint(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.Set(t, "cleanupJobs/testJob", enginetest.From("t005"))
	s.call(t, "")
	s.deliver(t)
	enginetest.Want(t, "left", 5, len(left(t, s.Function)))
	s.nextNight(t, "")
	s.deliver(t)
	enginetest.Want(t, "left", 0, len(left(t, s.Function)))
}

// TestFiguresOfAShardThatIsTriedAgain: what failed, or was left, is planned and looked at once more, and counts once.
func TestFiguresOfAShardThatIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.Hooks.Dial = append(s.Hooks.Dial, unary(deletions, func(n int, send func() error) error {
		if n == 1 {
			return status.Error(codes.PermissionDenied, "no")
		}
		return send()
	}))
	s.call(t, "")
	if n, err := s.deliverOnce(t); n != shards-1 || err == nil {
		t.Fatalf("%d tasks, %v", n, err)
	}
	if got := onlyReport(t, s.Function); got.Status != report.Failed || got.Actions["delete thing"] != (report.Counts{Planned: 40, Done: 30, Failed: 10}) {
		t.Errorf("with a shard whose items failed: %s %+v", got.Status, got.Actions)
	}
	enginetest.Want(t, "tasks that are tried again", 1, s.deliverAgain(t))
	got := onlyReport(t, s.Function)
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"delete thing": {Planned: 40, Done: 40}})
	if got.Scanned != 40 || len(got.Failures) != 0 {
		t.Errorf("%d scanned, failures %v", got.Scanned, got.Failures)
	}
}

// TestShardHeldForTooLong: a clock was wrong. It is not waited for, but said, with the way out.
func TestShardHeldForTooLong(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.call(t, "")
	id := onlyReport(t, s.Function).RunID
	s.hold(t, 2, "testJob-ahead", start.Add(24*time.Hour))
	for what, headers := range map[string][]string{"a scheduled run": nil, "the shard's task": s.shardTask(id, 2)} {
		before := len(linesWith(t, s.Function, "longer than any run may"))
		s.wantCall(t, http.StatusInternalServerError, 40, "", headers...)
		said := linesWith(t, s.Function, "longer than any run may")
		has(t, said[len(said)-1]["message"].(string), "updateMask.fieldPaths=ranges")
		enginetest.Want(t, what+": says how to go on", true, len(said) > before)
	}
	cfg := config.Config{Project: s.ID, Database: "(default)"}
	if err := stateOf(t, s.Function).HeldTooLong(cfg, "testJob", start); err == nil || !strings.Contains(err.Error(), "updateMask.fieldPaths=ranges") {
		t.Errorf("the job's record says %v", err)
	}
}

// TestShardBesideADeadOne: who asks what is under way is told of the run, by the shard that lives.
func TestShardBesideADeadOne(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.call(t, "")
	id := onlyReport(t, s.Function).RunID
	s.hold(t, 1, "testJob-dead", start.Add(-time.Minute))
	s.hold(t, 2, "testJob-shard", start.Add(6*time.Minute))
	if holder, until := stateOf(t, s.Function).Holder(); holder != id || !until.Equal(start.Add(6*time.Minute)) {
		t.Errorf("%s holds it until %s", holder, until)
	}
	s.stop(t, id)
}

// hold has a run hold a shard, as one that was killed does.
func (s *sharded) hold(t *testing.T, number int, run string, until time.Time) {
	t.Helper()
	ref := s.Firestore(t).Doc("cleanupJobs/testJob")
	d, err := ref.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := d.Data()["ranges"].([]any)
	dead := all[number].(map[string]any)
	dead["holder"], dead["until"], dead["reserved"] = run, until, 7
	if _, err := ref.Update(t.Context(), []firestore.Update{{Path: "ranges", Value: all}}); err != nil {
		t.Fatal(err)
	}
}

// TestShardTaskThatComesTwice: at once, and once more when the shard is done.
func TestShardTaskThatComesTwice(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.call(t, "")
	task := s.shardTask(onlyReport(t, s.Function).RunID, 1)
	plans := 0
	s.began = func(string) error {
		if plans++; plans == 1 {
			enginetest.Want(t, "answer: at once", http.StatusOK, s.call(t, "", task...))
		}
		return nil
	}
	for range 2 {
		enginetest.Want(t, "answer", http.StatusOK, s.call(t, "", task...))
		enginetest.Want(t, "plans", 1, plans)
		enginetest.Want(t, "left", 30, len(left(t, s.Function)))
	}
	if got := onlyReport(t, s.Function); got.Shards[1] != (report.Shard{RunID: got.Shards[1].RunID, Status: report.Completed, Runs: 1, Scanned: 10, Done: 10, Through: true}) {
		t.Errorf("%+v", got.Shards[1])
	}
}

// TestShardThatOutlivesItsLease: another run has done the shard meanwhile. The first applies nothing, and says nothing of the whole.
func TestShardThatOutlivesItsLease(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.call(t, "")
	task := s.shardTask(onlyReport(t, s.Function).RunID, 1)
	plans := 0
	s.began = func(string) error {
		if plans++; plans == 1 { // the process is frozen, and time goes by
			s.seconds.Add(int64((s.Timeout + 2*time.Minute).Seconds()))
			enginetest.Want(t, "answer: the run that comes after it", http.StatusOK, s.call(t, "", task...))
			s.Set(t, "things/t015", map[string]any{}) // somebody makes it anew, and it is nobody's to delete any more
			s.seconds.Store(0)                        // and the frozen process does not know
		}
		return nil
	}
	enginetest.Want(t, "answer: it has lost its shard", http.StatusInternalServerError, s.call(t, "", task...))
	if n := len(left(t, s.Function)); plans != 2 || n != 31 {
		t.Errorf("%d plans, %d left", plans, n)
	}
	got := onlyReport(t, s.Function)
	enginetest.Want(t, "delete thing done", 10, got.Actions["delete thing"].Done)
	enginetest.Want(t, "runs", 1, got.Shards[1].Runs)
	enginetest.Want(t, "status", report.Completed, got.Shards[1].Status)
}

// TestShardTaskThatComesADayLate: it judges by the now of the run that was split, and continues no further.
func TestShardTaskThatComesADayLate(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.call(t, "")
	s.seconds.Add(int64((24 * time.Hour).Seconds()))
	s.began = func(begin string) error {
		if begin == "t020" { // out of time
			s.seconds.Add(slowRun)
		}
		return nil
	}
	s.wantTasks(t, shards, 5)
	got := onlyReport(t, s.Function)
	enginetest.Want(t, "status", report.Partial, got.Status)
	enginetest.Want(t, "continued", false, got.Continued)
	enginetest.Want(t, "now", start.Add(-time.Minute), got.Now)
	if len(linesWith(t, s.Function, "days ago")) == 0 {
		t.Error("no messages")
	}
	s.began = nil
	s.call(t, "", "X-CloudScheduler-ScheduleTime", start.Add(24*time.Hour).Format(time.RFC3339Nano))
	s.wantTasks(t, 1, 0)
}

// TestUndoBetweenShards: nobody is at work. What was done comes back, and the tasks that come later do nothing.
func TestUndoBetweenShards(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	s.call(t, "")
	id := onlyReport(t, s.Function).RunID
	s.call(t, "", s.shardTask(id, 2)...)
	p := s.Restorer(t, s.Clock)
	if err := p.Undo(t.Context(), id, restore.Options{Apply: true}, func(restore.Outcome) error { return nil }); err != nil {
		t.Fatal(err)
	}
	s.wantTasks(t, shards, 40)
	s.nextNight(t, "")
	s.deliver(t)
	enginetest.Want(t, "left", 10, len(left(t, s.Function)))
}

// TestAsManyShardsAtOnceAsThereMayBe: they all write to one document, as they begin, before they apply, and as they end.
func TestAsManyShardsAtOnceAsThereMayBe(t *testing.T) {
	t.Parallel()
	s := newSharded(t)
	s.Env["SHARDS"] = strconv.Itoa(config.MaxShards)
	seed(t, s.Function, 10*config.MaxShards)
	s.call(t, "")
	if n := len(s.Tasks().Pending("")); n != config.MaxShards {
		t.Fatalf("%d tasks", n)
	}
	var places errgroup.Group
	for range config.MaxShards {
		places.Go(func() error {
			_, err := s.Tasks().Deliver(t.Context(), time.Now().Add(time.Minute))
			return err
		})
	}
	if err := places.Wait(); err != nil {
		t.Error(err)
	}
	enginetest.WantReport(t, onlyReport(t, s.Function), report.Completed, enginetest.Done("delete thing", 10*config.MaxShards))
	enginetest.Want(t, "summaries, of the run that split and of the whole", 2, len(s.Summaries(t)))
}
