package reliability

import (
	"fmt"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/engine/report"
)

// atOnce is how many points are tried at once. Most of their time they wait for a backoff.
const atOnce = 6

// TestFaults runs each job with a fault at a call, then undisturbed, and compares what is left with what the sample
// must end as.
func TestFaults(t *testing.T) {
	tryAll(t, "faults", func(t *testing.T, i int, s subject, try tries) {
		eachFault(i, Faults, callsOf(t, s), func(fault Fault, at int) {
			try(fault.Name, at, func(t *testing.T) ([]string, bool) { return tryFault(t, s, At(at, fault)) })
		})
	})
}

// tries has a point tried, with something at a call: it returns the differences, and false if the point was not come to.
type tries func(what string, at int, point func(t *testing.T) (lines []string, tried bool))

// tryAll has the points of each job tried that plan names, several at once, and counts them in a column of the page's table.
func tryAll(t *testing.T, table string, plan func(t *testing.T, i int, s subject, try tries)) {
	t.Helper()
	var results figures
	t.Cleanup(func() { results.print(t, table) })
	for i, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var points errgroup.Group
			points.SetLimit(atOnce)
			plan(t, i, s, func(what string, at int, point func(*testing.T) ([]string, bool)) {
				points.Go(func() error {
					t.Run(fmt.Sprintf("%s/%d", what, at), func(t *testing.T) {
						lines, tried := point(t)
						for _, line := range lines {
							t.Error(line)
						}
						if tried {
							results.add(s.name, t.Failed())
						}
					})
					return nil
				})
			})
			_ = points.Wait() // none returns one
		})
	}
}

// eachFault names each kind of fault at each of the calls that it concerns, or, of the short test, some of them.
func eachFault(job int, faults []Fault, calls []Call, name func(fault Fault, at int)) {
	for k, fault := range faults {
		n := 0
		for _, c := range calls {
			if !fault.Concerns(c) {
				continue
			}
			if n++; *full || chosen(job, k, n) {
				name(fault, n)
			}
		}
	}
}

// chosen chooses the points of the short test: some with each kind of fault, other ones for each job.
func chosen(job, kind, at int) bool { return (at+7*job+5*kind)%97 == 0 && isKept(job, kind) }

// isKept leaves one of so many points as -sparse says. Three jobs are alike, for isTurn divides these among tests.
func isKept(job, of int) bool { return (job/3+of)%*sparse == 0 }

// undisturbedRuns are what callsOf has seen, by subject.
var undisturbedRuns sync.Map

// callsOf returns the calls that an undisturbed run of the subject makes. One run of each tells all tests.
func callsOf(t *testing.T, s subject) []Call {
	type seen struct {
		once  sync.Once
		calls []Call
		good  bool
	}
	known, _ := undisturbedRuns.LoadOrStore(s.name, &seen{})
	run := known.(*seen)
	run.once.Do(func() { // in whichever test is the first: it fails if the run does
		run.calls = undisturbed(t, s)
		run.good = true
	})
	if !run.good {
		t.Fatal("the undisturbed run failed in another test: see there")
	}
	return run.calls
}

// undisturbed runs the job once with no fault and returns the calls it makes. What it leaves must be as the sample says, or else
// the comparisons mean nothing.
func undisturbed(t *testing.T, s subject) (calls []Call) {
	t.Run("undisturbed", func(t *testing.T) {
		w := newWorld(t, s)
		steps := Undisturbed()
		rep := w.run(t, steps)
		if rep.Status != report.Completed {
			t.Fatalf("status %s; failures %v", rep.Status, rep.Failures)
		}
		if len(rep.Actions) == 0 {
			t.Fatalf("it does nothing, so nothing is proved of it: emulator/sampledata must have something for %s to do", s.job.Name)
		}
		for _, line := range w.differences(t, w.sample) {
			t.Error(line)
		}
		calls = steps.Calls()
	})
	if t.Failed() {
		t.FailNow()
	}
	return calls
}

// tryFault is one point. It returns the differences, and false if the run never came to it.
func tryFault(t *testing.T, s subject, steps *Steps) (lines []string, tried bool) {
	t.Helper()
	w := newWorld(t, s)
	w.run(t, steps)
	if !steps.Struck() {
		t.Log("the run made fewer calls than the undisturbed one: the fault did not happen")
		return nil, false
	}
	if lines = w.outcome(t, w.sample); len(lines) > 0 {
		steps.tell(t)
	}
	return lines, true
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
