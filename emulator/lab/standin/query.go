package standin

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Google's limits of a query.
const (
	maxDisjunctions = 30
	maxTerms        = 100 // filters and orders in disjunctive normal form
	maxValue        = 1500
	maxSmall        = 10_000 // documents that are made and may be sorted
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
	s      *store
	c      *collection
	any    [][]condition // all conditions of at least one of these
	order  []*pb.StructuredQuery_Order
	start  *pb.Cursor
	end    *pb.Cursor
	limit  int  // 0: none
	sorted bool // documents that are made come in this order
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
	out.sorted = out.isSorted()
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
		return [][]condition{{{f.UnaryFilter.GetField().GetFieldPath(), op, Null()}}}, nil
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

// isSorted reports whether documents that are made come in the order of the query.
func (q *query) isSorted() bool {
	return !slices.ContainsFunc(q.order, func(o *pb.StructuredQuery_Order) bool {
		field := o.GetField().GetFieldPath()
		return o.GetDirection() == pb.StructuredQuery_DESCENDING || field != nameField && !q.c.absent(field) && !slices.Contains(q.c.Ascending, field)
	})
}

// absent reports whether no document that is made has the field.
func (c *collection) absent(field string) bool {
	first, _, _ := strings.Cut(field, ".")
	return !slices.Contains(c.Names, first) && !slices.Contains(c.Names, field)
}

// value returns a document's value of a field, its name included.
func (q *query) value(d *doc, field string) *pb.Value {
	if field == nameField {
		return reference(q.s.name(q.c, d))
	}
	return d.field(field)
}

func (q *query) matches(d *doc) bool {
	for _, o := range q.order {
		if q.value(d, o.GetField().GetFieldPath()) == nil {
			return false
		}
	}
	return slices.ContainsFunc(q.any, func(all []condition) bool {
		for _, c := range all {
			if !c.holds(q.value(d, c.field)) {
				return false
			}
		}
		return true
	})
}

func (c condition) holds(v *pb.Value) bool {
	if v == nil {
		return false
	}
	if c.op == pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS {
		return slices.ContainsFunc(v.GetArrayValue().GetValues(), func(e *pb.Value) bool { return compare(e, c.value) == 0 })
	}
	order := compare(v, c.value)
	if c.op == pb.StructuredQuery_FieldFilter_NOT_EQUAL {
		return order != 0 && kind(v) != kind(Null())
	}
	if kind(v) != kind(c.value) {
		return false
	}
	switch c.op {
	case pb.StructuredQuery_FieldFilter_EQUAL:
		return order == 0
	case pb.StructuredQuery_FieldFilter_LESS_THAN:
		return order < 0
	case pb.StructuredQuery_FieldFilter_LESS_THAN_OR_EQUAL:
		return order <= 0
	case pb.StructuredQuery_FieldFilter_GREATER_THAN:
		return order > 0
	case pb.StructuredQuery_FieldFilter_GREATER_THAN_OR_EQUAL:
		return order >= 0
	default:
		return false
	}
}

// compareTo puts a document before or behind a cursor's values.
func (q *query) compareTo(d *doc, values []*pb.Value) int {
	for i, v := range values {
		c := compare(q.value(d, q.order[i].GetField().GetFieldPath()), v)
		if q.order[i].GetDirection() == pb.StructuredQuery_DESCENDING {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// within reports whether a document lies between the query's cursors.
func (q *query) within(d *doc) bool {
	if q.start != nil {
		if c := q.compareTo(d, q.start.GetValues()); c < 0 || c == 0 && !q.start.GetBefore() {
			return false
		}
	}
	if q.end != nil {
		if c := q.compareTo(d, q.end.GetValues()); c > 0 || c == 0 && q.end.GetBefore() {
			return false
		}
	}
	return true
}

func (q *query) less(a, b *doc) int {
	for _, o := range q.order {
		field := o.GetField().GetFieldPath()
		c := compare(q.value(a, field), q.value(b, field))
		if o.GetDirection() == pb.StructuredQuery_DESCENDING {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// span is numbers from one up to another.
type span struct{ from, to int }

// spans returns where documents that are made and match may lie, in order and apart from each other, and whether all that lie
// there match.
func (q *query) spans() (apart []span, all bool) {
	n := q.c.Len
	exact := q.start == nil && q.end == nil
	whole := span{0, n}
	first := func(f func(*doc) bool) int {
		return sort.Search(n, func(i int) bool { return f(q.c.numbered(q.s, i)) })
	}
	if q.sorted && q.start != nil {
		whole.from = first(func(d *doc) bool { return q.compareTo(d, q.start.GetValues()) >= 0 })
	}
	var found []span
	for _, conditions := range q.any {
		in := whole
		for _, c := range conditions {
			if c.field == nameField && c.op == pb.StructuredQuery_FieldFilter_EQUAL {
				id := c.value.GetReferenceValue()
				i, found := q.c.find(id[strings.LastIndexByte(id, '/')+1:])
				if !found {
					in.to = in.from
					break
				}
				in.from, in.to = max(in.from, i), min(in.to, i+1)
				continue
			}
			if c.field != nameField && !slices.Contains(q.c.Ascending, c.field) {
				if q.c.absent(c.field) {
					in.to = in.from
				}
				exact = false
				continue
			}
			bounds, known := q.spanOf(c, first)
			in.from, in.to = max(in.from, bounds.from), min(in.to, bounds.to)
			exact = exact && known
		}
		if in.from < in.to {
			found = append(found, in)
		}
	}
	for _, o := range q.order {
		f := o.GetField().GetFieldPath()
		if f != nameField && q.c.absent(f) {
			return nil, true
		}
		exact = exact && (f == nameField || slices.Contains(q.c.Ascending, f))
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, s := range found {
		if last := len(apart) - 1; last >= 0 && s.from <= apart[last].to {
			apart[last].to = max(apart[last].to, s.to)
			continue
		}
		apart = append(apart, s)
	}
	return apart, exact
}

// spanOf returns between which numbers the documents lie that a condition holds for, of a field that ascends; all is false if
// some of the documents there may not match. first finds the first document of which something is true.
func (q *query) spanOf(c condition, first func(func(*doc) bool) int) (in span, all bool) {
	at := func(least int) int {
		return first(func(d *doc) bool { return compare(q.value(d, c.field), c.value) >= least })
	}
	ofKind := func(least int) int {
		return first(func(d *doc) bool { return cmp.Compare(kind(q.value(d, c.field)), kind(c.value)) >= least })
	}
	switch c.op {
	case pb.StructuredQuery_FieldFilter_GREATER_THAN:
		return span{at(1), ofKind(1)}, true
	case pb.StructuredQuery_FieldFilter_GREATER_THAN_OR_EQUAL:
		return span{at(0), ofKind(1)}, true
	case pb.StructuredQuery_FieldFilter_LESS_THAN:
		return span{ofKind(0), at(0)}, true
	case pb.StructuredQuery_FieldFilter_LESS_THAN_OR_EQUAL:
		return span{ofKind(0), at(1)}, true
	case pb.StructuredQuery_FieldFilter_EQUAL:
		return span{at(0), at(1)}, true
	case pb.StructuredQuery_FieldFilter_NOT_EQUAL:
		if kind(c.value) == kind(Null()) {
			return span{at(1), q.c.Len}, true
		}
		return span{0, q.c.Len}, false
	default:
		return span{0, q.c.Len}, false
	}
}

// made returns the documents of the answer that are made, in the order in which they are made.
func (q *query) made() iter.Seq[*doc] {
	return func(yield func(*doc) bool) {
		spans, _ := q.spans()
		for _, s := range spans {
			for i := s.from; i < s.to; i++ {
				if d := q.c.numbered(q.s, i); !q.c.gone.has(i) && q.matches(d) && q.within(d) && !yield(d) {
					return
				}
			}
		}
	}
}

// each calls f with the documents of the answer in their order until it returns false.
func (q *query) each(f func(*doc) bool) error {
	var written []*doc
	for _, d := range q.c.sorted() {
		if q.matches(d) && q.within(d) {
			written = append(written, d)
		}
	}
	if !q.sorted {
		for d := range q.made() {
			if written = append(written, d); len(written) > maxSmall {
				return status.Errorf(codes.Unimplemented, "the stand-in's %s are not made in the order %v", q.c.Path, q.order)
			}
		}
	}
	slices.SortFunc(written, q.less)
	sent := 0
	give := func(d *doc) bool {
		sent++
		return f(d) && sent != q.limit
	}
	var last *doc
	if q.sorted {
		spans, _ := q.spans()
		for _, s := range spans {
			for i := s.from; i < s.to; i++ {
				d := q.c.numbered(q.s, i)
				if q.c.gone.has(i) || !q.matches(d) {
					continue
				}
				if !q.within(d) {
					if q.end != nil && q.compareTo(d, q.end.GetValues()) > 0 {
						break
					}
					continue
				}
				if last != nil && q.less(last, d) >= 0 {
					return status.Errorf(codes.Internal, "the stand-in's %s do not ascend as they say: %s, %s", q.c.Path, last.id, d.id)
				}
				last = d
				for len(written) > 0 && q.less(written[0], d) < 0 {
					if !give(written[0]) {
						return nil
					}
					written = written[1:]
				}
				if !give(d) {
					return nil
				}
			}
		}
	}
	for _, d := range written {
		if !give(d) {
			return nil
		}
	}
	return nil
}

// count counts what the query finds, by the numbers of documents where they tell. The same count is made once until something is
// written.
func (q *query) count(asked *pb.StructuredQuery) (n int64, err error) {
	if spans, all := q.spans(); all && q.limit == 0 {
		for _, s := range spans {
			n += int64(s.to - s.from - q.c.gone.within(s))
		}
		for _, d := range q.c.sorted() {
			if q.matches(d) {
				n++
			}
		}
		return n, nil
	}
	key, err := proto.MarshalOptions{Deterministic: true}.Marshal(asked)
	if err != nil {
		return 0, err
	}
	if n, ok := q.c.kept[string(key)]; ok {
		return n, nil
	}
	if q.sorted || q.limit > 0 {
		err = q.each(func(*doc) bool { n++; return true })
	} else { // whatever their order
		for range q.made() {
			n++
		}
		for _, d := range q.c.sorted() {
			if q.matches(d) && q.within(d) {
				n++
			}
		}
	}
	if err == nil {
		if q.c.kept == nil {
			q.c.kept = map[string]int64{}
		}
		q.c.kept[string(key)] = n
	}
	return n, err
}
