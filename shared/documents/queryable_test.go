package documents_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

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

// TestPastOtherTexts: no text is too long, wherever in the order it stands; by names alone, no text is asked for.
func TestPastOtherTexts(t *testing.T) {
	d := documents.Document{Path: "things/t", Data: map[string]any{"n": int64(7), "text": strings.Repeat("x", 5000)}}
	for _, order := range [][]string{nil, {"n", "text"}} {
		if cursor, err := (documents.Query{Collection: "things", OrderBy: order}).Past(d); cursor == "" || len(cursor) > 1600 || err != nil {
			t.Errorf("ordered by %v: a cursor of %d bytes and %v", order, len(cursor), err)
		}
	}
}

// TestPast: whatever the text, a query can ask for the cursor behind it, and nothing comes twice.
func TestPast(t *testing.T) {
	q := documents.Query{Collection: "things", OrderBy: []string{"meta.text", "at"}}
	past := func(text string) string {
		d := documents.Document{Path: "things/t", Data: map[string]any{"meta": map[string]any{"text": text}, "at": int64(7)}}
		cursor, err := q.Past(d)
		if err != nil || d.Value("meta.text") != text {
			t.Fatalf("%v; the document has %.40q", err, d.Value("meta.text"))
		}
		return string(cursor)
	}
	for _, text := range []string{"t", strings.Repeat("x", 1499), strings.Repeat("x", 1500), strings.Repeat("長", 500),
		"x" + strings.Repeat("長", 500), "xx" + strings.Repeat("長", 500)} {
		var values []struct {
			Text string
			Int  int64
		}
		ok(t, json.Unmarshal([]byte(past(text)), &values))
		at := values[0].Text
		if len(at) > 1499 || !utf8.ValidString(at) {
			t.Errorf("the cursor behind a text of %d bytes has one that cannot be asked for: %.40q", len(text), at)
		}
		if at < text {
			t.Errorf("the cursor behind a text of %d bytes lies before it: %.40q", len(text), at)
		}
		if at != text && (len(text) <= 1499 || len(at) < 1490) {
			t.Errorf("the cursor behind a text of %d bytes has another of %d: %.40q", len(text), len(at), at)
		}
		same(t, "the cursor's second value", int64(7), values[1].Int)
	}
	if cursor := past(strings.Repeat("\U0010FFFF", 400)); cursor != "" { // no text comes after it
		t.Errorf("the cursor behind all texts: %.40q", cursor)
	}
}
