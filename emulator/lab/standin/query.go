package standin

import (
	"cmp"
	"slices"
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
	key   string // of its value; of a name, the id

	low, high string // it compares with the values whose keys are from low until before high
}

// Operators of filters.
const (
	equal    = pb.StructuredQuery_FieldFilter_EQUAL
	notEqual = pb.StructuredQuery_FieldFilter_NOT_EQUAL
	less     = pb.StructuredQuery_FieldFilter_LESS_THAN
	most     = pb.StructuredQuery_FieldFilter_LESS_THAN_OR_EQUAL
	more     = pb.StructuredQuery_FieldFilter_GREATER_THAN
	least    = pb.StructuredQuery_FieldFilter_GREATER_THAN_OR_EQUAL
	contains = pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS
	in       = pb.StructuredQuery_FieldFilter_IN
	notIn    = pb.StructuredQuery_FieldFilter_NOT_IN
)

// query is a query that has been looked through.
type query struct {
	c          *collection
	any        [][]condition // all conditions of at least one of these
	order      []string      // fields
	descends   bool          // by all of these
	start, end *pb.Cursor
	limit      int // 0: none
}

func wrong(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

func unknown(what string, args ...any) error {
	return status.Errorf(codes.Unimplemented, "the stand-in does not know "+what, args...)
}

func (s *store) query(parent string, from *pb.StructuredQuery) (*query, error) {
	if len(from.GetFrom()) != 1 || from.GetFrom()[0].GetAllDescendants() || from.GetOffset() != 0 {
		return nil, unknown("queries of several collections, or with an offset")
	}
	path, ok := strings.CutPrefix(parent+"/", s.root+"/")
	if !ok {
		return nil, wrong("the parent %q is not of this database", parent)
	}
	q := &query{
		c: s.collections.of(path+from.GetFrom()[0].GetCollectionId(), 0), any: [][]condition{nil},
		start: from.GetStartAt(), end: from.GetEndAt(), limit: int(from.GetLimit().GetValue()),
	}
	if from.GetWhere() != nil {
		var err error
		if q.any, err = normal(from.GetWhere()); err != nil {
			return nil, err
		}
	}
	terms := 0
	for _, all := range q.any {
		terms += len(all) + len(from.GetOrderBy())
	}
	switch {
	case len(q.any) > maxDisjunctions:
		return nil, wrong("the query has %d disjunctions, at most %d are allowed", len(q.any), maxDisjunctions)
	case terms > maxTerms && len(q.any) > 1:
		return nil, wrong("the query has %d filters and orders in disjunctive normal form, at most %d are allowed", terms, maxTerms)
	}
	for i, o := range from.GetOrderBy() {
		descends := o.GetDirection() == pb.StructuredQuery_DESCENDING
		if i > 0 && descends != q.descends {
			return nil, unknown("orders of which one descends and another does not")
		}
		q.order, q.descends = append(q.order, o.GetField().GetFieldPath()), descends
	}
	if len(q.order) == 0 { // it is by what is bounded
		for _, c := range slices.Concat(q.any...) {
			if c.op != equal && c.op != contains && c.field != nameField && !slices.Contains(q.order, c.field) {
				q.order = append(q.order, c.field)
			}
		}
		slices.Sort(q.order)
	}
	if i := slices.Index(q.order, nameField); i >= 0 { // by which every order ends
		q.order = q.order[:i]
	}
	if (q.start != nil || q.end != nil) && slices.ContainsFunc(slices.Concat(q.any...), condition.byName) {
		return nil, unknown("a cursor where documents are asked for by their names")
	}
	return q, nil
}

// normal returns a filter in disjunctive normal form.
func normal(f *pb.StructuredQuery_Filter) ([][]condition, error) {
	switch f := f.GetFilterType().(type) {
	case *pb.StructuredQuery_Filter_FieldFilter:
		return normalField(f.FieldFilter)
	case *pb.StructuredQuery_Filter_UnaryFilter:
		op := equal
		switch f.UnaryFilter.GetOp() {
		case pb.StructuredQuery_UnaryFilter_IS_NULL:
		case pb.StructuredQuery_UnaryFilter_IS_NOT_NULL:
			op = notEqual
		default:
			return nil, unknown("the filter %v", f.UnaryFilter.GetOp())
		}
		return [][]condition{{conditionOf(f.UnaryFilter.GetField().GetFieldPath(), op, string(null))}}, nil
	}
	if f.GetCompositeFilter() == nil {
		return nil, unknown("the filter %v", f)
	}
	var all [][]condition
	for i, part := range f.GetCompositeFilter().GetFilters() {
		of, err := normal(part)
		if err != nil {
			return nil, err
		}
		if f.GetCompositeFilter().GetOp() == pb.StructuredQuery_CompositeFilter_OR || i == 0 {
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

func normalField(f *pb.StructuredQuery_FieldFilter) (all [][]condition, err error) {
	field, op, values := f.GetField().GetFieldPath(), f.GetOp(), []*pb.Value{f.GetValue()}
	of := op // of each value
	switch op {
	case equal, notEqual, less, most, more, least, contains:
	case in, notIn:
		if of = equal; op == notIn {
			of = notEqual
		}
		values = f.GetValue().GetArrayValue().GetValues()
		if len(values) == 0 || len(values) > maxDisjunctions {
			return nil, wrong("%v takes 1 to %d values, not %d", op, maxDisjunctions, len(values))
		}
	default:
		return nil, unknown("the operator %v", op)
	}
	for _, v := range values {
		if len(v.GetStringValue()) >= maxValue || len(v.GetBytesValue()) >= maxValue {
			return nil, wrong("the value of %s is longer than %d bytes", field, maxValue)
		}
		if field == nameField && v.GetReferenceValue() == "" {
			return nil, wrong("__name__ is compared with %v, which is no document's name", v)
		}
		if c := conditionOf(field, of, keyOf(field, v)); op == notIn && len(all) > 0 {
			all[0] = append(all[0], c)
		} else {
			all = append(all, []condition{c})
		}
	}
	return all, nil
}

func conditionOf(field string, op pb.StructuredQuery_FieldFilter_Operator, key string) condition {
	c := condition{field: field, op: op, key: key, low: key, high: key + behind(field)}
	first, last := "", "\xff"
	if field != nameField { // of its type
		first, last = key[:1], string(key[0]+1)
	}
	switch op {
	case less:
		c.low, c.high = first, key
	case most:
		c.low = first
	case more:
		c.low, c.high = c.high, last
	case least:
		c.high = last
	default: // of one value
	}
	return c
}

// keyOf returns a field's part of a document's key in an index; of the name it is the id.
func keyOf(field string, v *pb.Value) string {
	if name := v.GetReferenceValue(); field == nameField {
		return name[strings.LastIndexByte(name, '/')+1:]
	}
	return string(appendKey(nil, v))
}

// behind is what follows a field's part of a key, so that the text is behind all keys with that part.
func behind(field string) string {
	if field == nameField { // it is the last part
		return "\x00"
	}
	return "\xff"
}

func (c condition) holds(d *doc) bool {
	key, v := d.id, d.field(c.field)
	if c.field != nameField {
		key = keyOf(c.field, v)
	}
	in := c.low <= key && key < c.high
	switch {
	case c.field != nameField && v == nil:
		return false
	case c.op == contains:
		return slices.ContainsFunc(v.GetArrayValue().GetValues(), func(e *pb.Value) bool { return keyOf(c.field, e) == c.key })
	case c.op == notEqual:
		return !in && key != string(null)
	}
	return in
}

// search returns the part of an index in which the documents lie that meet conditions, and those conditions that must be looked
// at for each of them. The index has the fields of equalities first and then those of the orders, as Firestore's own have.
func (q *query) search(conditions []condition) (found []entry, rest []condition) {
	var fields []string
	var bounds []condition
	prefix := "" // of the keys of all that meet the equalities
	for _, c := range conditions {
		switch {
		case c.byName():
			if key, has := (&index{fields: q.order}).key(q.c.docs[c.key]); has {
				found = []entry{{key, q.c.docs[c.key]}}
			}
			return found, conditions
		case c.op == equal && !slices.Contains(fields, c.field):
			fields, prefix = append(fields, c.field), prefix+c.key
		default:
			bounds = append(bounds, c)
		}
	}
	equalities := len(fields)
	for _, field := range q.order {
		if !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	first, low, high := slices.Concat(fields, []string{nameField})[equalities], prefix, prefix+"\xff"
	for _, c := range bounds {
		if c.field != first || c.op == notEqual || c.op == contains { // what meets it is not in a row
			rest = append(rest, c)
			continue
		}
		low, high = max(low, prefix+c.low), min(high, prefix+c.high)
	}
	for n, cursor := range []*pb.Cursor{q.start, q.end} {
		if cursor == nil {
			continue
		}
		key, field := prefix, ""
		for k, v := range cursor.GetValues() {
			if field = slices.Concat(q.order, []string{nameField})[k]; !slices.Contains(fields[:equalities], field) {
				key += keyOf(field, v)
			}
		}
		if cursor.GetBefore() == q.descends {
			key += behind(field)
		}
		if (n == 0) == q.descends {
			high = min(high, key)
		} else {
			low = max(low, key)
		}
	}
	i := q.c.index(fields)
	from := i.search(low)
	return i.entries[from:max(from, i.search(high))], rest
}

// byName reports whether a condition asks for the document of a name.
func (c condition) byName() bool { return c.field == nameField && c.op == equal }

// answer returns the documents that the query finds, in its order.
func (q *query) answer() []*doc {
	var found []entry
	once := map[*doc]bool{}
	for _, conditions := range q.any {
		some, rest := q.search(conditions)
		for n := range some {
			e := some[n]
			if q.descends {
				e = some[len(some)-1-n]
			}
			if once[e.d] || slices.ContainsFunc(rest, func(c condition) bool { return !c.holds(e.d) }) {
				continue
			}
			if len(q.any) > 1 {
				once[e.d] = true
				e.key, _ = (&index{fields: q.order}).key(e.d) // it has them
			}
			if found = append(found, e); len(q.any) == 1 && len(found) == q.limit {
				break
			}
		}
	}
	if len(q.any) > 1 {
		slices.SortFunc(found, func(a, b entry) int { return strings.Compare(a.key, b.key) })
		if q.descends {
			slices.Reverse(found)
		}
	}
	var all []*doc
	for _, e := range found[:min(len(found), cmp.Or(q.limit, len(found)))] {
		all = append(all, e.d)
	}
	return all
}

// count counts what the query finds.
func (q *query) count() int {
	if len(q.any) == 1 {
		if some, rest := q.search(q.any[0]); len(rest) == 0 {
			return min(len(some), cmp.Or(q.limit, len(some)))
		}
	}
	return len(q.answer())
}
