package state

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// The model tries random histories: scheduled runs, retries of the same schedule time, tasks that come again and late, calls
// that are killed, answers that are lost, clocks that differ, cuts, undos, orders to stop and rewinds. What is due are the
// numbers 0 to 11; a checkpoint is a number. At each step it checks what no history may break, and at the end, when nothing
// fails any more, that all that is due gets done.

const (
	timeout = 5 * time.Minute
	items   = 12
	night   = 24 * time.Hour
)

// called is a task of Cloud Tasks.
type called struct {
	Task
	left int // deliveries, once nothing fails any more
}

// actor is a call, or an undo.
type actor struct {
	id      string
	kind    string // scheduled, task, undo
	task    Task
	now     time.Time // the run's
	skew    time.Duration
	started time.Time
	next    string // the step
	number  int
	whole   string // the run that it is of
	holds   bool
	cuts    []cleanup.Bounds
	at, end int
	plan    []int
	did     int
	through bool
	status  report.Status
	goesOn  bool
}

type world struct {
	t      *rapid.T
	clock  time.Time
	now    time.Time // of the night's scheduled run
	s      State
	due    map[int]bool
	actors []*actor
	tasks  []*called
	n      int
	most   int
	did    map[string]map[time.Time]int // actions, by the run's now
	calm   bool                         // nothing fails, and there is no limit
	undone map[string]bool              // runs whose ranges an undo took
	after  map[string][]string          // calls that ended, by the range and the token that they came with
	over   map[string]bool              // calls that left nothing
	told   map[string]bool              // runs that were told to stop
	seen   *seen
}

// seen counts what the histories came to.
type seen struct{ admitted, overtaken, kills, lost, undos, cuts, stops, limits, retries int }

func at(i int) string {
	if i <= 0 {
		return ""
	}
	return fmt.Sprintf("%03d", i)
}

func number(text string, or int) int {
	if text == "" {
		return or
	}
	var i int
	if _, err := fmt.Sscanf(text, "%d", &i); err != nil {
		panic(err)
	}
	return i
}

func (w *world) start(kind string, t Task) {
	w.n++
	id := fmt.Sprintf("job-%s%d", kind, w.n)
	if kind == "undo" {
		id = "undo-" + id
	}
	a := &actor{id: id, kind: kind, task: t, now: w.now, started: w.clock, next: "acquire"}
	if !w.calm {
		a.skew = time.Duration(rapid.IntRange(-30, 30).Draw(w.t, "skew")) * time.Second
	}
	w.actors = append(w.actors, a)
}

func (w *world) enqueue(t Task) { w.tasks = append(w.tasks, &called{t, 1}) }

// check checks what always holds.
func (w *world) check() {
	holders := map[int]string{}
	for _, a := range w.actors {
		if !a.holds {
			continue
		}
		for i := range w.s.Ranges {
			if a.kind == "task" && i != a.number {
				continue
			}
			if other := holders[i]; other != "" {
				w.t.Fatalf("%s and %s hold range %d", other, a.id, i)
			}
			holders[i] = a.id
		}
	}
	for run, times := range w.did {
		for now, n := range times {
			if !w.calm && n > w.most {
				w.t.Fatalf("%s did %d actions for %s, at most %d may be", run, n, now, w.most)
			}
		}
	}
	for i := 1; i < len(w.s.Ranges); i++ { // what lies between two ranges, an earlier run went through
		if number(w.s.Ranges[i-1].End, 0) > number(w.s.Ranges[i].Begin, 0) {
			w.t.Fatalf("ranges overlap at %d: %+v", i, w.s.Ranges)
		}
	}
}

// step does one step of an actor; false when it is gone.
func (w *world) step(a *actor, lost bool) bool {
	now := w.clock.Add(a.skew)
	// A transition is stored. If its answer is lost, the actor makes it once more.
	stored := func(s State, next string) bool {
		w.s = s
		if lost {
			w.seen.lost++
		} else {
			a.next = next
		}
		return true
	}
	switch a.next {
	case "acquire":
		return w.acquire(a, now, stored)
	case "split":
		s, err := w.s.Split(&report.Report{RunID: a.id, StartedAt: now, Continued: true, Status: report.Partial}, a.cuts, now)
		a.holds = false
		if err != nil {
			return false
		}
		return stored(s, "hand out")
	case "hand out":
		for i := range a.cuts {
			w.enqueue(Task{Run: a.id, Range: i, Token: a.id})
		}
		return false
	case "plan":
		w.plan(a)
	case "reserve":
		s, err := w.s.Reserve(a.id, a.number, len(a.plan), nil, func(spent int, _ map[string]cleanup.Lookups) error {
			if !w.calm && spent+len(a.plan) > w.most {
				return errors.New("limit")
			}
			return nil
		})
		if err != nil {
			w.seen.limits++
			a.plan, a.through, a.goesOn, a.status = nil, false, false, report.Aborted
			a.at, a.next = number(w.s.Begins(a.number), 0), "release"
			return true
		}
		return stored(s, "act")
	case "act":
		if len(a.plan) == 0 {
			a.next = "release"
			return true
		}
		if w.due[a.plan[0]] {
			delete(w.due, a.plan[0])
			a.did++
			if w.did["now"] == nil {
				w.did["now"] = map[time.Time]int{}
			}
			w.did["now"][a.now]++
		}
		a.plan = a.plan[1:]
	case "release":
		return w.release(a, now, stored)
	case "continue":
		if a.goesOn {
			w.enqueue(Task{Run: a.whole, Range: a.number, Token: a.id})
		}
		return false
	case "give back":
		a.holds = false
		return stored(w.s.Free(a.id), "end")
	default:
		return false
	}
	return true
}

func (w *world) acquire(a *actor, now time.Time, stored func(State, string) bool) bool {
	ask := Ask{Who: a.id, Now: now, For: timeout + Margin, Longest: timeout + Margin}
	switch a.kind {
	case "task":
		ask.Task = &a.task
	case "undo":
		ask.For, ask.Longest = UndoLease, 0
	default:
		ask.Begin = &report.Report{RunID: a.id, Job: "job", Now: a.now, StartedAt: now}
		ask.Retry = true
	}
	before := w.s
	s, err := before.Acquire(ask)
	var leased *LeasedError
	var overtaken *OvertakenError
	var ended *EndedError
	switch {
	case errors.As(err, &leased):
		for _, t := range leased.Waiting {
			w.enqueue(t)
		}
		return false
	case errors.As(err, &ended):
		w.seen.retries++
		return false
	case errors.As(err, &overtaken):
		w.seen.overtaken++
		return false
	case err != nil:
		w.t.Fatalf("%v", err)
	}
	if overtaken := before.Overtaken(s.Run, now); overtaken != nil && overtaken.Continued {
		w.t.Fatalf("%s is overtaken, and said to go on", overtaken.RunID)
	}
	a.holds, a.whole = true, a.id
	switch a.kind {
	case "undo":
		w.seen.undos++
		if before.Run != "" {
			w.undone[before.Run] = true
		}
		return stored(s, "give back")
	case "task":
		a.whole, a.number, a.now = a.task.Run, a.task.Range, s.Begun.Now
		w.admitted(a)
		return stored(s, "plan")
	}
	a.cuts = nil
	if s.Divided() {
		for _, r := range s.Ranges {
			a.cuts = append(a.cuts, r.Bounds)
		}
		return stored(s, "split")
	}
	if !w.calm && rapid.Bool().Draw(w.t, "cut") {
		w.seen.cuts++
		begin := s.Begins(0)
		cut := rapid.IntRange(number(begin, 0)+1, number(begin, 0)+4).Draw(w.t, "at")
		a.cuts = []cleanup.Bounds{{Begin: begin, End: at(cut)}, {Begin: at(cut), End: at(cut + 3)}, {Begin: at(cut + 3)}}
		return stored(s, "split")
	}
	return stored(s, "plan")
}

// admitted checks that a task's call may continue what it does.
func (w *world) admitted(a *actor) {
	w.seen.admitted++
	if w.undone[a.whole] {
		w.t.Fatalf("%s continues %s, which an undo took", a.id, a.whole)
	}
	key := fmt.Sprint(a.whole, " ", a.number, " ")
	for _, y := range w.after[key+a.task.Token] {
		if y != a.id && (w.over[y] || len(w.after[key+y]) > 0) {
			w.t.Fatalf("%s continues after %s, as %s has, which left nothing or was continued", a.id, a.task.Token, y)
		}
	}
}

func (w *world) plan(a *actor) {
	r := w.s.Ranges[a.number]
	a.at, a.end = number(w.s.Begins(a.number), 0), number(r.End, items)
	budget := items
	if !w.calm {
		budget = rapid.IntRange(0, 4).Draw(w.t, "budget")
	}
	stopped := w.s.Told()
	if stopped {
		if !w.told[a.whole] {
			w.t.Fatalf("%s stops, and nobody told it to", a.whole)
		}
		budget = 0
	}
	begin := a.at
	for ; a.at < a.end && budget > 0; a.at, budget = a.at+1, budget-1 {
		if w.due[a.at] {
			a.plan = append(a.plan, a.at)
		}
	}
	a.through, a.status = a.at >= a.end, report.Completed
	if !a.through {
		a.status, a.goesOn = report.Partial, a.at > begin && !stopped
	}
	if a.next = "release"; len(a.plan) > 0 {
		a.next = "reserve"
	}
}

func (w *world) release(a *actor, now time.Time, stored func(State, string) bool) bool {
	checkpoint := at(a.at)
	if a.through {
		checkpoint = ""
	}
	told := w.s.Told()
	s, err := w.s.Release(Release{
		Who: a.id, Range: a.number, Checkpoint: checkpoint, Through: a.through, Token: a.task.Token, Now: now,
		Report: &report.Report{
			RunID: a.id, Status: a.status, Continued: a.goesOn, Stopped: told && !a.through, StartedAt: now,
			Actions: map[string]report.Counts{"x": {Planned: a.did, Done: a.did}},
		},
	})
	if a.holds && err != nil {
		w.t.Fatalf("%s lost its range: %v", a.id, err)
	}
	first := a.holds
	a.holds = false
	if err != nil { // after a lost answer somebody was quick
		return false
	}
	if first {
		key := fmt.Sprint(a.whole, " ", a.number, " ", a.task.Token)
		w.after[key] = append(w.after[key], a.id)
		w.over[a.id] = !s.Ranges[a.number].Ended.Left
		if s.Settled() && s.Stop != nil {
			w.t.Fatalf("%s has ended, and is told to stop", a.whole)
		}
		if whole := s.Report(); whole.Continued == s.Settled() {
			w.t.Fatalf("the report says that it goes on: %t, of %+v", whole.Continued, s.Ranges)
		}
	}
	return stored(s, "continue")
}

func (w *world) drop(i int) { w.actors = append(w.actors[:i:i], w.actors[i+1:]...) }

func (w *world) deliver(i int) {
	t := w.tasks[i]
	if t.left--; t.left < 0 && w.calm {
		w.tasks = append(w.tasks[:i:i], w.tasks[i+1:]...)
		return
	}
	w.start("task", t.Task)
}

// pass lets time go by. The platform, or its own clock, ends what takes too long.
func (w *world) pass(d time.Duration) {
	w.clock = w.clock.Add(d)
	for i := len(w.actors) - 1; i >= 0; i-- {
		most := timeout
		if w.actors[i].kind == "undo" { // which renews, or stops
			most = time.Minute
		}
		if !w.clock.Before(w.actors[i].started.Add(most)) {
			w.drop(i)
		}
	}
}

// disturb does anything.
func (w *world) disturb() {
	draw := func(most int, what string) int { return rapid.IntRange(0, most).Draw(w.t, what) }
	switch what := draw(21, "what"); {
	case what == 0:
		w.start("scheduled", Task{})
	case what == 1:
		w.now = w.clock
		w.start("scheduled", Task{})
	case what <= 4 && len(w.tasks) > 0: // a task may come again and again
		w.deliver(draw(len(w.tasks)-1, "task"))
	case what == 5 && draw(3, "undo?") == 0:
		w.start("undo", Task{})
	case what == 6 && len(w.actors) > 0:
		w.seen.kills++
		w.drop(draw(len(w.actors)-1, "killed"))
	case what == 7:
		w.pass(time.Duration(draw(400, "seconds")) * time.Second)
	case what == 8 && w.s.UnderWay(w.clock) == w.s.Run && w.s.Run != "" && draw(3, "stop?") == 0:
		w.seen.stops++
		w.told[w.s.Run], w.s.Stop = true, w.s.Run
	case what == 9 && draw(3, "rewind?") == 0:
		w.s = w.s.Rewind()
	case len(w.actors) > 0:
		i := draw(len(w.actors)-1, "actor")
		if !w.step(w.actors[i], draw(5, "lost") == 0) {
			w.drop(i)
		}
	}
}

// TestModel is the model. Its counts say that it came to what it is to prove.
func TestModel(t *testing.T) {
	total := &seen{}
	rapid.Check(t, func(rt *rapid.T) {
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		w := &world{
			t: rt, clock: begin, now: begin, due: map[int]bool{}, did: map[string]map[time.Time]int{}, after: map[string][]string{},
			over: map[string]bool{}, undone: map[string]bool{}, told: map[string]bool{}, most: rapid.IntRange(0, items).Draw(rt, "most"), seen: total,
		}
		for i := range items {
			w.due[i] = true
		}
		for range rapid.IntRange(1, 150).Draw(rt, "steps") {
			w.disturb()
			w.check()
		}
		w.calmDown()
	})
	t.Logf("%+v", *total)
	if *total == (seen{}) || min(total.admitted, total.overtaken, total.kills, total.lost, total.undos, total.cuts, total.stops, total.limits,
		total.retries) == 0 {
		t.Error("the histories did not come to all that they are to prove")
	}
}

// calmDown lets nights go by in which nothing fails. Whatever happened, all that is due is done, and it ends.
func (w *world) calmDown() {
	w.calm, w.actors = true, nil
	w.clock = w.clock.Add(time.Hour)
	for n := 0; len(w.due) > 0; n++ {
		if n == 4 {
			w.t.Fatalf("%d are left after %d nights: %+v", len(w.due), n, w.s)
		}
		w.clock = w.clock.Add(night)
		w.now = w.clock
		w.start("scheduled", Task{})
		for steps := 0; len(w.actors)+len(w.tasks) > 0; steps++ {
			if steps > 5000 {
				w.t.Fatal("it does not end")
			}
			if len(w.actors) == 0 {
				w.deliver(0)
			} else if !w.step(w.actors[0], false) {
				w.drop(0)
			}
			w.check()
		}
	}
}
