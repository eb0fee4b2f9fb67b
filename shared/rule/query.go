package rule

import (
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// Asked is what the rule's query asks for, without its age.
type Asked struct {
	Filters []documents.Filter
	Ranged  []string             // fields that the query goes through, in the order of the query: a field of strings comes first
	Judged  []criteria.Condition // conditions that documents are judged by one by one
}

// Asked returns what the query asks for. It goes through the strings of one field at most, because a cursor can be behind a
// string that is too long for a query only where strings come first, and not through fields of maps.
func (r Rule) Asked() (a Asked) {
	var numbers []string
	lists := 0 // filters on elements of lists: Firestore allows a query one
	for _, c := range r.Where {
		filters, ranged, ok := c.Filters()
		ofText, ofLists := ranged && c.OfText(), c.OfLists()
		if lists += ofLists; lists > 1 {
			lists -= ofLists
			a.Judged = append(a.Judged, c)
			continue
		}
		switch {
		case !ok, ranged && strings.Contains(c.Field, "."), ofText && len(a.Ranged) > 0:
			a.Judged = append(a.Judged, c)
		case ofText:
			a.Filters, a.Ranged = append(filters, a.Filters...), []string{c.Field}
		default:
			if a.Filters = append(a.Filters, filters...); ranged {
				numbers = append(numbers, c.Field)
			}
		}
	}
	a.Ranged = append(a.Ranged, numbers...)
	return a
}

// Query returns the query for the documents that may be due, and fetches the fields by which they are judged.
func (r Rule) Query(now time.Time) documents.Query {
	a := r.Asked()
	q := r.Place().Query(r.fields()...)
	q.Where, q.OrderBy = a.Filters, slices.Clone(a.Ranged)
	if !r.Scans() {
		q.Where = append(slices.Clone(q.Where), r.Age[0].Filters(now)...)
		q.OrderBy = append(q.OrderBy, r.Age[0].Field)
	}
	return q
}

// Warned returns the query for the documents that hold the mark of a warning.
func (r Rule) Warned() documents.Query {
	q := r.Query(time.Time{})
	q.Where = []documents.Filter{{Field: r.Warn.Field, Op: ">=", Value: documents.Earliest}}
	q.OrderBy = []string{r.Warn.Field}
	return q
}

// Scans reports whether the query returns documents whatever their age is.
func (r Rule) Scans() bool { return r.OfDocuments() && (len(r.Age) == 0 || !r.Age[0].Indexed()) }

// Finds reports whether all documents that the query finds are due.
func (r Rule) Finds() bool {
	return len(r.Asked().Judged) == 0 && r.Warn == nil && len(r.Unless) == 0 && len(r.Gone) == 0 && !r.Scans() && len(r.Age) == 1 &&
		!strings.Contains(r.Collection, "{")
}

// fields returns the fields by which a document is judged, as a whole: none that says it in another way must look missing.
func (r Rule) fields() []string {
	all := append(r.deciding(), r.Remove)
	if r.Warn != nil {
		all = append(all, r.FieldHoles("{"+strings.Join(r.Warn.Holes(), "}{")+"}")...)
	}
	if all = Selected(all...); len(all) == 0 {
		return documents.NameOnly
	}
	return all
}

// Selected returns what to fetch of a document for some of its fields: where each begins, and every name with dots that may say
// it.
func Selected(fields ...string) (all []string) {
	for _, field := range fields {
		top, rest, _ := strings.Cut(field, ".")
		if top = strings.TrimSuffix(top, "[]"); top != "" && !strings.Contains(top, "{") {
			all = append(all, top)
		}
		for part := range strings.SplitSeq(rest, ".") {
			if top += "." + strings.TrimSuffix(part, "[]"); criteria.Name.MatchString(top) {
				all = append(all, documents.Dotted(top))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// deciding returns the fields of an item that decide whether it is due, as the rule writes them.
func (r Rule) deciding() (fields []string) {
	for _, c := range append(slices.Clone(r.Where), r.Exceptions()...) {
		fields = append(fields, c.Field)
	}
	for _, a := range r.Age {
		fields = append(fields, a.Field)
	}
	for _, related := range r.Related() {
		fields = append(fields, r.FieldHoles(related.Document+related.Account)...)
	}
	if r.Warn != nil {
		fields = append(fields, r.Warn.Field)
	}
	return fields
}

// FieldHoles returns the fields of the item that fill holes of a path.
func (r Rule) FieldHoles(path string) (fields []string) {
	bound := criteria.Holes(r.Collection + r.Objects)
	for _, hole := range criteria.Holes(path) {
		if hole != idHole && hole != parentHole && !slices.Contains(bound, hole) {
			fields = append(fields, hole)
		}
	}
	return fields
}

// Queries returns the rule's queries, and those for what is related to an item that has as many names as any.
func (r Rule) Queries() (all []documents.Query) {
	if r.Objects != "" {
		return nil
	}
	now := time.Unix(0, 0)
	if r.OfDocuments() {
		all = append(all, r.Query(now))
	}
	if r.Warn != nil {
		all = append(all, r.Warned())
	}
	self := documents.Ref{Collection: "x", ID: "1"}
	for _, one := range slices.Concat(r.LooksFor(), r.Along()) {
		asks := one.Subcollection+one.Collection+one.CollectionGroup != "" && one.Subcollection != Everything
		if asks && !one.isKey() { // a map's key has an index like any field
			queries, _ := one.Queries(self, func(documents.Ref) any { return "x" }, now)
			all = append(all, queries...)
			if one.Within != nil { // those that lack its field are counted
				queries, _ = one.Any(self, func(documents.Ref) any { return "x" })
				all = append(all, queries...)
			}
		}
	}
	for _, w := range r.Along() { // who else refers to it?
		fields := r.FieldHoles(w.Document)
		if w.Objects != "" && w.Field != "" {
			fields = append(fields, w.Field)
		}
		for _, field := range fields {
			field, _, isList := strings.Cut(field, "[]")
			f := documents.Filter{Field: field, Op: "in", Value: "x"}
			if isList {
				f.Op = "array-contains-any"
			}
			if q := w.Of.Query(documents.NameOnly...); !strings.HasSuffix(field, ".*") && w.Of != "" {
				q.Where = []documents.Filter{f}
				all = append(all, q)
			}
		}
	}
	return all
}

// ReadWhole returns the places of which a run reads all documents before it deletes a file or a document to which their fields
// lead.
func (r Rule) ReadWhole() (all []Place) {
	for _, a := range r.Along() {
		byField := a.Objects != "" && a.Field != "" || len(r.FieldHoles(a.Document)) > 0
		if byField && a.Of != "" && !slices.Contains(all, a.Of) {
			all = append(all, a.Of)
		}
	}
	return all
}
