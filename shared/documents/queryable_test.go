package documents_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
)

// TestQueryable compares what is said to be too large with what Firestore's emulator refuses, to the byte.
func TestQueryable(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	db := p.Firestore(t)
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, at := range map[string]struct {
		largest, tooLarge any
	}{
		"a text":              {x(1499), x(1500)},
		"characters":          {strings.Repeat("語", 499) + "é", strings.Repeat("語", 500)},
		"zeros":               {strings.Repeat("\x00", 1499), strings.Repeat("\x00", 1500)},
		"bytes":               {make([]byte, 1500), make([]byte, 1501)},
		"a list":              {[]string{x(1499)}, []string{x(1500)}},
		"a list of two":       {[]any{x(749), x(749)}, []any{x(749), x(750)}},
		"a reference":         {db.Collection("things").Doc(x(1476)), db.Collection("things").Doc(x(1477))},
		"a reference, deeper": {db.Collection("things/a/more").Doc(x(1469)), db.Collection("things/a/more").Doc(x(1470))},
	} {
		for value, want := range map[*any]bool{&at.largest: true, &at.tooLarge: false} {
			_, err := db.Collection("things").Where("v", "==", *value).Documents(t.Context()).GetAll()
			if got := documents.Queryable(*value); got != want || (err == nil) != want {
				t.Errorf("%s: Queryable = %v, the emulator says %v; want %v", name, got, err, want)
			}
		}
	}
	if documents.Queryable((*firestore.DocumentRef)(nil)) {
		t.Error("a reference to nothing can be asked for")
	}
}

// TestPagesOverValuesTooLargeForAQuery pages through values of which an index holds only the beginning, the same for all.
func TestPagesOverValuesTooLargeForAQuery(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	var want []string
	for i := range 6 {
		id := fmt.Sprintf("d%d", i)
		want = append(want, id)
		p.Set(t, "things/"+id, map[string]any{"v": strings.Repeat("v", 1600) + fmt.Sprint(9-i)})
	}
	ctx, c, _ := open(t, p)
	q := documents.Query{Collection: "things", OrderBy: []string{"v"}, PageSize: 1}
	same(t, "documents, which are in order of their names where the beginnings are alike", want, slices.Concat(collect(ctx, t, c.Reader(), q, "")...))
}
