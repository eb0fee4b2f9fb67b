package documents_test

import (
	"errors"
	"fmt"
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
	d, _, errGet := r.Get(t.Context(), "reports/a")
	n, errCount := r.Count(t.Context(), all, 0)
	found, errFirst := r.First(t.Context(), all, "", 10)
	missing, errMissing := r.Missing(t.Context(), "reports", []string{"a", "none"})
	ok(t, errors.Join(errGet, errCount, errFirst, errMissing))
	same(t, "what is read", "open 2 2 [none]", fmt.Sprint(d.Data["status"], " ", n, " ", len(found), " ", missing))
	w := c.Writer(pace.NewRate())
	_, exchanged := w.Exchange(t.Context(), "cleanupJobs/job", documents.Document{},
		func(documents.Document, bool) (fields, also map[string]any, _ error) {
			return map[string]any{"lease": nil}, nil, nil
		})
	for name, err := range map[string]error{
		"commit":      w.Commit(t.Context(), []*firestorepb.Write{{Operation: &firestorepb.Write_Delete{Delete: w.Name("reports/a")}}}),
		"exchange":    exchanged,
		"transaction": transact(t.Context(), w, func(*documents.Transaction) error { return nil }),
	} {
		same(t, name, codes.PermissionDenied, status.Code(err))
	}
	same(t, "left", 2, len(p.Documents(t, "reports")))
}
