package sweep_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// TestCountKept counts on a collection whose queries firestore.indexes.json covers.
func TestCountKept(t *testing.T) {
	due := documents.Query{
		Collection: "reports",
		Where:      []documents.Filter{{Field: "status", Op: "==", Value: "reviewed"}, {Field: "createdAt", Op: "<", Value: start}},
		OrderBy:    []string{"createdAt"},
	}
	census := sweep.Census{
		Due: due, Eligible: due.Where[0], Young: documents.Filter{Field: "createdAt", Op: ">=", Value: start},
		KeptOther: "other", KeptYoung: "young", KeptUndated: "undated",
	}
	among, doubtful := census, census
	among.Among = []documents.Filter{{Field: "status", Op: "!=", Value: nil}}
	doubtful.Doubtful = true
	two := map[string]map[string]any{
		"due": {"status": "reviewed", "createdAt": start.Add(-time.Microsecond)}, "at": {"status": "reviewed", "createdAt": start},
	}
	all := map[string]map[string]any{
		"due1": {"status": "reviewed", "createdAt": start.Add(-time.Microsecond)},
		"due2": {"status": "reviewed", "createdAt": start.AddDate(-1, 0, 0)}, "due3": {"status": "reviewed", "createdAt": start.AddDate(-2, 0, 0)},
		"at": {"status": "reviewed", "createdAt": start}, "after": {"status": "reviewed", "createdAt": start.AddDate(1, 0, 0)},
		"text": {"status": "reviewed", "createdAt": "2020"}, "null": {"status": "reviewed", "createdAt": nil}, "undated": {"status": "reviewed"},
		"open": {"status": "open", "createdAt": start.AddDate(-1, 0, 0)}, "odd": {"status": 1},
		"no status": {"createdAt": start.AddDate(-1, 0, 0)}, "null status": {"status": nil},
	}
	for name, tt := range map[string]struct {
		census   sweep.Census
		data     map[string]map[string]any
		scanned  int
		kept     map[string]int
		warnings int // of what cannot be judged
	}{
		"nothing there":       {census, nil, 0, map[string]int{}, 0},
		"nothing doubtful":    {doubtful, two, 1, map[string]int{"young": 1}, 0},
		"all":                 {census, all, 9, map[string]int{"young": 2, "undated": 3, "other": 4}, 1},
		"some":                {among, all, 7, map[string]int{"young": 2, "undated": 3, "other": 2}, 1},
		"others are doubtful": {doubtful, all, 9, map[string]int{"young": 2, "undated": 3, "other": 4}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFunction(t, sweep.Job{Name: "testJob", Plan: func(ctx context.Context, p *sweep.Planner) error {
				return p.CountKept(ctx, tt.census)
			}})
			for id, data := range tt.data {
				f.Set(t, "reports/"+id, data)
			}
			got := f.Run(t, "")
			if diff := cmp.Diff(tt.kept, got.Kept); diff != "" || got.Status != sweep.Completed || got.Scanned != tt.scanned {
				t.Errorf("status %s, scanned %d, want %d; kept (-want +got):\n%s", got.Status, got.Scanned, tt.scanned, diff)
			}
			if got.Usage.FirestoreReads != 4+2 { // the counts; the lease twice
				t.Errorf("%d reads, want one a count", got.Usage.FirestoreReads)
			}
			warnings := 0
			for _, line := range f.LogLines(t) {
				if line["severity"] == "WARNING" && line["target"] == "reports" {
					warnings++
				}
			}
			if warnings != tt.warnings {
				t.Errorf("%d warnings, want %d", warnings, tt.warnings)
			}
		})
	}
}

func TestCountKeptFailsWithItsCounts(t *testing.T) {
	t.Parallel()
	f := newFunction(t, sweep.Job{Name: "testJob", Plan: func(ctx context.Context, p *sweep.Planner) error {
		return p.CountKept(ctx, sweep.Census{Due: documents.Query{Collection: "no/collection"}})
	}})
	if got := f.Run(t, ""); got.Status != sweep.Failed || len(got.Kept) != 0 {
		t.Errorf("status %s, kept %v; want failed", got.Status, got.Kept)
	}
}
