package documents_test

import (
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/pace"
)

// TestReadOnly: every way to read shows what there is, and nothing can be written.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	for _, id := range []string{"a", "b"} {
		p.Set(t, "reports/"+id, map[string]any{"status": "open"})
	}
	_, c, _ := open(t, p, documents.ReadOnly()...)
	r, all := c.Reader(), documents.Query{Collection: "reports"}
	if d, _, err := r.Get(t.Context(), "reports/a"); err != nil || d.Data["status"] != "open" {
		t.Errorf("get: %v, %v", d.Data, err)
	}
	if n, err := r.Count(t.Context(), all, 0); err != nil || n != 2 {
		t.Errorf("count: %d, %v", n, err)
	}
	found, err := r.First(t.Context(), all, "", 10)
	if err != nil || len(found) != 2 || found[0].ID() != "a" || found[1].ID() != "b" {
		t.Fatalf("query: %v, %v", found, err)
	}
	missing, err := r.Missing(t.Context(), "reports", []string{"a", "none"})
	if err != nil || len(missing) != 1 || missing[0] != "none" {
		t.Errorf("missing: %v, %v", missing, err)
	}
	w := c.Writer(pace.NewRate())
	_, exchanged := w.Exchange(t.Context(), "cleanupJobs/job", documents.Document{},
		func(documents.Document, bool) (fields, also map[string]any, _ error) {
			return map[string]any{"lease": nil}, nil, nil
		})
	for name, err := range map[string]error{
		"commit":      w.Commit(t.Context(), []*firestorepb.Write{{Operation: &firestorepb.Write_Delete{Delete: w.Name(found[0].Path)}}}),
		"exchange":    exchanged,
		"transaction": transact(t.Context(), w, func(*documents.Transaction) error { return nil }),
	} {
		same(t, name, codes.PermissionDenied, status.Code(err))
	}
	same(t, "left", 2, len(p.Documents(t, "reports")))
}
