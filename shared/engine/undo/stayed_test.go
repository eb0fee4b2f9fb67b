package undo

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

// TestStayed: a note is about one deletion by its call: of an object, about the last of its generation; of anything else, about the
// first.
func TestStayed(t *testing.T) {
	object := func(generation int64) Record {
		return Record{Object: &Object{ObjectDeletion: cleanup.ObjectDeletion{Name: "x"}, Generation: generation}}
	}
	document := Record{Write: &Write{Op: documents.Delete, Path: "d/x", Found: true}}
	account := Record{Account: &Account{UID: "x"}}
	for name, tt := range map[string]struct {
		records []Record
		stay    []int
	}{
		"one generation":          {[]Record{object(1), object(1), {Stayed: "x", Generation: 1}}, []int{1}},
		"noted before the other":  {[]Record{object(1), {Stayed: "x", Generation: 1}, object(1)}, []int{0}},
		"another generation":      {[]Record{object(1), object(2), {Stayed: "x", Generation: 1}}, []int{0}},
		"after a commit":          {[]Record{object(0), object(1), {Stayed: "x", Generation: 1}}, []int{1}},
		"a file of its name":      {[]Record{{Object: &Object{ObjectDeletion: cleanup.ObjectDeletion{Name: "d/x"}}}, document, {Stayed: "d/x"}}, []int{1}},
		"a document":              {[]Record{document, document, {Stayed: "d/x"}}, []int{0}},
		"a document that changes": {[]Record{{Write: &Write{Op: documents.Update, Path: "d/x", Found: true}}, document, {Stayed: "d/x"}}, []int{1}},
		"an account":              {[]Record{account, {Item: "account x"}, account, {Stayed: "account x"}, {Stayed: "account x"}}, []int{0, 2}},
		"nothing":                 {[]Record{{Stayed: "d/x"}, document}, nil},
	} {
		var s Stayed
		s.Read("another call", tt.records[0])
		s.Read("another call", Record{Item: "x"})
		noted := 0
		for _, r := range tt.records {
			if s.Read("call", r) {
				noted++
			}
		}
		var stay []int
		for i := range tt.records {
			if s.Has(i + 2) {
				stay = append(stay, i)
			}
		}
		if diff := cmp.Diff(tt.stay, stay); diff != "" || noted != len(stay) {
			t.Errorf("%s, %d noted (-want +got):\n%s", name, noted, diff)
		}
	}
}
