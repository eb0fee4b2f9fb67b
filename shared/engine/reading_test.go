package engine_test

import (
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestReadsAnewWhenTheRecordHasChanged: the commit that takes the lease fails where somebody wrote to the job's record meanwhile, and
// what that says now decides.
func TestReadsAnewWhenTheRecordHasChanged(t *testing.T) {
	t.Parallel()
	cursor, err := documents.Query{Collection: "things"}.After(documents.Document{Path: "things/t001"})
	if err != nil {
		t.Fatal(err)
	}
	f := thingsFunction(t, 10, 3)
	f.OnCommit(func(n int, _ *firestorepb.CommitRequest, send func() error) error {
		if n == 1 { // another run has ended, partial
			f.Set(t, "cleanupJobs/testJob", enginetest.From(string(cursor)))
		}
		return send()
	})
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete thing", 1))
	enginetest.Want(t, "left", []string{"t000", "t001"}, left(t, f))
}
