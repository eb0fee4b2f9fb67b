// Package doubts says what a project's documents tell against a rule, before it runs.
package doubts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// How many documents [Of] looks at, of how many it lists the collections below, and from which share on something is doubtful.
const (
	looked      = 300
	listed      = 5
	mostPercent = 90
	leastLooked = 20
)

// Of returns what the first documents of a rule's collection tell against it, each with the key and what would be right:
// names of a collection and of fields that are not there, ages of another form, a mark that is the application's field,
// exceptions that keep nearly everything, collections below a document that would stay. It reads 300 documents, one document of
// each exception for each of them, 300 that each relation may find, and five lists of collections at most.
func Of(ctx context.Context, r documents.Reader, of rule.Rule) (doubts []string, err error) {
	if !of.OfDocuments() {
		return nil, nil
	}
	found, err := r.First(ctx, of.Place().Query(), "", looked)
	if err != nil {
		return nil, err
	}
	if found = of.Among(found); len(found) == 0 {
		return []string{of.Source() + " holds no document: is that its name?"}, nil
	}
	for _, field := range of.Judged()[of.Source()] {
		field, _, _ = strings.Cut(field, "[]")
		own := of.Warn != nil && field == of.Warn.Field
		has := func(d documents.Document) bool { return d.Value(field) != nil }
		if !own && !slices.ContainsFunc(found, has) {
			doubts = append(doubts, fmt.Sprintf("%s is missing or null in all of %d: is that its name?", field, len(found)))
		}
	}
	for i, a := range of.Age {
		if text := doubtfulForms(a, found); text != "" {
			doubts = append(doubts, fmt.Sprintf("age[%d]: %s", i, text))
		}
	}
	if of.Warn != nil {
		marked := 0
		for _, d := range found {
			if d.Value(of.Warn.Field) != nil {
				marked++
			}
		}
		if marked*2 > len(found) {
			doubts = append(doubts, fmt.Sprintf("warn.field: %d of %d hold %s already: it must be a field of its own", marked, len(found),
				of.Warn.Field))
		}
	}
	for _, u := range of.Unless {
		if u.Document == "" {
			continue
		}
		var paths []string
		for _, d := range found {
			item, _ := of.ItemOf(d)
			if refs, ok := item.Fill(u.Document); ok && len(refs) == 1 {
				paths = append(paths, refs[0].Path())
			}
		}
		there, err := r.GetAll(ctx, paths)
		if err != nil {
			return nil, err
		}
		asked, kept := len(paths), 0
		for _, path := range paths {
			if _, exists := there[path]; exists {
				kept++
			}
		}
		if asked >= leastLooked && kept*100 > asked*mostPercent {
			doubts = append(doubts, fmt.Sprintf("%s: %d of %d are kept by %s: meant gone?", u.Key, kept, asked, u.Document))
		}
	}
	for _, related := range of.Related() {
		asked, err := ofRelated(ctx, r, related, found)
		if err != nil {
			return nil, err
		}
		doubts = append(doubts, asked...)
	}
	left, err := leftBelow(ctx, r, of, found)
	return append(doubts, left...), err
}

// ofRelated names what none of the documents that a relation may find has: a field by which it asks, or a value of the type for
// which it asks.
func ofRelated(ctx context.Context, r documents.Reader, of rule.Relation, items []documents.Document) (
	doubts []string, err error,
) {
	q := of.Place().Query()
	in, n := []string{q.Collection}, looked
	switch {
	case of.Subcollection != "":
		in, n, q.Group = nil, looked/listed, false
		for _, d := range items[:min(listed, len(items))] {
			in = append(in, d.Path+"/"+of.Subcollection)
		}
	case of.Collection+of.CollectionGroup == "":
		return nil, nil
	}
	var found []documents.Document
	for _, q.Collection = range in {
		some, err := r.First(ctx, q, "", n)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	expect := func(key, field string, tells func(value any, d documents.Document) bool) {
		if len(found) > 0 && field != "" && !slices.ContainsFunc(found, func(d documents.Document) bool {
			value, there := d.Lookup(field)
			return there && tells(value, d)
		}) {
			doubts = append(doubts, fmt.Sprintf("%s: %s is missing, or of another type, in all of %d: is that its name?", key, field, len(found)))
		}
	}
	expect(of.Key+".field", of.PlainField(), func(value any, _ documents.Document) bool { return value != nil })
	if of.Within != nil {
		expect(of.Key+".within", of.Within.Field, func(value any, _ documents.Document) bool {
			_, dated := of.Within.At(value)
			return dated
		})
	}
	for n, w := range of.Where {
		expect(fmt.Sprintf("%s.where[%d]", of.Key, n), w.Field, func(_ any, d documents.Document) bool { return w.Holds(d.Lookup) != criteria.Unclear })
	}
	return doubts, nil
}

// doubtfulForms names each form in which documents hold a time that an age does not read, with how many; "" if there is none.
func doubtfulForms(a criteria.Age, found []documents.Document) string {
	set, forms := 0, map[string]int{}
	for _, d := range found {
		value := d.Value(a.Field)
		if a.Field == "" || value == nil {
			continue
		}
		set++
		for _, as := range criteria.Forms() {
			if _, ok := (criteria.Age{As: []string{as}}).At(value); ok {
				forms[as]++
			}
		}
	}
	var others, all []string
	for _, as := range criteria.Forms() {
		read := slices.Contains(a.As, as) || a.As == nil && as == "timestamp"
		if forms[as] > 0 || slices.Contains(a.As, as) {
			all = append(all, fmt.Sprintf("%q", as))
		}
		if forms[as] > 0 && !read {
			others = append(others, fmt.Sprintf("%s in %d of %d", criteria.Age{As: []string{as}}.Form(), forms[as], set))
		}
	}
	if len(others) == 0 {
		return ""
	}
	as := all[0]
	if len(all) > 1 {
		as = "[" + strings.Join(all, ", ") + "]"
	}
	return fmt.Sprintf("%s is %s: add %q: %s", a.Field, criteria.List(others, "and"), "as", as)
}

// leftBelow names the collections below the first documents that would stay when these are deleted.
func leftBelow(ctx context.Context, r documents.Reader, of rule.Rule, found []documents.Document) (doubts []string, err error) {
	if !of.Deletes() || slices.ContainsFunc(of.With, func(w rule.Relation) bool { return w.Subcollection == rule.Everything }) {
		return nil, nil
	}
	var named []string
	for _, d := range found[:min(listed, len(found))] {
		below, err := r.Collections(ctx, d.Ref())
		if err != nil {
			return nil, err
		}
		for _, name := range below {
			goes := slices.ContainsFunc(of.With, func(w rule.Relation) bool { return w.Subcollection == name })
			if !goes && !slices.Contains(named, name) {
				named = append(named, name)
				doubts = append(doubts, fmt.Sprintf("with: %s below %s would stay; add it or \"**\"", name, d.Path))
			}
		}
	}
	return doubts, nil
}
