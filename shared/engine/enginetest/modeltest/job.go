package modeltest

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// Job is a job, which may have a worker, with the model of what it does.
type Job struct {
	enginetest.Pair                 // Worker is nil if it has none
	Steps           []time.Duration // when it runs, each counted from the run before; nil: two runs, at the same time
	// After is the model of a run and of its tasks. After an undo of what was named, the job keeps the things that are held. For
	// most jobs these are all that is due, and the model is not asked.
	After func(t *rapid.T, w World, held map[string]bool) World
	// HoldsSome says that After is also asked if something is held.
	HoldsSome bool
	// Name names documents whose ids are derived, see [World.Renamed]; nil if there are none.
	Name   func(path string, data map[string]any) string
	Loaded func(World) // if set, called after a world was loaded
	// Reads is the model of what a run reads of Firestore at most, between two worlds; nil: nobody looks.
	Reads func(before, after World) int
}

// Check proves the job on random worlds, which draw draws.
//
// The job runs some times. Then all runs are undone: everything is as it was, except what was sent. The job does nothing until
// it is resumed, or keeps what was restored.
func (j Job) Check(t *testing.T, draw func(t *rapid.T) World) {
	t.Helper()
	prove := j.Prover(t)
	Check(t, func(rt *rapid.T) { prove(rt, draw(rt)) })
}

// Prover returns a function that proves the job on one world.
func (j Job) Prover(t testing.TB) func(rt *rapid.T, w World) {
	t.Helper()
	if len(j.Steps) == 0 {
		j.Steps = []time.Duration{0, 0}
	}
	if j.Name == nil {
		j.Name = func(string, map[string]any) string { return "" }
	}
	var began time.Time // runs of a model are years apart, and their undo logs would expire in between
	restorer := j.Restorer(t, func() time.Time { return began })
	if j.Worker != nil {
		restorer.Jobs[j.Worker.Job.Name] = j.Worker.Job
	}
	if !j.EmbeddedStorage() {
		t.Log("objects are not taken back: the Firebase Emulator Suite's Storage has no soft delete, from which they come back")
		restorer.Bucket = nil
	}
	return func(rt *rapid.T, w World) {
		w.Load(t, j.Project)
		if j.Loaded != nil {
			j.Loaded(w)
		}
		began = j.Clock()
		r := &round{Job: j, tb: t, t: rt, first: w, world: w, restorer: restorer, sent: map[string]bool{}}
		r.runAll()
		r.undoAll()
		r.runHeld()
		r.runResumed()
	}
}

// round is one proof of a job, on one world.
type round struct {
	Job
	t        *rapid.T
	tb       testing.TB
	restorer restore.Project
	first    World           // before the first run
	world    World           // what the project holds
	sent     map[string]bool // documents that were sent to somebody
	inPart   bool            // runs are taken back by naming all that they did
	back     bool            // something came back
}

// run runs the job and its worker.
func (r *round) run(when string) *report.Report {
	r.t.Helper()
	if tasks := r.Tasks(); tasks != nil {
		tasks.Clear() // a task's name cannot be used again for a day, which models do not know
	}
	rep := r.Run(r.tb, "")
	if rep.Status != report.Completed {
		r.t.Fatalf("%s: %s %v", when, rep.Status, rep.Failures)
	}
	if r.Worker != nil {
		r.Deliver(r.tb)
	}
	return rep
}

// is compares the project with the world of a model, which becomes the current one.
func (r *round) is(when string, want World) {
	r.t.Helper()
	got := Read(r.tb, r.Project)
	others, sent := got.Clone(), NewWorld()
	maps.DeleteFunc(others.Documents, func(path string, data map[string]any) bool {
		if !enginetest.WasSent(path) {
			return false
		}
		sent.Documents[path] = data
		return true
	})
	named := others.Renamed(r.Name)
	for path, data := range sent.Renamed(r.Name).Documents {
		named.Documents[path], r.sent[path] = data, true
	}
	want.Is(r.t, when, named)
	r.world = want
}

// runAll runs the job at each step.
func (r *round) runAll() {
	for n, d := range r.Steps {
		r.Now = r.Now.Add(d)
		when := fmt.Sprintf("run %d, at %s", n+1, r.Now)
		before := r.world
		rep := r.run(when)
		r.is(when, r.After(r.t, before, nil))
		if r.Reads != nil {
			if n, most := int(rep.Usage.FirestoreReads), r.Reads(before, r.world); n > most {
				r.t.Fatalf("%s: %d reads, more than %d", when, n, most)
			}
		}
	}
}

// records returns what is said of the job and its worker.
func (r *round) records() []jobstate.Record {
	all, err := jobstate.Records(r.t.Context(), r.restorer.DB.Reader)
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// runHeld runs the job after all runs were taken back whole: it does nothing. Where that was done by naming all that they did,
// it keeps that, and says so.
func (r *round) runHeld() {
	const when = "with what came back"
	switch {
	case !r.back: // so nobody holds it
		return
	case !r.inPart:
		if rep := r.Run(r.tb, ""); rep.Status != report.Skipped {
			r.t.Fatalf("%s: %s, %v", when, rep.Status, rep.Actions)
		}
		r.is(when, r.world)
		return
	}
	held, want := map[string]bool{}, r.world
	for _, record := range r.records() {
		for _, kept := range record.Keep {
			held[kept.Path] = true
		}
	}
	most := len(held) // some of it may not be due any more, or belongs to something that is held
	rep := r.run(when)
	if r.HoldsSome {
		want = r.After(r.t, want, held)
	} else {
		for kind, n := range rep.Actions { // only a commit meets what belongs to an item and is held
			if n.Done+n.Failed+n.Begun > 0 {
				r.t.Fatalf("%s: %s: %v", when, kind, n)
			}
		}
	}
	if n := rep.Kept[jobstate.KeptListed] + rep.Kept[jobstate.KeptWithListed]; n > most || most > 0 && n == 0 {
		r.t.Fatalf("%s: kept %v, of which up to %d should be because they came back", when, rep.Kept, most)
	}
	r.is(when, want)
}

// runResumed runs the job after it was resumed, and keeps nothing any more.
func (r *round) runResumed() {
	for _, record := range r.records() {
		paths := []string{}
		for _, kept := range record.Keep {
			paths = append(paths, kept.Path)
		}
		err := errors.Join(record.Err, r.restorer.Store(record.Job).Resume(r.t.Context()),
			jobstate.Unkeep(r.t.Context(), r.restorer.DB, paths...))
		if err != nil {
			r.t.Fatal(err)
		}
	}
	last := r.Steps[len(r.Steps)-1]
	steps := []time.Duration{0, last}
	if r.inPart { // nobody tells a job of an item that it may judge again: it may look at all once a day
		steps[0] = last
	}
	for _, d := range steps {
		r.Now = r.Now.Add(d)
		when := fmt.Sprintf("resumed, at %s", r.Now)
		r.run(when)
		r.is(when, r.After(r.t, r.world, nil))
	}
}
