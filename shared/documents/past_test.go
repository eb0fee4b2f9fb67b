package documents_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/firesweep/firesweep/shared/documents"
)

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
