package enginetest

import (
	"os"
	"strings"
	"testing"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/emulator/check"
)

// ended is a test that runs its cleanup at once and records its failure.
type ended struct {
	testing.TB
	cleanup func()
	failure string
}

func (e *ended) Helper()                   {}
func (e *ended) Failed() bool              { return false }
func (e *ended) Cleanup(f func())          { e.cleanup = f }
func (e *ended) Errorf(_ string, a ...any) { e.failure = a[1].(string) }

func TestGoldenFileThatDiffers(t *testing.T) {
	t.Chdir(t.TempDir())
	check.OK(t, os.Mkdir("testdata", 0o700))
	check.OK(t, os.WriteFile("testdata/known.golden", []byte("Firestore Commit 2\n"), 0o600))
	for _, tt := range []struct{ name, text, want string }{
		{"known", "Firestore Commit 2\n", ""},
		{"known", "Firestore Commit 3\n", "Commit 3"},
		{"known", "", "Commit 2"},
		{"unknown", "Firestore Commit 2\n", "Commit 2"},
	} {
		e := &ended{TB: t}
		NewGolden(e, tt.name).text.WriteString(tt.text)
		e.cleanup()
		if (e.failure == "") != (tt.want == "") || !strings.Contains(e.failure, tt.want) {
			t.Errorf("%s, %q: told %q, want %q", tt.name, tt.text, e.failure, tt.want)
		}
	}
}

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
			check.OK(t, err)
			var req firestorepb.RunQueryRequest
			check.OK(t, proto.Unmarshal(serialized, &req))
			got := requiredIndex(req.GetStructuredQuery(), alternatives(req.GetStructuredQuery().GetWhere())[0]...)
			check.Same(t, "requiredIndex", tt.want, got, cmp.AllowUnexported(need{}))
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
		check.Same(t, name, tt.want, n.coveredBy(tt.indexes))
	}
}

func field(op firestorepb.StructuredQuery_FieldFilter_Operator, values int) *firestorepb.StructuredQuery_Filter {
	v := &firestorepb.Value{ValueType: &firestorepb.Value_ArrayValue{ArrayValue: &firestorepb.ArrayValue{Values: make([]*firestorepb.Value, values)}}}
	return &firestorepb.StructuredQuery_Filter{FilterType: &firestorepb.StructuredQuery_Filter_FieldFilter{
		FieldFilter: &firestorepb.StructuredQuery_FieldFilter{Op: op, Value: v},
	}}
}

func composite(op firestorepb.StructuredQuery_CompositeFilter_Operator,
	parts ...*firestorepb.StructuredQuery_Filter) *firestorepb.StructuredQuery_Filter {
	return &firestorepb.StructuredQuery_Filter{FilterType: &firestorepb.StructuredQuery_Filter_CompositeFilter{
		CompositeFilter: &firestorepb.StructuredQuery_CompositeFilter{Op: op, Filters: parts},
	}}
}

func TestBeyondLimits(t *testing.T) {
	const (
		and   = firestorepb.StructuredQuery_CompositeFilter_AND
		or    = firestorepb.StructuredQuery_CompositeFilter_OR
		equal = firestorepb.StructuredQuery_FieldFilter_EQUAL
		in    = firestorepb.StructuredQuery_FieldFilter_IN
	)
	gaps := func(n int) *firestorepb.StructuredQuery_Filter {
		var parts []*firestorepb.StructuredQuery_Filter
		for range n {
			parts = append(parts, composite(and, field(equal, 0), field(equal, 0)))
		}
		return composite(or, parts...)
	}
	for name, tt := range map[string]struct {
		where  *firestorepb.StructuredQuery_Filter
		orders int
		want   string
	}{
		"no filter":               {nil, 2, ""},
		"30 ids by name":          {field(in, 30), 1, ""},
		"31 ids":                  {field(in, 31), 1, "c: 31 disjunctions, at most 30"},
		"25 gaps, two orders":     {gaps(25), 2, ""},
		"26 gaps, two orders":     {gaps(26), 2, "c: 104 filters and sort orders in disjunctive normal form, at most 100"},
		"5 ids and one of 7":      {composite(and, field(in, 5), field(in, 7)), 0, "c: 35 disjunctions, at most 30"},
		"5 ids and one of 6":      {composite(and, field(in, 5), field(in, 6)), 1, ""},
		"5 ids, one of 6, orders": {composite(and, field(in, 5), field(in, 6)), 2, "c: 120 filters and sort orders in disjunctive normal form, at most 100"},
	} {
		q := &firestorepb.StructuredQuery{
			From: []*firestorepb.StructuredQuery_CollectionSelector{{CollectionId: "c"}}, Where: tt.where,
			OrderBy: make([]*firestorepb.StructuredQuery_Order, tt.orders),
		}
		check.Same(t, name, tt.want, beyondLimits(q))
	}
}
