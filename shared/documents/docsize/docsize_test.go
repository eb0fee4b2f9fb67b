package docsize_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/documents/docsize"
)

func TestSize(t *testing.T) {
	point := firestorepb.Value_GeoPointValue{}.GeoPointValue // nil, and of the right type
	for name, tt := range map[string]struct {
		value any
		want  int
	}{
		"null": {nil, 1}, "bool": {false, 1}, "int": {int64(1), 8}, "float": {1.5, 8}, "time": {time.Time{}, 8}, "point": {point, 16},
		"text": {"日本", 7}, "no text": {"", 1}, "bytes": {[]byte{1, 2}, 2}, "vector": {firestore.Vector64{1, 2}, 16},
		"reference": {&firestore.DocumentRef{Path: "a/b"}, 20},
		"list":      {[]any{int64(1), nil, "a"}, 11}, "no list": {[]any{}, 0},
		"map":         {map[string]any{"a": int64(1), "bc": nil}, 32 + 2 + 8 + 3 + 1},
		"no map":      {map[string]any{}, 32},
		"nested":      {map[string]any{"a": []any{map[string]any{"b": true}}}, 32 + 2 + 32 + 2 + 1},
		"not yet met": {struct{ X string }{"abc"}, 64 + 5},
	} {
		check.Same(t, name, tt.want, docsize.OfValue(tt.value))
	}
	// The example of https://cloud.google.com/firestore/docs/storage-size.
	task := map[string]any{"type": "Personal", "done": false, "priority": int64(1), "description": "Learn Cloud Firestore"}
	check.Same(t, "the documented example", 147, docsize.Of("users/jeff/tasks/my_task_id", task))
}

// TestSizeIsNeverLess compares with what Firestore accepts: a document just within the limit by Size is written.
func TestSizeIsNeverLess(t *testing.T) {
	p := backendstest.Start(t)
	for name, of := range map[string]func(n int) map[string]any{
		"a text": func(n int) map[string]any { return map[string]any{"t": strings.Repeat("x", n)} },
		"many maps": func(n int) map[string]any {
			return map[string]any{"l": repeated(map[string]any{"a": "日本", "b": 1.5}, n/100)}
		},
		"many nulls": func(n int) map[string]any { return map[string]any{"l": repeated(nil, n/50)} },
	} {
		t.Run(name, func(t *testing.T) {
			const path = "archive/a"
			n := docsize.Max
			for docsize.Of(path, of(n)) > docsize.Max-100 { // a field may be 89 bytes smaller than a document
				n -= 1000
			}
			if _, err := p.Firestore(t).Doc(path).Set(context.Background(), of(n)); err != nil {
				t.Errorf("a document of %d bytes: %v", docsize.Of(path, of(n)), err)
			}
		})
	}
}

func repeated(item any, n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = item
	}
	return list
}
