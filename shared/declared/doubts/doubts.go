// Package doubts says what a project's documents tell against a rule, before it deletes anything.
package doubts

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// How many documents are looked at: of the rule's collection, of those that exceptions may keep, and of each relation.
const (
	sampled  = 100
	excepted = 30
	related  = 20
)

// An exception that keeps more than mostPercent of leastLooked documents or more is doubtful.
const (
	mostPercent = 90
	leastLooked = 20
)

// looking is a look at a project for a rule.
type looking struct {
	rule.Rule
	documents.Reader
	sample []documents.Document // the first of the rule's collection
	whole  bool                 // the sample is the whole collection
	doubts []string
	failed error // the first error: something could not be looked at
}

// Of returns what a project's documents tell against a rule, each in a sentence with the key and what would be right: names of
// collections and of fields that are not there, values that nobody has, also of what it keeps, ages of another form, a mark
// that is the application's field, exceptions that keep nearly everything, documents elsewhere that refer to the rule's, and
// collections below a document that would stay, unless a plan that deletes something has said these. What the plan has said is
// left out. What could not be looked at is said, too.
func Of(ctx context.Context, r documents.Reader, of rule.Rule, planned bool, said ...string) []string {
	l := &looking{Rule: of, Reader: r}
	l.empty(ctx)
	all, err := declared.Unfound(ctx, r, nil, of)
	l.doubts, l.failed = append(l.doubts, all...), cmp.Or(l.failed, err)
	if of.OfDocuments() && l.look(ctx) {
		l.fields(ctx)
		l.values(ctx)
		l.keeping(ctx)
		l.forms(said)
		l.mark()
		l.exceptions(ctx)
		for _, related := range of.Related() {
			l.relation(ctx, related)
		}
		if of.Deletes() {
			l.referrers(ctx)
		}
	}
	if of.Deletes() && !planned {
		var all []string
		for _, d := range l.sample {
			all = append(all, d.Path)
		}
		stay, err := declared.Staying(ctx, r, "with", of, all)
		l.doubts, l.failed = append(l.doubts, stay...), cmp.Or(l.failed, err)
	}
	if l.failed != nil {
		l.say("not all of it could be looked at: %s", l.failed)
	}
	return slices.DeleteFunc(l.doubts, func(text string) bool { return slices.Contains(said, text) })
}

func (l *looking) say(format string, args ...any) {
	l.doubts = append(l.doubts, fmt.Sprintf(format, args...))
}

// first returns the first documents that a query finds; ok is false if that could not be read.
func (l *looking) first(ctx context.Context, q documents.Query, n int) (found []documents.Document, ok bool) {
	found, err := l.First(ctx, q, "", n)
	l.failed = cmp.Or(l.failed, err)
	return found, err == nil
}

// getAll returns documents, in the order of their paths, without those that do not exist.
func (l *looking) getAll(ctx context.Context, paths []string) (found []documents.Document) {
	there, err := l.GetAll(ctx, paths)
	l.failed = cmp.Or(l.failed, err)
	for _, path := range paths {
		if d, exists := there[path]; exists {
			found = append(found, d)
		}
	}
	return found
}

// empty names the collections in which the rule looks for what is related and that have no document.
func (l *looking) empty(ctx context.Context) {
	asked := map[rule.Place]bool{{}: true}
	for _, related := range l.Related() {
		in := related.Place()
		if asked[in] || strings.HasPrefix(in.Collection, "{parent}") {
			continue
		}
		asked[in] = true
		if found, ok := l.first(ctx, in.Query(documents.NameOnly...), 1); ok && len(found) == 0 {
			l.say("%s: the collection %s has no document, so a run does nothing: is that its name? If it is, put any document into it",
				related.Key, in.Collection)
		}
	}
}

// look reads the first documents of the rule's collection. It reports whether there are any to look at.
func (l *looking) look(ctx context.Context) bool {
	fields := l.Judged()[l.Source()]
	if l.Warn != nil {
		fields = append(fields, l.Warn.Field)
	}
	if fields = rule.Selected(fields...); len(fields) == 0 {
		fields = documents.NameOnly
	}
	found, ok := l.first(ctx, l.Place().Query(fields...), sampled)
	l.whole = ok && len(found) < sampled
	l.sample = l.Among(found)
	if l.whole && len(l.sample) == 0 {
		l.say("the collection %s has no document: is that its name?", l.Source())
	}
	return len(l.sample) > 0
}

// has reports whether a document has something: one of the sample, or one that filters find. It may be true if nobody knows.
func (l *looking) has(ctx context.Context, it func(documents.Document) bool, filters ...documents.Filter) bool {
	switch {
	case slices.ContainsFunc(l.sample, it):
		return true
	case l.whole:
		return false
	case l.IsGroup() || len(filters) == 0: // no index knows
		return true
	}
	q := l.Place().Query(documents.NameOnly...)
	q.Where = filters
	for _, f := range filters { // one that is ranged decides the order
		if strings.ContainsAny(f.Op, "<>!") {
			q.OrderBy = []string{f.Field}
		}
	}
	found, ok := l.first(ctx, q, 1)
	return len(found) > 0 || !ok
}

// fields names the fields by which documents are judged and that no document has.
func (l *looking) fields(ctx context.Context) {
	judged := l.Rule
	judged.With = nil
	for _, field := range judged.Judged()[l.Source()] {
		field, _, _ = strings.Cut(field, "[]")
		set := func(d documents.Document) bool { return d.Value(field) != nil }
		if l.Warn != nil && field == l.Warn.Field || l.has(ctx, set, documents.Filter{Field: field, Op: "!=", Value: nil}) {
			continue
		}
		l.say("no document of %s has %s: is that its name?", l.Source(), field)
	}
}

// shown is how many values of a field are listed at most.
const shown = 5

// values names conditions that no document meets, and the values that there are.
func (l *looking) values(ctx context.Context) {
	for i, w := range l.Where {
		filters, _, ok := w.Filters()
		set := func(d documents.Document) bool { return d.Value(w.Field) != nil }
		meets := func(d documents.Document) bool { return w.Holds(d.Lookup) == criteria.Met }
		if !ok || l.OfEntries(w.Field) || !slices.ContainsFunc(l.sample, set) || l.has(ctx, meets, filters...) {
			continue
		}
		there := ""
		if values := l.valuesOf(w.Field); len(values) <= shown {
			there = "; the documents looked at have " + criteria.List(values, "and")
		}
		l.say("where[%d]: there is no document of %s whose %s%s", i, l.Source(), w.Words(), there)
	}
}

// valuesOf returns the values of a field that there are in the sample, as people read them.
func (l *looking) valuesOf(field string) []string {
	values := map[string]bool{}
	for _, d := range l.sample {
		if value := d.Value(field); value != nil {
			values[fmt.Sprintf("%.40s", strings.Join(criteria.Shown(value), ", "))] = true
		}
	}
	return slices.Sorted(maps.Keys(values))
}

// keeping names the texts by which conditions keep documents and that no document has, where the field has few others: a
// misspelt one deletes what it should keep.
func (l *looking) keeping(ctx context.Context) {
	for i, w := range l.Where {
		l.keepingBy(ctx, fmt.Sprintf("where[%d]", i), w, "!=", "not-in")
	}
	for _, u := range l.Unless {
		l.keepingBy(ctx, u.Key, u.Condition(), "==", "in")
	}
}

func (l *looking) keepingBy(ctx context.Context, key string, w criteria.Condition, operators ...string) {
	values := l.valuesOf(w.Field)
	if len(values) == 0 || len(values) > shown || l.OfEntries(w.Field) {
		return
	}
	for _, operator := range operators {
		operands, several := w.Ops[operator].([]any)
		if !several {
			operands = []any{w.Ops[operator]}
		}
		for _, operand := range operands {
			text, isText := operand.(string)
			has := func(d documents.Document) bool { return d.Value(w.Field) == operand }
			if !isText || l.has(ctx, has, documents.Filter{Field: w.Field, Op: "==", Value: operand}) {
				continue
			}
			l.say("%s: no document of %s has %s %q, which the rule keeps; the documents looked at have %s", key, l.Source(), w.Field, text,
				criteria.List(values, "and"))
		}
	}
}

// forms says of ages whose field holds times of other forms than the rule reads, unless the plan has said it.
func (l *looking) forms(said []string) {
	for i, a := range l.Age {
		if a.Field == "" || l.OfEntries(a.Field) {
			continue
		}
		hint := declared.Hint(l.Rule, i, valuesOf(l.sample, a.Field))
		about, _, _ := strings.Cut(hint, " is ")
		if hint != "" && !slices.ContainsFunc(said, func(text string) bool { return strings.HasPrefix(text, about+" is ") }) {
			l.doubts = append(l.doubts, hint)
		}
	}
}

// valuesOf returns what some documents hold in a field.
func valuesOf(found []documents.Document, field string) (values []any) {
	for _, d := range found {
		values = append(values, d.Value(field))
	}
	return values
}

// mark says whether the mark of a warning is a field of the application's.
func (l *looking) mark() {
	if l.Warn == nil {
		return
	}
	marked := 0
	for _, d := range l.sample {
		if d.Value(l.Warn.Field) != nil {
			marked++
		}
	}
	if marked*2 > len(l.sample) {
		l.say("warn.field: %d of %d have %s already: unless this rule wrote it, give the mark a field of its own", marked,
			len(l.sample), l.Warn.Field)
	}
}

// addresses says whether a relation looks for accounts by fields that hold addresses of e-mail: no account has such an id.
func (l *looking) addresses(of rule.Relation) {
	for _, field := range criteria.Holes(of.Account) {
		if n := count(l.sample, field, func(value any) bool { return strings.Contains(fmt.Sprint(value), "@") }); n > 0 {
			l.say("%s: %s holds addresses of e-mail in %d of %d, and an account is found by its uid: name the field that holds that",
				of.Key, field, n, len(l.sample))
		}
	}
}

// count returns in how many documents a field is set to something.
func count(found []documents.Document, field string, is func(value any) bool) (n int) {
	for _, d := range found {
		if value := d.Value(field); value != nil && value != "" && is(value) {
			n++
		}
	}
	return n
}

// noIDs names a field of related documents that should refer to the rule's, and holds what is neither an id nor a reference.
func (l *looking) noIDs(of rule.Relation, found []documents.Document) {
	isKey := strings.HasSuffix(of.Field, ".{id}")
	odd := slices.DeleteFunc(slices.Clone(found), func(d documents.Document) bool {
		values, isList := d.Value(of.PlainField()).([]any)
		if !isList {
			values = []any{d.Value(of.PlainField())}
		}
		return !slices.ContainsFunc(values, func(value any) bool {
			_, isMap := value.(map[string]any)
			_, isID := documents.IDOf(value)
			_, refers := documents.RefIn(value)
			return value != nil && value != "" && !isID && !refers && (!isMap || !isKey)
		})
	})
	if of.PlainField() != "" && len(odd) > 0 {
		l.say("%s.field: %s holds no valid id in %d of %d, such as %s: nobody knows what these refer to", of.Key, of.Field, len(odd),
			len(found), odd[0].Path)
	}
}

// ofNobody says that a field of related documents holds no id of the rule's documents in any of them, such as addresses or names.
func (l *looking) ofNobody(ctx context.Context, of rule.Relation, found []documents.Document) {
	if of.PlainField() == "" || l.Repeats() || l.IsGroup() {
		return
	}
	var paths []string
	for _, d := range found {
		values, isList := d.Value(of.PlainField()).([]any)
		if !isList {
			values = []any{d.Value(of.PlainField())}
		}
		for _, value := range values[:min(1, len(values))] {
			id, ok := documents.IDOf(value)
			if ref, refers := documents.RefIn(value); refers {
				id, ok = ref.ID, true
			}
			if ok {
				paths = append(paths, l.Source()+"/"+id)
			}
		}
	}
	paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	if len(paths) >= leastOfNobody && len(l.getAll(ctx, paths)) == 0 {
		l.say("%s.field: none of the %d values of %s that were looked at is an id of a document of %s: does it hold something else?",
			of.Key,
			len(paths), of.Field, l.Source())
	}
}

// leastOfNobody is how many values at least must lead to nothing to be doubtful.
const leastOfNobody = 5

// holes says of fields by which a relation leads to a document or an account whether they hold what is no id, and numbers beside
// texts.
func (l *looking) holes(of rule.Relation) {
	path := cmp.Or(of.Document, "users/"+of.Account)
	for _, field := range l.leading(of) {
		set := count(l.sample, field, func(any) bool { return true })
		numbers := count(l.sample, field, func(value any) bool {
			_, isID := documents.IDOf(value)
			_, isText := value.(string)
			return isID && !isText
		})
		none := 0
		for _, d := range l.sample {
			item, _ := l.ItemOf(d)
			if _, ok := item.Fill(path); !ok {
				none += count([]documents.Document{d}, field, func(any) bool { return true })
			}
		}
		if none > 0 {
			l.say("%s: in %d of %d, %s leads nowhere, and the rule keeps these", of.Key, none, set, path)
		}
		if numbers > 0 && numbers < set {
			l.say("%s: %s is a number in %d of %d, which counts as an id", of.Key, field, numbers, set)
		}
	}
}

// leading returns the fields of an item by which a relation leads to a document or an account.
func (l *looking) leading(of rule.Relation) (fields []string) {
	for _, hole := range l.FieldHoles(of.Document + of.Account) {
		fields = append(fields, strings.TrimSuffix(strings.TrimSuffix(hole, "[]"), ".*"))
	}
	return fields
}

// exceptions names documents of unless that keep nearly everything, and those of gone that never exist.
func (l *looking) exceptions(ctx context.Context) {
	for _, related := range append(l.Related(), l.With...) {
		l.addresses(related)
	}
	for _, related := range l.Related() {
		l.holes(related)
	}
	for _, u := range l.Related() {
		if u.Document == "" {
			continue
		}
		var paths []string
		for _, d := range l.sample[:min(excepted, len(l.sample))] {
			item, _ := l.ItemOf(d)
			if refs, ok := item.Fill(u.Document); ok && len(refs) == 1 {
				paths = append(paths, refs[0].Path())
			}
		}
		there := l.getAll(ctx, slices.Compact(slices.Sorted(slices.Values(paths))))
		kept := 0
		for _, path := range paths {
			if slices.ContainsFunc(there, func(d documents.Document) bool { return d.Path == path }) {
				kept++
			}
		}
		isGone := slices.ContainsFunc(l.Gone, func(g rule.Relation) bool { return g.Key == u.Key })
		switch {
		case !isGone && len(paths) >= leastLooked && kept*100 > len(paths)*mostPercent:
			l.say("%s: %d of %d are kept because %s exists: did you mean gone?", u.Key, kept, len(paths), u.Document)
		case isGone && len(l.leading(u)) > 0 && len(paths) >= leastOfNobody && kept == 0:
			l.say("%s: %s does not exist for any of the %d that were looked at: does %s hold something else?", u.Key, u.Document,
				len(paths),
				criteria.List(l.leading(u), "and"))
		}
	}
}

// relation names what none of the documents that a relation may find has: a field by which it asks, or a value of the type for
// which it asks.
func (l *looking) relation(ctx context.Context, of rule.Relation) {
	q := of.Place().Query()
	var found []documents.Document
	switch {
	case of.Subcollection != "":
		q.Group = false
		const each = 5
		for _, d := range l.sample[:min(related/each, len(l.sample))] {
			q.Collection = d.Path + "/" + of.Subcollection
			some, _ := l.first(ctx, q, each)
			found = append(found, some...)
		}
	case of.Collection+of.CollectionGroup != "":
		found, _ = l.first(ctx, q, related)
	}
	if len(found) == 0 {
		return
	}
	expect := func(key, field string, tells func(value any, d documents.Document) bool) {
		if field != "" && !slices.ContainsFunc(found, func(d documents.Document) bool {
			value, there := d.Lookup(field)
			return there && tells(value, d)
		}) {
			l.say("%s: %s is missing, or of another type, in all of %d: is that its name?", key, field, len(found))
		}
	}
	expect(of.Key+".field", of.PlainField(), func(value any, _ documents.Document) bool { return value != nil })
	if of.Within != nil {
		if hint := of.Within.Hint(valuesOf(found, of.Within.Field)); hint != "" {
			l.say("%s.within: %s", of.Key, hint)
		}
		missing := 0
		for _, d := range found {
			if _, there := d.Lookup(of.Within.Field); !there {
				missing++
			}
		}
		if missing > 0 && missing < len(found) {
			l.say("%s.within: %s is missing in %d of %d, and these keep nothing", of.Key, of.Within.Field, missing, len(found))
		}
		expect(of.Key+".within", of.Within.Field, func(value any, _ documents.Document) bool { return value != nil })
	}
	l.noIDs(of, found)
	l.ofNobody(ctx, of, found)
	for n, w := range of.Where {
		expect(fmt.Sprintf("%s.where[%d]", of.Key, n), w.Field,
			func(_ any, d documents.Document) bool { return w.Holds(d.Lookup) != criteria.Unclear })
	}
}
