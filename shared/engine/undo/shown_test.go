package undo

import (
	"math"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/genproto/googleapis/type/latlng"

	"github.com/firesweep/firesweep/shared/documents"
)

func encoded(t *testing.T, values map[string]any) Fields {
	t.Helper()
	fields, err := documents.Encode(values)
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

// TestChangeShown looks at what is shown of each kind of change. Of an update the log names only what was written.
func TestChangeShown(t *testing.T) {
	before := map[string]any{"kept": 1, "removed": 2, "updated": 3}
	for what, c := range map[string]struct {
		change Change
		want   string
	}{
		"an update": {Change{
			Found: true, Exists: true, Before: encoded(t, before), After: encoded(t, map[string]any{"updated": 4, "added": 5}),
			Removed: []string{"removed"},
		}, "changed: *added -5 *removed 2- *updated 34 kept 11"},
		"a deletion":           {Change{Found: true, Whole: true, Before: encoded(t, map[string]any{"a": 1})}, "deleted: *a 1-"},
		"a document that came": {Change{Exists: true, Whole: true, After: encoded(t, map[string]any{"a": 1})}, "created: *a -1"},
		"one that was written anew": {Change{
			Found: true, Exists: true, Whole: true, Before: encoded(t, before), After: encoded(t, map[string]any{"kept": 1}),
		}, "changed: *removed 2- *updated 3- kept 11"},
	} {
		var parts []string
		for _, f := range c.change.Fields() {
			text := f.Name + " "
			if f.Changed {
				text = "*" + text
			}
			for _, v := range []*string{f.Before, f.After} {
				if v == nil {
					text += "-"
				} else {
					text += *v
				}
			}
			parts = append(parts, text)
		}
		if said := c.change.What() + ": " + strings.Join(parts, " "); said != c.want {
			t.Errorf("%s is said as %q, want %q", what, said, c.want)
		}
	}
}

func TestValues(t *testing.T) {
	for want, v := range map[string]any{
		"null": nil, "true": true, "-7": -7, "1.5": 1.5, "NaN": math.NaN(), `"<b> \"x\"\n"`: "<b> \"x\"\n", "3 bytes": []byte("abc"),
		"2026-01-02T03:04:05.000006Z": time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
		"document users/u":            &firestore.DocumentRef{Path: "projects/p/databases/(default)/documents/users/u"},
		"1.5° N, -2° E":               &latlng.LatLng{Latitude: 1.5, Longitude: -2},
		`[1, "a", [], {}]`:            []any{1, "a", []any{}, map[string]any{}},
		`{"a": 1, "b": {"c": null}}`:  map[string]any{"b": map[string]any{"c": nil}, "a": 1},
	} {
		if got := *Shown(encoded(t, map[string]any{"f": v})["f"]); got != want {
			t.Errorf("%v is shown as %s, want %s", v, got, want)
		}
	}
	if long := Shown(encoded(t, map[string]any{"f": strings.Repeat("x", 10_000)})["f"]); len(*long) > MaxShown+10 {
		t.Errorf("a long value is shown with %d bytes", len(*long))
	}
}
