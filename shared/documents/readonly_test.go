package documents_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/pace"
)

func TestReadOnly(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	p.Set(t, "reports/one", map[string]any{"status": "reviewed"})
	c, err := documents.Open(t.Context(), documents.Database{
		Project: p.ID, ID: "(default)", EmulatorHost: p.Environment["FIRESTORE_EMULATOR_HOST"],
	}, documents.ReadOnly()...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	reports := documents.Query{Collection: "reports"}
	if _, found, err := c.Reader().Get(t.Context(), "reports/one"); err != nil || !found {
		t.Errorf("get: found %t, %v", found, err)
	}
	if n, err := c.Reader().Count(t.Context(), reports); err != nil || n != 1 {
		t.Errorf("count: %d, %v", n, err)
	}
	found, err := c.Reader().First(t.Context(), reports, "", 10)
	if err != nil || len(found) != 1 {
		t.Fatalf("query: %d, %v", len(found), err)
	}
	w := c.Writer(pace.NewRate())
	_, exchanged := w.Exchange(t.Context(), "cleanupJobs/job", documents.Document{}, func(documents.Document, bool) (fields, also map[string]any, _ error) {
		return map[string]any{"lease": nil}, nil, nil
	})
	for name, err := range map[string]error{
		"delete":      w.Delete(t.Context(), []documents.Deletion{{Path: found[0].Path, LastUpdateTime: found[0].UpdateTime}})[0],
		"exchange":    exchanged,
		"transaction": w.Transact(t.Context(), nil),
	} {
		if status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s: %v, want PermissionDenied", name, err)
		}
	}
	if left := p.Documents(t, "reports"); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}
