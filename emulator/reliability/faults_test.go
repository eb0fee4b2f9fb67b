package reliability

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/sweep"
)

// atOnce is how many points are tried at once. Most of their time they wait for a backoff.
const atOnce = 6

// TestFaults runs each job with a fault at a call, then undisturbed, and compares what is left with what the sample
// must end as.
func TestFaults(t *testing.T) {
	var results figures
	t.Cleanup(func() { results.print(t, "faults", faultNames()) })
	for i, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			calls := undisturbed(t, s)
			var points errgroup.Group
			points.SetLimit(atOnce)
			for k, fault := range Faults {
				n := 0
				for _, c := range calls {
					if fault.Concerns(c) {
						n++
					}
				}
				for at := 1; at <= n; at++ {
					if !*full && !chosen(i, k, at) {
						continue
					}
					points.Go(func() error {
						t.Run(fmt.Sprintf("%s/%d", fault.Name, at), func(t *testing.T) {
							lines, tried := tryFault(t, s, At(at, fault))
							for _, line := range lines {
								t.Error(line)
							}
							if tried {
								results.add(s.name, fault.Name, t.Failed())
							}
						})
						return nil
					})
				}
			}
			_ = points.Wait() // none returns one
		})
	}
}

// chosen chooses the points of the short test: some with each kind of fault, other ones for each job.
func chosen(job, kind, at int) bool { return (at+7*job+5*kind)%61 == 0 }

// undisturbed runs the job once with no fault and returns the calls it makes. What it leaves must be as the sample says, or else
// the comparisons mean nothing.
func undisturbed(t *testing.T, s subject) (calls []Call) {
	t.Run("undisturbed", func(t *testing.T) {
		w := newWorld(t, s)
		steps := Undisturbed()
		report := w.run(t, steps)
		if report.Status != sweep.Completed {
			t.Fatalf("status %s; failures %v", report.Status, report.Failures)
		}
		if len(report.Actions) == 0 {
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

func faultNames() (names []string) {
	for _, f := range Faults {
		names = append(names, f.Name)
	}
	return names
}

// tryFault is one point. It returns the differences, and false if the run never came to it, as one may whose calls go on at once.
func tryFault(t *testing.T, s subject, steps *Steps) (lines []string, tried bool) {
	t.Helper()
	w := newWorld(t, s)
	w.run(t, steps)
	if !steps.Struck() {
		t.Log("the run made fewer calls than the undisturbed one: the fault did not happen")
		return nil, false
	}
	if lines = w.outcome(t, w.sample); len(lines) > 0 {
		calls := steps.Calls()
		t.Logf("the disturbed run made %d calls; the last were:", len(calls))
		for i := max(0, len(calls)-8); i < len(calls); i++ {
			t.Logf("%d %s", i+1, calls[i])
		}
	}
	return lines, true
}
