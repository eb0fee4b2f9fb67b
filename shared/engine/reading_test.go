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
	"github.com/firesweep/firesweep/shared/flow"
)

// ahead is [thingsJob] as a job that reads ahead. It calls began with the checkpoint of each reading when its things have come, and
// planned with that of each plan.
func ahead(began, planned func(checkpoint string)) cleanup.Job {
	return cleanup.Job{Name: "testJob", Begin: func(ctx context.Context, p *cleanup.Planner) cleanup.Reading {
		read := flow.One(ctx, p.Checkpoint, func(ctx context.Context, from string) ([]documents.Document, error) {
			found, err := p.Documents.First(ctx, documents.Query{Collection: "things"}, documents.Cursor(from), 100)
			began(from)
			return found, err
		})
		return cleanup.Reading{Stop: read.Stop, Plan: func() error {
			return read.Each(func(from string, found []documents.Document) error {
				planned(from)
				p.Scanned(len(found))
				return p.Consider(ctx, things, found)
			})
		}}
	}}
}

// TestReadsAfterTheLease: nothing is read before the lease is taken, so that nothing is planned by what another run changes meanwhile.
func TestReadsAfterTheLease(t *testing.T) {
	leased := make(chan struct{})
	isLeased := func(string) {
		select {
		case <-leased:
		default:
			t.Error("read or planned without a lease")
		}
	}
	f := newFunction(t, ahead(isLeased, isLeased))
	seed(t, f, 3)
	f.OnCommit(func(n int, _ *firestorepb.CommitRequest, send func() error) error {
		if n == 1 {
			defer close(leased)
		}
		return send()
	})
	got := enginetest.NewGolden(t, "read-ahead").Run(t, "three things are read once, and once for undoing", f, "", "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete thing", 3))
	enginetest.Want(t, "left", 0, len(left(t, f)))
}

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
		"a lease that no run wrote": {map[string]any{"ranges": "x"}, report.Failed, nil, []string{"t000", "t001", "t002"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var planned []string
			f := newFunction(t, ahead(func(string) {}, func(from string) { planned = append(planned, from) }))
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

// TestPanicWhileItBegins: the run fails, and gives its lease back.
func TestPanicWhileItBegins(t *testing.T) {
	f := newFunction(t, cleanup.Job{Name: "testJob", Begin: func(context.Context, *cleanup.Planner) cleanup.Reading { panic("poisoned") }})
	got := f.Run(t, "")
	enginetest.Want(t, "status", report.Failed, got.Status)
	has(t, onlyFailure(t, got).Error, "poisoned")
	enginetest.Want(t, "holder", "", enginetest.Holder(job(t, f)))
}
