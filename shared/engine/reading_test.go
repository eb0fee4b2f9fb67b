package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestReadsAnewWhenTheRecordHasChanged: the commit that takes the lease fails where somebody wrote to the job's record meanwhile, and
// what that says now decides.
func TestReadsAnewWhenTheRecordHasChanged(t *testing.T) {
	cursor, err := documents.Query{Collection: "things"}.After(documents.Document{Path: "things/t001"})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		record  map[string]any // set by somebody else
		status  report.Status
		planned []string // the checkpoints
		left    []string
	}{
		"another run holds the lease": {
			enginetest.Leased("testJob-another", start.Add(time.Minute)),
			report.Skipped, nil, []string{"t000", "t001", "t002"},
		},
		"another run has ended, partial": {
			enginetest.From(string(cursor)), report.Completed, []string{string(cursor)}, []string{"t000", "t001"},
		},
		"a lease that no run wrote": {map[string]any{"holder": 7}, report.Failed, nil, []string{"t000", "t001", "t002"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var planned []string
			job := thingsJob(10)
			plan := job.Plan
			job.Plan = func(ctx context.Context, p *cleanup.Planner) error {
				planned = append(planned, p.Checkpoint)
				return plan(ctx, p)
			}
			f := newFunction(t, job)
			seed(t, f, 3)
			f.OnCommit(func(n int, _ *firestorepb.CommitRequest, send func() error) error {
				if n == 1 {
					f.Set(t, "cleanupJobs/testJob", tt.record)
				}
				return send()
			})
			got := f.Run(t, "")
			if got.Status != tt.status || !slices.Equal(planned, tt.planned) {
				t.Errorf("%s %v, planned from %q, want %s, from %q", got.Status, got.Failures, planned, tt.status, tt.planned)
			}
			enginetest.Want(t, "left", tt.left, left(t, f))
			if want := len(tt.planned); want == 0 && got.Scanned != 0 {
				t.Errorf("%d scanned", got.Scanned)
			}
		})
	}
}
