package enginetest

import (
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
)

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
		if got := beyondLimits(q); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
