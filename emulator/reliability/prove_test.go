package reliability

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/functions/orphanedmedia"
)

// TestProve proves of each job and worker, and of each rule of docs/examples, what the engine promises of all. It makes the checks, and
// does something at each call of a run, and at each call of an undo: a fault, or what users do. In the end all must be as after
// undisturbed runs.
func TestProve(t *testing.T) {
	results := &figures{rows: map[string]map[string][2]int{}}
	if *points == 0 && *write {
		t.Cleanup(func() { results.write(t) })
	}
	for i, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := expect(t, s)
			var all errgroup.Group
			all.SetLimit(atOnce)
			defer func() { _ = all.Wait() }() // none returns one
			try := func(column, name string, point func(t *testing.T) (lines []string, disturbed *Steps)) {
				all.Go(func() error {
					t.Run(column+"/"+name, func(t *testing.T) {
						lines, disturbed := point(t)
						if disturbed != nil && !disturbed.Struck() {
							t.Log("there were fewer calls than in the undisturbed run, or undo: nothing happened")
							return
						}
						for _, line := range lines {
							t.Error(line)
						}
						if disturbed != nil && t.Failed() {
							disturbed.tell(t)
						}
						results.add(s.name, column, t.Failed())
					})
					return nil
				})
			}
			for _, c := range checks {
				try("checks", c.name, func(t *testing.T) ([]string, *Steps) { return c.prove(t, s, want), nil })
			}
			for k, kind := range kinds {
				if s.checks || kind.undoes && !softDeletes(t, s) {
					continue
				}
				if kind.column == "races" && s.job.Name == orphanedmedia.Job.Name && !backendstest.Start(t).EmbeddedStorage() {
					continue // only the embedded Storage enforces preconditions; the Firebase Emulator Suite's deletes regardless
				}
				for _, p := range chosen(pointsOf(kind, want.callsOf(t, s, kind)), i+k) {
					try(kind.column, fmt.Sprintf("%s/%d", p.fault.Name, p.at), func(t *testing.T) ([]string, *Steps) { return kind.try(t, s, want, p) })
				}
			}
		})
	}
}

// atOnce is how many points of a subject are tried at once. Most of their time they wait for a backoff.
const atOnce = 6

// kinds are the kinds of points: a column of the page's table, the faults, and what is tried at a call.
var kinds = []kind{
	{column: "faults", faults: Faults, try: tryFault},
	{column: "races", faults: users, try: tryRace},
	{column: "undone", undoes: true, faults: undoneFaults, try: tryUndone},
	{column: "undo faults", undoes: true, ofUndo: true, faults: undoFaults, try: tryUndoFault},
	{column: "undo races", undoes: true, ofUndo: true, faults: users, try: tryUndoRace},
}

// users is that they write.
var users = []Fault{{Name: "users write"}}

// kind is a kind of points.
type kind struct {
	column string
	undoes bool // what is disturbed is an undo, or is taken back
	ofUndo bool // what is disturbed is an undo
	faults []Fault
	try    func(t *testing.T, s subject, want *expected, p point) (lines []string, disturbed *Steps)
}

// point is a call, and what happens at it: a fault at one of those that can have it, or what users do.
type point struct {
	fault Fault
	at    int // from 1
}

// pointsOf returns all points of a kind at some calls.
func pointsOf(k kind, calls []Call) (all []point) {
	for _, fault := range k.faults {
		n := 0
		for _, c := range calls {
			if fault.Concerns(c) {
				n++
				all = append(all, point{fault, n})
			}
		}
	}
	return all
}

// chosen chooses as many points as are tried, other ones for each turn.
func chosen(all []point, turn int) (some []point) {
	if *points == 0 || *points >= len(all) {
		return all
	}
	for i := range *points {
		some = append(some, all[(turn*37+i*len(all)/(*points))%len(all)])
	}
	return some
}

// callsOf returns the calls that a kind of points disturbs.
func (w *expected) callsOf(t *testing.T, s subject, k kind) []Call {
	t.Helper()
	if !k.ofUndo {
		return w.calls
	}
	if w.ofUndo == nil {
		w.ofUndo = undisturbedUndo(t, s, w)
	}
	return w.ofUndo
}

// tryFault has a fault happen to a run, and returns what is not as after undisturbed runs.
func tryFault(t *testing.T, s subject, want *expected, p point) ([]string, *Steps) {
	t.Helper()
	w, steps := newWorld(t, s), At(p.at, p.fault)
	w.run(t, steps)
	return w.notEnded(t, want), steps
}

// tell logs the last calls.
func (s *Steps) tell(t *testing.T) {
	t.Helper()
	calls := s.Calls()
	t.Logf("what was disturbed made %d calls; the last were:", len(calls))
	for i := max(0, len(calls)-8); i < len(calls); i++ {
		t.Logf("%d %s", i+1, calls[i])
	}
}
