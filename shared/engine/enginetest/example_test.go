package enginetest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// In a test, t is the test's own, and Example is not needed. When the test ends, the indexes of all queries that were sent
// are checked.
func ExampleNew() {
	carts := cleanup.Rule[cleanup.Subject]{
		Name: "cart", Load: cleanup.Itself, Reach: cleanup.Reach{Items: "carts"},
		Judge: func(s cleanup.Subject, _ cleanup.Run) cleanup.Decision {
			if s.Data["ordered"] == true {
				return cleanup.Keep("ordered")
			}
			return cleanup.Do("delete cart", "not ordered")
		},
	}
	job := cleanup.Job{Name: "cleanupCarts", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		return p.Sweep(ctx, documents.Query{Collection: "carts"}, documents.Cursor(p.Checkpoint), carts)
	}}
	enginetest.Example(func(t testing.TB) {
		f := enginetest.New(t, engine.NewFunction(job, time.Minute, []config.Backend{config.Firestore}))
		f.Set(t, "carts/forgotten", map[string]any{"ordered": false})
		f.Set(t, "carts/ordered", map[string]any{"ordered": true})
		f.Set(t, "carts/ordered-just-now", map[string]any{"ordered": false})

		// Somebody orders between the plan and the deletion, so the cart stays.
		f.Hooks.BeforeApply = func() { f.Set(t, "carts/ordered-just-now", map[string]any{"ordered": true}) }
		report := f.Run(t, "")

		fmt.Println(report.Status, report.Actions["delete cart"], report.Kept)
		for id := range f.Documents(t, "carts") {
			fmt.Println("left:", id)
		}
	})
	// Unordered output:
	// completed {2 1 1 0} map[ordered:1]
	// left: ordered
	// left: ordered-just-now
}

// A function that deletes too much: the test says which document is gone.
func ExampleChanges() {
	before := map[string]any{"carts/a": map[string]any{"ordered": false}, "carts/b": map[string]any{"ordered": true}}
	after := map[string]any{"carts/b": map[string]any{"ordered": true}}
	var names []string
	for name := range enginetest.Changes(before, after) {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Println(names)
	// Output: [carts/a]
}

// A failure is printed, and ends the example as it ends a test.
func ExampleExample() {
	enginetest.Example(func(t testing.TB) {
		t.Cleanup(func() { fmt.Println("cleaned up") })
		t.Errorf("%d is not %d", 1, 2)
		if t.Failed() {
			t.Fatal("so it ends here")
		}
		fmt.Println("never")
	})
	// Output:
	// 1 is not 2
	// so it ends here
	// cleaned up
}
