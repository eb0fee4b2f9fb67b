package standin

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Google's limits of a query.
const (
	maxDisjunctions = 30
	maxTerms        = 100 // filters and orders in disjunctive normal form
	maxValue        = 1500
)

const nameField = "__name__"

// condition is one filter.
type condition struct {
	field string
	op    pb.StructuredQuery_FieldFilter_Operator
	value *pb.Value
}

// query is a query that has been looked through.
type query struct {
	s     *store
	c     *collection
	any   [][]condition // all conditions of at least one of these
	order []*pb.StructuredQuery_Order
	start *pb.Cursor
	end   *pb.Cursor
	limit int // 0: none
}

func wrong(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

func (s *store) query(parent string, q *pb.StructuredQuery) (*query, error) {
	if len(q.GetFrom()) != 1 || q.GetFrom()[0].GetAllDescendants() || q.GetOffset() != 0 {
		return nil, status.Error(codes.Unimplemented, "the stand-in knows queries of one collection, without an offset")
	}
	path, ok := strings.CutPrefix(parent+"/", s.root+"/")
	if !ok {
		return nil, wrong("the parent %q is not of this database", parent)
	}
	out := &query{
		s: s, c: s.collection(path + q.GetFrom()[0].GetCollectionId()), start: q.GetStartAt(), end: q.GetEndAt(),
		limit: int(q.GetLimit().GetValue()), order: q.GetOrderBy(), any: [][]condition{nil},
	}
	if q.GetWhere() != nil {
		var err error
		if out.any, err = normal(q.GetWhere()); err != nil {
			return nil, err
		}
	}
	terms := 0
	for _, all := range out.any {
		terms += len(all) + len(q.GetOrderBy())
	}
	switch {
	case len(out.any) > maxDisjunctions:
		return nil, wrong("the query has %d disjunctions, at most %d are allowed", len(out.any), maxDisjunctions)
	case terms > maxTerms && len(out.any) > 1:
		return nil, wrong("the query has %d filters and orders in disjunctive normal form, at most %d are allowed", terms, maxTerms)
	}
	out.addOrders()
	return out, nil
}

// normal returns a filter in disjunctive normal form.
func normal(f *pb.StructuredQuery_Filter) ([][]condition, error) {
	switch f := f.GetFilterType().(type) {
	case *pb.StructuredQuery_Filter_FieldFilter:
		return normalField(f.FieldFilter)
	case *pb.StructuredQuery_Filter_UnaryFilter:
		op, known := map[pb.StructuredQuery_UnaryFilter_Operator]pb.StructuredQuery_FieldFilter_Operator{
			pb.StructuredQuery_UnaryFilter_IS_NULL:     pb.StructuredQuery_FieldFilter_EQUAL,
			pb.StructuredQuery_UnaryFilter_IS_NOT_NULL: pb.StructuredQuery_FieldFilter_NOT_EQUAL,
		}[f.UnaryFilter.GetOp()]
		if !known {
			return nil, status.Errorf(codes.Unimplemented, "the filter %v", f.UnaryFilter.GetOp())
		}
		return [][]condition{{{f.UnaryFilter.GetField().GetFieldPath(), op, value(nil)}}}, nil
	case *pb.StructuredQuery_Filter_CompositeFilter:
		var all [][]condition
		for i, part := range f.CompositeFilter.GetFilters() {
			of, err := normal(part)
			if err != nil {
				return nil, err
			}
			if f.CompositeFilter.GetOp() == pb.StructuredQuery_CompositeFilter_OR || i == 0 {
				all = append(all, of...)
				continue
			}
			var both [][]condition
			for _, a := range all {
				for _, b := range of {
					both = append(both, slices.Concat(a, b))
				}
			}
			all = both
		}
		return all, nil
	}
	return nil, status.Errorf(codes.Unimplemented, "the filter %v", f)
}

func normalField(f *pb.StructuredQuery_FieldFilter) ([][]condition, error) {
	field, value := f.GetField().GetFieldPath(), f.GetValue()
	values := []*pb.Value{value}
	op := f.GetOp()
	if op == pb.StructuredQuery_FieldFilter_IN {
		op, values = pb.StructuredQuery_FieldFilter_EQUAL, value.GetArrayValue().GetValues()
		if len(values) == 0 || len(values) > maxDisjunctions {
			return nil, wrong("'IN' takes 1 to %d values, not %d", maxDisjunctions, len(values))
		}
	}
	var all [][]condition
	for _, v := range values {
		if len(v.GetStringValue()) >= maxValue || len(v.GetBytesValue()) >= maxValue {
			return nil, wrong("the value of %s is longer than %d bytes", field, maxValue)
		}
		if field == nameField && v.GetReferenceValue() == "" {
			return nil, wrong("__name__ is compared with %v, which is no document's name", v)
		}
		all = append(all, []condition{{field, op, v}})
	}
	return all, nil
}

// addOrders adds the orders that a query has without saying so: by what it bounds, and by the name.
func (q *query) addOrders() {
	if len(q.order) == 0 {
		for _, all := range q.any {
			for _, cond := range all {
				if cond.ranges() && cond.field != nameField && !q.orderedBy(cond.field) {
					q.order = append(q.order, ascending(cond.field))
				}
			}
		}
		slices.SortFunc(q.order, func(a, b *pb.StructuredQuery_Order) int {
			return strings.Compare(a.GetField().GetFieldPath(), b.GetField().GetFieldPath())
		})
	}
	if !q.orderedBy(nameField) {
		last := ascending(nameField)
		if n := len(q.order); n > 0 {
			last.Direction = q.order[n-1].GetDirection()
		}
		q.order = append(slices.Clone(q.order), last)
	}
}

func ascending(field string) *pb.StructuredQuery_Order {
	return &pb.StructuredQuery_Order{
		Field: &pb.StructuredQuery_FieldReference{FieldPath: field}, Direction: pb.StructuredQuery_ASCENDING,
	}
}

func (q *query) orderedBy(field string) bool {
	return slices.ContainsFunc(q.order, func(o *pb.StructuredQuery_Order) bool { return o.GetField().GetFieldPath() == field })
}

func (c condition) ranges() bool {
	switch c.op {
	case pb.StructuredQuery_FieldFilter_LESS_THAN, pb.StructuredQuery_FieldFilter_LESS_THAN_OR_EQUAL,
		pb.StructuredQuery_FieldFilter_GREATER_THAN, pb.StructuredQuery_FieldFilter_GREATER_THAN_OR_EQUAL,
		pb.StructuredQuery_FieldFilter_NOT_EQUAL:
		return true
	default:
		return false
	}
}

// value returns a document's value of a field, its name included.
func (q *query) value(d *doc, field string) *pb.Value {
	if field == nameField {
		return &pb.Value{ValueType: &pb.Value_ReferenceValue{ReferenceValue: q.s.name(q.c, d)}}
	}
	return d.field(field)
}

func (c condition) holds(v *pb.Value) bool {
	if v == nil {
		return false
	}
	if c.op == pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS {
		return slices.ContainsFunc(v.GetArrayValue().GetValues(), func(e *pb.Value) bool { return compare(e, c.value) == 0 })
	}
	if c.op == pb.StructuredQuery_FieldFilter_NOT_EQUAL {
		return compare(v, c.value) != 0 && kind(v) != kind(nil)
	}
	return c.place(v) == 0
}

// place tells whether a value lies before (-1), among (0) or behind (1) those for which a condition holds that holds for values
// in a row.
func (c condition) place(v *pb.Value) int {
	order := compare(v, c.value)
	ofKind := cmp.Compare(kind(v), kind(c.value))
	switch {
	case ofKind != 0:
		return ofKind
	case c.op == pb.StructuredQuery_FieldFilter_LESS_THAN && order == 0:
		return 1
	case c.op == pb.StructuredQuery_FieldFilter_GREATER_THAN && order == 0:
		return -1
	case c.op == pb.StructuredQuery_FieldFilter_LESS_THAN, c.op == pb.StructuredQuery_FieldFilter_LESS_THAN_OR_EQUAL:
		return max(order, 0)
	case c.op == pb.StructuredQuery_FieldFilter_GREATER_THAN, c.op == pb.StructuredQuery_FieldFilter_GREATER_THAN_OR_EQUAL:
		return min(order, 0)
	default:
		return order
	}
}

// less compares two documents by the query's orders.
func (q *query) less(a, b *doc) int {
	for _, o := range q.order {
		field := o.GetField().GetFieldPath()
		if c := directed(o, compare(q.value(a, field), q.value(b, field))); c != 0 {
			return c
		}
	}
	return 0
}

func directed(o *pb.StructuredQuery_Order, c int) int {
	if o.GetDirection() == pb.StructuredQuery_DESCENDING {
		return -c
	}
	return c
}

// outside tells whether a document lies before the query's first cursor (-1), between both (0) or behind the second (1).
func (q *query) outside(d *doc) int {
	to := func(values []*pb.Value) int {
		for i, v := range values {
			if c := directed(q.order[i], compare(q.value(d, q.order[i].GetField().GetFieldPath()), v)); c != 0 {
				return c
			}
		}
		return 0
	}
	if q.start != nil {
		if c := to(q.start.GetValues()); c < 0 || c == 0 && !q.start.GetBefore() {
			return -1
		}
	}
	if q.end != nil {
		if c := to(q.end.GetValues()); c > 0 || c == 0 && q.end.GetBefore() {
			return 1
		}
	}
	return 0
}

// ascends reports whether all orders do.
func (q *query) ascends() bool {
	for _, o := range q.order {
		if o.GetDirection() == pb.StructuredQuery_DESCENDING {
			return false
		}
	}
	return true
}

// search returns the part of an index in which the documents lie that meet conditions, and those conditions that must be looked
// at for each of them. The index has the fields of equalities first and then those of the orders, as Firestore's own have.
func (q *query) search(conditions []condition) (found []entry, rest []condition) {
	var equal, row []condition
	first := q.order[0].GetField().GetFieldPath()
	for _, c := range conditions {
		has := slices.ContainsFunc(equal, func(e condition) bool { return e.field == c.field })
		switch {
		case c.op == pb.StructuredQuery_FieldFilter_EQUAL && !has:
			equal = append(equal, c)
		case c.field == first && c.ranges() && c.op != pb.StructuredQuery_FieldFilter_NOT_EQUAL && !has:
			row = append(row, c)
		default:
			rest = append(rest, c)
		}
	}
	var fields []string
	for _, e := range equal {
		fields = append(fields, e.field)
	}
	for _, o := range q.order {
		if f := o.GetField().GetFieldPath(); f != nameField && !slices.Contains(fields, f) {
			fields = append(fields, f)
		}
	}
	all, between := q.c.index(fields).entries, q.ascends()
	place := func(i int) int {
		for k, e := range equal {
			if c := compare(all[i].key[k], e.value); c != 0 {
				return c
			}
		}
		for _, c := range row {
			if p := c.place(q.value(all[i].d, c.field)); p != 0 {
				return p
			}
		}
		if between {
			return q.outside(all[i].d)
		}
		return 0
	}
	from := sort.Search(len(all), func(i int) bool { return place(i) >= 0 })
	to := from + sort.Search(len(all)-from, func(i int) bool { return place(from+i) > 0 })
	return all[from:to], rest
}

// named returns the document that conditions name, nil if they name none; byName reports whether one of them asks for a name.
func (q *query) named(conditions []condition) (d *doc, byName bool) {
	for _, c := range conditions {
		if c.field == nameField && c.op == pb.StructuredQuery_FieldFilter_EQUAL {
			name := c.value.GetReferenceValue()
			return q.c.docs[name[strings.LastIndexByte(name, '/')+1:]], true
		}
	}
	return nil, false
}

// answer returns the documents that the query finds, in its order.
func (q *query) answer() []*doc {
	var found []*doc
	once := map[*doc]bool{}
	add := func(d *doc, conditions []condition) {
		fails := func(c condition) bool { return !c.holds(q.value(d, c.field)) }
		if once[d] || q.outside(d) != 0 || slices.ContainsFunc(conditions, fails) {
			return
		}
		found = append(found, d)
		if len(q.any) > 1 {
			once[d] = true
		}
	}
	for _, conditions := range q.any {
		if d, byName := q.named(conditions); byName {
			lacks := func(o *pb.StructuredQuery_Order) bool { return q.value(d, o.GetField().GetFieldPath()) == nil }
			if d != nil && !slices.ContainsFunc(q.order, lacks) {
				add(d, conditions)
			}
			continue
		}
		some, rest := q.search(conditions)
		for _, e := range some {
			add(e.d, rest)
			if len(q.any) == 1 && q.ascends() && len(found) == q.limit && q.limit > 0 {
				return found
			}
		}
	}
	if len(q.any) > 1 || !q.ascends() {
		slices.SortFunc(found, q.less)
	}
	if q.limit > 0 {
		found = found[:min(len(found), q.limit)]
	}
	return found
}

// count counts what the query finds.
func (q *query) count() int {
	if _, byName := q.named(q.any[0]); len(q.any) == 1 && !byName && q.ascends() {
		if some, rest := q.search(q.any[0]); len(rest) == 0 {
			return min(len(some), cmp.Or(q.limit, len(some)))
		}
	}
	return len(q.answer())
}
