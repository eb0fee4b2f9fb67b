package reliability

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

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

var (
	points = flag.Int("points", 2, "how many points of each kind are tried of each job; 0: all, in some twenty minutes")
	write  = flag.Bool("write", false, "with -points 0, and all jobs: write when they were tried, and with which figures, to docs/contributing/reliability.md")
)

const page = "../../docs/contributing/reliability.md"

// figures are how many points were tried of each job, and how many of them ended with a difference, by column.
type figures struct {
	mu   sync.Mutex
	rows map[string]map[string][2]int
}

// add counts a point.
func (f *figures) add(job, column string, different bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rows[job] == nil {
		f.rows[job] = map[string][2]int{}
	}
	n := f.rows[job][column]
	if n[0]++; different {
		n[1]++
	}
	f.rows[job][column] = n
}

// write writes the page's table, between the comments <!-- figures --> and <!-- end figures -->.
func (f *figures) write(t *testing.T) {
	t.Helper()
	columns := []string{"checks"}
	for _, k := range kinds {
		columns = append(columns, k.column)
	}
	table := "| job | " + strings.Join(columns, " | ") + " |\n|---|" + strings.Repeat("---|", len(columns)) + "\n"
	for _, s := range subjects() {
		if f.rows[s.name] == nil {
			t.Fatalf("nothing was tried of %s: the page has all jobs", s.name)
		}
		table += "| `" + s.name + "` |"
		for _, column := range columns {
			cell := "–"
			if n := f.rows[s.name][column]; n[0] > 0 {
				cell = fmt.Sprintf("%d: %d", n[0], n[1])
			}
			table += " " + cell + " |"
		}
		table += "\n"
	}
	text, err := os.ReadFile(page)
	ok(t, err)
	before, rest, _ := strings.Cut(string(text), "<!-- figures -->\n")
	_, after, found := strings.Cut(rest, "<!-- end figures -->")
	if !found {
		t.Fatalf("%s has no figures", page)
	}
	said := "Tried on " + time.Now().UTC().Format(time.DateOnly) + ":\n\n"
	// The page is one that people read, in a repository.
	if err := os.WriteFile(page, []byte(before+"<!-- figures -->\n"+said+table+"<!-- end figures -->"+after), 0o644); err != nil { //nolint:gosec
		t.Fatal(err)
	}
}
