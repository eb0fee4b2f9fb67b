package past_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/pace"
	"github.com/firesweep/firesweep/shared/documents/past"
)

// TestAt: every way to read shows what was there at that time, and nothing can be written.
func TestAt(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	open := func(dial ...grpc.DialOption) *documents.Client {
		c, err := documents.Open(t.Context(), documents.Database{
			Project: p.ID, ID: "(default)", EmulatorHost: p.Environment["FIRESTORE_EMULATOR_HOST"],
		}, dial...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
		return c
	}
	p.Set(t, "reports/changed", map[string]any{"status": "before"})
	p.Set(t, "reports/deleted", map[string]any{"status": "before"})
	between := readTime(t, open().Reader())
	p.Set(t, "reports/changed", map[string]any{"status": "after"})
	p.Set(t, "reports/created", map[string]any{"status": "after"})
	p.Delete(t, "reports/deleted")

	past := open(past.At(between)...)
	r, all := past.Reader(), documents.Query{Collection: "reports"}
	if d, _, err := r.Get(t.Context(), "reports/changed"); err != nil || d.Data["status"] != "before" {
		t.Errorf("get: %v, %v", d.Data, err)
	}
	if n, err := r.Count(t.Context(), all); err != nil || n != 2 {
		t.Errorf("count: %d, %v", n, err)
	}
	found, err := r.First(t.Context(), all, "", 10)
	if err != nil || len(found) != 2 || found[1].ID() != "deleted" {
		t.Errorf("query: %v, %v", found, err)
	}
	missing, err := r.Missing(t.Context(), "reports", []string{"changed", "created", "deleted"})
	if diff := cmp.Diff([]string{"created"}, missing); err != nil || diff != "" {
		t.Errorf("missing (-want +got): %v\n%s", err, diff)
	}

	w := past.Writer(pace.NewRate())
	_, exchanged := w.Exchange(t.Context(), "cleanupJobs/job", documents.Document{}, func(documents.Document, bool) (fields, also map[string]any, _ error) {
		return map[string]any{"lease": nil}, nil, nil
	})
	for name, err := range map[string]error{
		"delete":      w.Delete(t.Context(), []documents.Deletion{{Path: found[0].Path, LastUpdateTime: found[0].UpdateTime}})[0],
		"exchange":    exchanged,
		"transaction": w.Transact(t.Context(), func(context.Context, *documents.Transaction) error { return nil }),
	} {
		if status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s: %v, want PermissionDenied", name, err)
		}
	}
	if left := p.Documents(t, "reports"); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
}

// readTime is when the database was read, by its own clock.
func readTime(t *testing.T, r documents.Reader) time.Time {
	t.Helper()
	d, _, err := r.Get(t.Context(), "reports/none")
	if err != nil {
		t.Fatal(err)
	}
	return d.ReadTime
}
