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
	for name, tt := range map[string]struct {
		boxes         []any // of one thing each, besides 20 that have one; the name of the field is another for "missing"
		uncountable   bool
		reads, looked int // besides the lease, who holds jobs, and the three counts
	}{
		"none":               {nil, false, 0, 0},
		"null":               {[]any{nil}, false, 1, 1},
		"missing":            {[]any{"missing"}, false, 21, 21},
		"null and missing":   {[]any{nil, nil, "missing"}, false, 23, 23},
		"cannot be counted":  {[]any{nil, "missing"}, true, 22, 22},
		"odd values are set": {[]any{nil, "x", true, 1, 0.5, math.NaN(), []any{}, map[string]any{}, time.Unix(0, 0)}, false, 1, 1},
		"as good as unset":   {[]any{nil, "", false, 0, 0.0}, false, 5, 5},
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
						set := true
						switch s.Data["box"] {
						case nil, "", false, int64(0), 0.0:
							set = false
						}
						return cleanup.Keep(fmt.Sprint("looked at, in a box: ", set))
					},
				})
			}})
			f.SetMany(t, 20, func(i int) (string, map[string]any) {
				return fmt.Sprintf("things/packed%d", i), map[string]any{"box": "b"}
			})
			unset, others := 0, 20
			for i, box := range tt.boxes {
				data := map[string]any{"box": box}
				if box == "missing" {
					data = map[string]any{}
				}
				switch data["box"] {
				case nil, "", false, 0, 0.0:
					unset++
				default:
					others++
				}
				f.Set(t, fmt.Sprintf("things/t%d", i), data)
			}
			reads := 6 + tt.reads
			if tt.uncountable {
				reads -= 3
				f.RefuseCounts(status.Error(codes.DeadlineExceeded, "it took too long"))
			}
			got := f.Run(t, "")
			enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
			enginetest.Want(t, "reads", int64(reads), got.Usage.FirestoreReads)
			kept := map[string]int{}
			if unset > 0 {
				kept["looked at, in a box: false"] = unset
			}
			if tt.looked > unset {
				kept["looked at, in a box: true"] = others
			} else {
				kept["in a box"] = others
			}
			enginetest.Want(t, "kept", kept, got.Kept)
			enginetest.Want(t, "scanned", unset+others, got.Scanned)
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
