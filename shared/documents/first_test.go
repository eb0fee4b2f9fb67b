package documents_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
)

// TestBoundsOfAnyType has values of every type in a field: a condition finds those of one type, bounds all that lie between
// them.
func TestBoundsOfAnyType(t *testing.T) {
	p := backendstest.Start(t)
	p.Set(t, "things/unset", map[string]any{"other": 1})
	for i, value := range []any{
		nil, false, int64(3), 3.5, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), "", "text",
		[]byte{}, p.Firestore(t).Doc("a/b"), []any{"x"}, firestore.Vector64{1, 2}, map[string]any{"a": "x"},
	} {
		p.Set(t, fmt.Sprintf("things/%02d", i), map[string]any{"value": value})
	}
	ctx, c, _ := open(t, p)
	r := c.Reader()
	for name, tt := range map[string]struct {
		from, until []any
		n           int
		want        []string
	}{
		"before any text":    {from: []any{false}, until: []any{""}, n: 10, want: []string{"01", "02", "03", "04"}},
		"after any text":     {from: []any{[]byte{}}, n: 10, want: []string{"07", "08", "09", "10", "11"}},
		"no more than asked": {from: []any{[]byte{}}, n: 2, want: []string{"07", "08"}},
	} {
		q := documents.Query{Collection: "things", OrderBy: []string{"value"}, Select: documents.NameOnly, From: tt.from,
			Until: tt.until}
		found, err := r.First(ctx, q, "", tt.n)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, d := range found {
			ids = append(ids, d.ID())
		}
		if !slices.Equal(ids, tt.want) {
			t.Errorf("%s: %v, want %v", name, ids, tt.want)
		}
		if n, err := r.Count(ctx, q); err != nil || tt.n == 10 && n != len(tt.want) {
			t.Errorf("%s: counted %d, %v, want %d", name, n, err, len(tt.want))
		}
	}
}
