package placeholderusers

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestUnset counts what it costs to find the things without a box: only where some lack the field, or where they cannot be
// counted, are all read.
func TestUnset(t *testing.T) {
	const empty, packed, skipped = "looked at, in no box", "looked at, in a box", "in a box"
	type kept = map[string]int
	for name, tt := range map[string]struct {
		boxes       []any // of one thing each, besides 20 that have one; the name of the field is another for "missing"
		uncountable bool
		reads       int // besides the lease, and who holds jobs
		kept        kept
	}{
		"none":               {nil, false, 3, kept{skipped: 20}},
		"null":               {[]any{nil}, false, 3 + 1, kept{empty: 1, skipped: 20}},
		"missing":            {[]any{"missing"}, false, 3 + 21, kept{empty: 1, packed: 20}},
		"null and missing":   {[]any{nil, nil, "missing"}, false, 3 + 23, kept{empty: 3, packed: 20}},
		"cannot be counted":  {[]any{nil, "missing"}, true, 22, kept{empty: 2, packed: 20}},
		"odd values are set": {[]any{nil, "x", true, 1, 0.5, math.NaN(), []any{}, map[string]any{}, time.Unix(0, 0)}, false, 3 + 1, kept{empty: 1, skipped: 28}},
		"as good as unset":   {[]any{nil, "", false, 0, 0.0}, false, 3 + 5, kept{empty: 5, skipped: 20}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newTestJob(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
				q, some := unset(ctx, p, "things", "box", "in a box")
				if !some {
					return nil
				}
				return p.Sweep(ctx, q, "", cleanup.Rule[cleanup.Subject]{
					Name: "thing", Load: cleanup.Itself, Reach: cleanup.Reach{Items: "things"},
					Judge: func(s cleanup.Subject, _ cleanup.Run) cleanup.Decision {
						switch s.Data["box"] {
						case nil, "", false, int64(0), 0.0:
							return cleanup.Keep(empty)
						}
						return cleanup.Keep(packed)
					},
				})
			}})
			f.SetMany(t, 20, func(i int) (string, map[string]any) {
				return fmt.Sprintf("things/packed%d", i), map[string]any{"box": "b"}
			})
			for i, box := range tt.boxes {
				data := map[string]any{"box": box}
				if box == "missing" {
					data = map[string]any{}
				}
				f.Set(t, fmt.Sprintf("things/t%d", i), data)
			}
			if tt.uncountable {
				f.RefuseCounts(status.Error(codes.DeadlineExceeded, "it took too long"))
			}
			got := f.Run(t, "")
			enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
			enginetest.Want(t, "reads", int64(3+tt.reads), got.Usage.FirestoreReads)
			enginetest.Want(t, "kept", tt.kept, got.Kept)
			enginetest.Want(t, "scanned", 20+len(tt.boxes), got.Scanned)
			enginetest.Want(t, "not counted", tt.uncountable, len(got.NotCounted) == 1)
		})
	}
}

// newTestJob returns a function that serves a job of a test.
func newTestJob(t *testing.T, job cleanup.Job) *enginetest.Function {
	t.Helper()
	f := enginetest.New(t, engine.NewFunction(job, 5*time.Minute, []config.Backend{config.Firestore}))
	f.Clock = func() time.Time { return now }
	return f
}
