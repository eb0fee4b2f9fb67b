package jobstate

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/shared/engine/report"
)

// The model tries random histories: scheduled runs, retries of the same schedule time, runs that are killed, answers that are
// lost, clocks that differ, undos, orders to stop, rewinds and holds. What is due are the numbers 0 to 11; a checkpoint is a
// number. At each step it checks what no history may break, and at the end, when nothing fails any more, that all that is due
// gets done.

const (
	timeout = 5 * time.Minute
	items   = 12
	night   = 24 * time.Hour
)

// actor is a run, or an undo.
type actor struct {
	id      string
	undo    bool
	now     time.Time // the run's
	skew    time.Duration
	started time.Time
	next    string // the step
	holds   bool
	at      int // the checkpoint to leave
	plan    []int
	status  report.Status
	stopped bool
}

type world struct {
	t      *rapid.T
	clock  time.Time
	now    time.Time // of the night's scheduled run
	s      State
	due    map[int]bool
	actors []*actor
	n      int
	calm   bool            // nothing fails
	told   map[string]bool // runs that were told to stop
	saved  map[string]bool // runs that have a report
	done   map[string]bool // runs that did something
	held   bool            // somebody holds the job
	rewind bool            // nobody has begun since the state was rewound, or an undo came
	seen   *seen
}

// seen counts what the histories came to.
type seen struct{ kills, killed, lost, undos, stops, leased, retries, rewinds, partial, held int }

func at(i int) string {
	if i <= 0 {
		return ""
	}
	return fmt.Sprintf("%03d", i)
}

func number(text string) (i int) {
	if text == "" {
		return 0
	}
	if _, err := fmt.Sscanf(text, "%d", &i); err != nil {
		panic(err)
	}
	return i
}

func (w *world) start(undo bool) {
	w.n++
	a := &actor{id: fmt.Sprintf("job-%d", w.n), undo: undo, now: w.now, started: w.clock, next: "acquire"}
	if undo {
		a.id = "undo-" + a.id
	}
	if !w.calm {
		a.skew = time.Duration(rapid.IntRange(-30, 30).Draw(w.t, "skew")) * time.Second
	}
	w.actors = append(w.actors, a)
}

// check checks what always holds.
func (w *world) check() {
	holder := ""
	for _, a := range w.actors {
		if !a.holds {
			continue
		}
		if holder != "" {
			w.t.Fatalf("%s and %s hold the lease", holder, a.id)
		}
		if holder = a.id; w.s.Holder != a.id {
			w.t.Fatalf("%s holds the lease, and the state says %q", a.id, w.s.Holder)
		}
	}
	if w.s.IsStopping() && !w.told[w.s.Holder] {
		w.t.Fatalf("%s is told to stop, and nobody told it", w.s.Holder)
	}
	if w.s.Holder == "" && w.s.Begun != nil {
		w.t.Fatalf("nobody holds the lease, and %+v has begun", w.s.Begun)
	}
}

// step does one step of an actor; false when it is gone. A transition is stored. If its answer is lost, it is made once more.
func (w *world) step(a *actor, lost bool) bool {
	now := w.clock.Add(a.skew)
	next := func(to string) bool {
		if lost {
			w.seen.lost++
		} else {
			a.next = to
		}
		return true
	}
	switch a.next {
	case "acquire":
		return w.acquire(a, now, next)
	case "act":
		if len(a.plan) == 0 {
			a.next = "release"
			return true
		}
		if w.s.IsStopping() {
			a.at, a.plan, a.status, a.stopped = a.plan[0], nil, report.Partial, true
			return true
		}
		if w.due[a.plan[0]] {
			delete(w.due, a.plan[0])
			w.done[a.id] = true
		}
		a.plan = a.plan[1:]
	case "release":
		r := &report.Report{RunID: a.id, Now: a.now, Status: a.status, Stopped: a.stopped}
		s, err := w.s.Release(r, at(a.at))
		if a.holds && err != nil {
			w.t.Fatalf("%s lost its lease: %v", a.id, err)
		}
		if a.holds = false; err != nil { // after a lost answer somebody was quick
			return false
		}
		if s.Holder == "" && s.Stop != nil {
			w.t.Fatalf("%s has ended, and %v is told to stop", a.id, s.Stop)
		}
		w.s, w.saved[a.id] = s, true
		return next("end")
	case "free":
		a.holds = false
		w.s = w.s.Free(a.id)
		return next("end")
	default:
		return false
	}
	return true
}

func (w *world) acquire(a *actor, now time.Time, next func(string) bool) bool {
	ask := Candidate{Who: a.id, Now: now, For: timeout + Margin}
	if a.undo {
		ask.For = UndoLease
	} else {
		ask.Begun, ask.Retry = &report.Report{RunID: a.id, Job: "job", Now: a.now, StartedAt: now}, true
	}
	s, err := w.s.Acquire(ask)
	var held *HeldError
	var leased *LeasedError
	var ended *EndedError
	switch {
	case errors.As(err, &held) != (w.held && !a.undo && w.s.Holder != a.id):
		w.t.Fatalf("the job is held: %t, and %s is told %v", w.held, a.id, err)
	case held != nil:
		w.seen.held++
		return false
	case errors.As(err, &leased):
		w.seen.leased++
		return false
	case errors.As(err, &ended):
		w.seen.retries++
		return false
	case err != nil:
		w.t.Fatalf("%v", err)
	}
	killed := w.s.Killed(now)
	if killed != nil {
		w.seen.killed++
		if w.saved[killed.RunID] {
			w.t.Fatalf("%s is reported killed, and has saved a report", killed.RunID)
		}
		w.saved[killed.RunID] = true
	}
	for run := range w.done { // what a run did is told of, if nobody else had its lease since
		if !w.saved[run] && run != a.id {
			w.t.Fatalf("%s did something, and %s comes without a report of it", run, a.id)
		}
	}
	a.holds, w.s = true, s
	if a.undo {
		w.seen.undos++
		w.rewind = true
		return next("free")
	}
	if w.rewind && s.Begins() != "" {
		w.t.Fatalf("%s begins at %s, and not at the beginning", a.id, s.Begins())
	}
	w.rewind = false
	w.plan(a)
	return next("act")
}

// plan has a run plan as much as it has time for.
func (w *world) plan(a *actor) {
	budget := items
	if !w.calm {
		budget = rapid.IntRange(0, items).Draw(w.t, "budget")
	}
	a.plan, a.status, a.at = nil, report.Completed, number(w.s.Begins())
	if !w.calm && rapid.IntRange(0, 4).Draw(w.t, "limit?") == 0 {
		a.status = report.Aborted
		return
	}
	for ; a.at < items && budget > 0; a.at, budget = a.at+1, budget-1 {
		if w.due[a.at] {
			a.plan = append(a.plan, a.at)
		}
	}
	if a.at < items {
		a.status = report.Partial
		w.seen.partial++
		return
	}
	a.at = 0
}

func (w *world) drop(i int) { w.actors = append(w.actors[:i:i], w.actors[i+1:]...) }

// pass lets time go by. The platform, or its own clock, ends what takes too long.
func (w *world) pass(d time.Duration) {
	w.clock = w.clock.Add(d)
	for i := len(w.actors) - 1; i >= 0; i-- {
		most := timeout
		if w.actors[i].undo { // which renews, or stops
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
	switch what := draw(15, "what"); {
	case what == 0:
		w.start(false)
	case what == 1:
		w.now = w.clock
		w.start(false)
	case what == 2 && draw(3, "undo?") == 0:
		w.start(true)
	case what == 3 && len(w.actors) > 0:
		w.seen.kills++
		w.drop(draw(len(w.actors)-1, "killed"))
	case what == 4:
		w.pass(time.Duration(draw(400, "seconds")) * time.Second)
	case what == 5 && w.s.Run() != "" && draw(3, "stop?") == 0:
		w.seen.stops++
		w.told[w.s.Holder], w.s.Stop = true, w.s.Holder
	case what == 7 && draw(3, "hold?") == 0:
		if w.held = !w.held; w.held {
			w.s = w.s.Hold(Hold{At: w.clock, Why: "the rule is wrong"})
		} else {
			w.s = w.s.Resume()
		}
	case what == 6 && draw(3, "rewind?") == 0:
		w.seen.rewinds++
		w.s, w.rewind = w.s.Rewind(), true
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
		w := &world{t: rt, clock: begin, now: begin, due: map[int]bool{}, told: map[string]bool{}, saved: map[string]bool{},
			done: map[string]bool{}, seen: total}
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
	if min(total.kills, total.killed, total.lost, total.undos, total.stops, total.leased, total.retries, total.rewinds, total.partial, total.held) == 0 {
		t.Error("the histories did not come to all that they are to prove")
	}
}

// calmDown lets nights go by in which nothing fails. Whatever happened, all that is due is done: the first night goes on from the
// checkpoint, the second begins at the beginning.
func (w *world) calmDown() {
	w.calm, w.actors, w.held, w.s = true, nil, false, w.s.Resume()
	w.clock = w.clock.Add(time.Hour)
	for range 2 {
		w.clock = w.clock.Add(night)
		w.now = w.clock
		w.start(false)
		for len(w.actors) > 0 {
			if !w.step(w.actors[0], false) {
				w.drop(0)
			}
			w.check()
		}
	}
	if len(w.due) > 0 || w.s.Holder != "" || w.s.Checkpoint != "" {
		w.t.Fatalf("%d are left after two nights: %+v", len(w.due), w.s)
	}
}
