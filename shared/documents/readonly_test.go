package documents_test

import (
	"context"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/pace"
)

// TestReadOnly: every way to read shows what there is, or was at a time, and nothing can be written.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	p.Set(t, "reports/changed", map[string]any{"status": "before"})
	p.Set(t, "reports/deleted", map[string]any{"status": "before"})
	_, now, _ := open(t, p)
	none, _, err := now.Reader().Get(t.Context(), "reports/none")
	if err != nil {
		t.Fatal(err)
	}
	p.Set(t, "reports/changed", map[string]any{"status": "after"})
	p.Set(t, "reports/created", map[string]any{"status": "after"})
	p.Delete(t, "reports/deleted")
	for name, tt := range map[string]struct {
		ctx     context.Context
		changed string
		there   map[string]bool // of the reports
	}{
		"now":     {t.Context(), "after", map[string]bool{"changed": true, "created": true}},
		"earlier": {documents.AsOf(t.Context(), none.ReadTime), "before", map[string]bool{"changed": true, "deleted": true}},
	} {
		t.Run(name, func(t *testing.T) {
			_, c, _ := open(t, p, documents.ReadOnly()...)
			r, all := c.Reader(), documents.Query{Collection: "reports"}
			if d, _, err := r.Get(tt.ctx, "reports/changed"); err != nil || d.Data["status"] != tt.changed {
				t.Errorf("get: %v, %v", d.Data, err)
			}
			if n, err := r.Count(tt.ctx, all); err != nil || n != 2 {
				t.Errorf("count: %d, %v", n, err)
			}
			found, err := r.First(tt.ctx, all, "", 10)
			got := map[string]bool{}
			for _, d := range found {
				got[d.ID()] = true
			}
			if diff := cmp.Diff(tt.there, got); err != nil || diff != "" {
				t.Fatalf("query (-want +got): %v\n%s", err, diff)
			}
			missing, err := r.Missing(tt.ctx, "reports", []string{"changed", "created", "deleted"})
			if err != nil || len(missing) != 1 || tt.there[missing[0]] {
				t.Errorf("missing: %v, %v", missing, err)
			}
			w := c.Writer(pace.NewRate())
			_, exchanged := w.Exchange(tt.ctx, "cleanupJobs/job", documents.Document{},
				func(documents.Document, bool) (fields, also map[string]any, _ error) {
					return map[string]any{"lease": nil}, nil, nil
				})
			for name, err := range map[string]error{
				"batch":       w.BatchWrite(tt.ctx, []*firestorepb.Write{{Operation: &firestorepb.Write_Delete{Delete: w.Name(found[0].Path)}}})[0],
				"exchange":    exchanged,
				"transaction": transact(tt.ctx, w, func(*documents.Transaction) error { return nil }),
			} {
				if status.Code(err) != codes.PermissionDenied {
					t.Errorf("%s: %v, want PermissionDenied", name, err)
				}
			}
		})
	}
	if left := p.Documents(t, "reports"); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
}
