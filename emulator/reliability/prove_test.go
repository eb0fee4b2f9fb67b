package reliability

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/functions/expiredcomped"
	"github.com/firesweep/firesweep/functions/orphanedmedia"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
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
