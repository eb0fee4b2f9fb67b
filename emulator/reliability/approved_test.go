package reliability

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/emulator/sampledata/sampletest"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// approve has a person approve every other item of the job's plan, and returns how many.
func (w *world) approve(t *testing.T) (items int) {
	t.Helper()
	f := w.start(t, w.job, Undisturbed())
	rep, err := f.Plan(t.Context(), engine.PlanOptions{Now: now, Versions: true})
	if err != nil || rep.Status != report.Completed {
		t.Fatalf("plan: %v, %+v", err, rep)
	}
	half := *rep
	half.Plan = nil
	for i, p := range rep.Plan {
		if i%2 == 0 {
			half.Plan = append(half.Plan, p)
		}
	}
	w.approved, w.clock = half.Approve(), ahead // a run by a plan has the clock's now
	return len(half.Plan)
}

// names returns all that the project holds, by names that are the same in each world.
func (w *world) names(t *testing.T) map[string]any {
	t.Helper()
	return sampletest.Names(t, w.content, "bucket")
}

// touched returns what was changed or deleted of what was there.
func touched(before, after map[string]any) map[string]bool {
	all := enginetest.Changes(before, after)
	maps.DeleteFunc(all, func(name string, _ bool) bool { _, was := before[name]; return !was })
	return all
}

// TestApprovedPlans: of each job that a command can run, a run that is restricted to half of its plan does all of that half, and with
// a fault, and run again until nothing is left, nothing else.
func TestApprovedPlans(t *testing.T) {
	t.Parallel()
	for i, s := range subjects() {
		if s.checks || s.worker != nil {
			continue // with a worker it only runs deployed, and that is not by a plan
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, s)
			items, before, steps := w.approve(t), w.names(t), Undisturbed()
			rep := w.run(t, steps)
			if done := rep.Done(); rep.Status != report.Completed || done != items {
				t.Fatalf("%s, %d of %d items done: %+v", rep.Status, done, items, rep)
			}
			allowed := touched(before, w.names(t))
			if all := w.all(t, s, before); items > 0 && len(allowed) >= all && rep.Kept["not in the approved plan"] > 0 {
				t.Errorf("%d things were touched, and %d without a plan", len(allowed), all)
			}
			var all errgroup.Group
			all.SetLimit(atOnce)
			calls := len(steps.Calls())
			for k, fault := range Faults {
				at := 1 + (i+7*k)*13%max(1, calls)
				if fault.dies { // as a run without a plan does; the command closes the connection by which the harness tidies up
					continue
				}
				if *points > 0 && k%4 != i%4 {
					continue
				}
				all.Go(func() error {
					t.Run(fmt.Sprintf("%s/%d", fault.Name, at), func(t *testing.T) {
						w := newWorld(t, s)
						w.approve(t)
						before := w.names(t)
						w.run(t, At(at, fault))
						for range 2 {
							w.expireLease()
							w.run(t, Undisturbed())
						}
						for _, name := range slices.Sorted(maps.Keys(touched(before, w.names(t)))) {
							if !allowed[name] {
								t.Errorf("%s was touched, and it is not in the plan", name)
							}
						}
					})
					return nil
				})
			}
			_ = all.Wait() // none returns one
		})
	}
}

// all returns how many things a run touches that is not restricted.
func (w *world) all(t *testing.T, s subject, before map[string]any) int {
	t.Helper()
	free := newWorld(t, s)
	free.run(t, Undisturbed())
	return len(touched(before, free.names(t)))
}
