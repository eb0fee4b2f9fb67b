package enginetest

import (
	"testing"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
)

func TestRequiredIndex(t *testing.T) {
	asc := func(field string) indexField { return indexField{FieldPath: field, Order: "ASCENDING"} }
	things := (&firestore.Client{}).Collection("things").Query
	tests := []struct {
		name  string
		query firestore.Query
		want  *need
	}{
		{"no condition", things, nil},
		{"one equality", things.Where("a", "==", 1), nil},
		{"equalities merge", things.Where("a", "==", 1).Where("b", "in", []int{1, 2}), nil},
		{"null is an equality", things.Where("a", "==", nil).Where("b", "==", 1), nil},
		{"one range, ordered by it", things.Where("a", "<", 1).OrderBy("a", firestore.Asc), nil},
		{"order by name", things.Where("a", "==", 1).OrderBy(firestore.DocumentID, firestore.Asc), nil},
		{"equality and range", things.Where("a", "==", 1).Where("b", "<", 1),
			&need{collection: "things", scope: "COLLECTION", equal: []string{"a"}, ordered: []indexField{asc("b")}}},
		{"in and range, ordered", things.Where("b", "in", []int{1}).Where("c", ">=", 1).OrderBy("c", firestore.Asc).OrderBy(firestore.DocumentID, firestore.Asc),
			&need{collection: "things", scope: "COLLECTION", equal: []string{"b"}, ordered: []indexField{asc("c")}}},
		{"equality and descending order", things.Where("a", "==", 1).OrderBy("b", firestore.Desc),
			&need{collection: "things", scope: "COLLECTION", equal: []string{"a"},
				ordered: []indexField{{FieldPath: "b", Order: "DESCENDING"}}}},
		{"not null is a range", things.Where("a", "!=", nil).Where("b", "==", 1),
			&need{collection: "things", scope: "COLLECTION", equal: []string{"b"}, ordered: []indexField{asc("a")}}},
		{"two ranges, ordered", things.Where("a", "<", 1).Where("b", ">", "").OrderBy("b", firestore.Asc).OrderBy("a", firestore.Asc).OrderBy(firestore.DocumentID, firestore.Asc),
			&need{collection: "things", scope: "COLLECTION", ordered: []indexField{asc("b"), asc("a")}}},
		{"two ranges, in the order of their names", things.Where("b", ">", "").Where("a", "<", 1),
			&need{collection: "things", scope: "COLLECTION", ordered: []indexField{asc("a"), asc("b")}}},
		{"two ranges, one ordered", things.Where("a", "<", 1).Where("b", ">", "").OrderBy("b", firestore.Desc),
			&need{collection: "things", scope: "COLLECTION",
				ordered: []indexField{{FieldPath: "b", Order: "DESCENDING"}, {FieldPath: "a", Order: "DESCENDING"}}}},
		{"two ranges, the name before one", things.Where("a", "<", 1).Where("b", ">", "").OrderBy("b", firestore.Asc).OrderBy(firestore.DocumentID, firestore.Asc),
			&need{collection: "things", scope: "COLLECTION", ordered: []indexField{asc("b"), asc(documentName), asc("a")}}},
		{"the name in another direction", things.OrderBy("a", firestore.Asc).OrderBy(firestore.DocumentID, firestore.Desc),
			&need{collection: "things", scope: "COLLECTION",
				ordered: []indexField{asc("a"), {FieldPath: documentName, Order: "DESCENDING"}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			serialized, err := tt.query.Serialize()
			if err != nil {
				t.Fatal(err)
			}
			var req firestorepb.RunQueryRequest
			if err := proto.Unmarshal(serialized, &req); err != nil {
				t.Fatal(err)
			}
			got := requiredIndex(req.GetStructuredQuery(), alternatives(req.GetStructuredQuery().GetWhere())[0]...)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(need{})); diff != "" {
				t.Errorf("requiredIndex (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCoveredBy(t *testing.T) {
	n := need{collection: "things", scope: "COLLECTION", equal: []string{"a", "b"},
		ordered: []indexField{{FieldPath: "c", Order: "ASCENDING"}}}
	of := func(collection, scope string, fields ...indexField) []index {
		return []index{{CollectionGroup: collection, QueryScope: scope, Fields: fields}}
	}
	a, b, c := indexField{FieldPath: "a", Order: "ASCENDING"}, indexField{FieldPath: "b", Order: "ASCENDING"},
		indexField{FieldPath: "c", Order: "ASCENDING"}
	for name, tt := range map[string]struct {
		indexes []index
		want    bool
	}{
		"the one":                {of("things", "COLLECTION", a, b, c), true},
		"equalities swapped":     {of("things", "COLLECTION", b, a, c), true},
		"range not last":         {of("things", "COLLECTION", a, c, b), false},
		"too short":              {of("things", "COLLECTION", a, c), false},
		"too long":               {of("things", "COLLECTION", a, b, c, indexField{FieldPath: "d", Order: "ASCENDING"}), false},
		"another direction":      {of("things", "COLLECTION", a, b, indexField{FieldPath: "c", Order: "DESCENDING"}), false},
		"another collection":     {of("others", "COLLECTION", a, b, c), false},
		"another scope":          {of("things", "COLLECTION_GROUP", a, b, c), false},
		"none":                   {nil, false},
		"second of two suffices": {append(of("others", "COLLECTION", a), of("things", "COLLECTION", a, b, c)...), true},
	} {
		if got := n.coveredBy(tt.indexes); got != tt.want {
			t.Errorf("%s: coveredBy = %v, want %v", name, got, tt.want)
		}
	}
}
