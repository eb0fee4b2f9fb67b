package declared

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// How many documents [Doubts] looks at, of how many it lists the collections below, and from which share on something is doubtful.
const (
	looked      = 300
	listed      = 5
	mostPercent = 90
	leastLooked = 20
)

// Doubts returns what the first documents of a rule's collection tell against it, each with the key and what would be right:
// names of a collection and of fields that are not there, ages of another form, a mark that is the application's field,
// exceptions that keep nearly everything, collections below a document that would stay. It reads 300 documents, one document of
// each exception for each of them, and five lists of collections at most.
func Doubts(ctx context.Context, r documents.Reader, of rule.Rule) (doubts []string, err error) {
	if !of.OfDocuments() {
		return nil, nil
	}
	q := of.Query(documents.Earliest)
	found, err := r.First(ctx, documents.Query{Collection: q.Collection, Group: q.Group}, "", looked)
	if err != nil {
		return nil, err
	}
	found = among(of, found)
	if len(found) == 0 {
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
		if text := doubtfulForm(a, found); text != "" {
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
	for i, u := range of.Unless {
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
			doubts = append(doubts, fmt.Sprintf("unless[%d]: %d of %d are kept by %s: meant gone?", i, kept, asked, u.Document))
		}
	}
	left, err := leftBelow(ctx, r, of, found)
	return append(doubts, left...), err
}

// doubtfulForm says that most documents hold a time in another form than an age reads; "" if not.
func doubtfulForm(a criteria.Age, found []documents.Document) string {
	set, forms := 0, map[string]int{}
	for _, d := range found {
		value := d.Value(a.Field)
		if a.Field == "" || value == nil {
			continue
		}
		set++
		if _, ok := a.At(value); ok {
			continue
		}
		for _, as := range criteria.Forms() {
			if _, ok := (criteria.Age{As: []string{as}}).At(value); ok {
				forms[as]++
			}
		}
	}
	for _, as := range criteria.Forms() {
		if n := forms[as]; n > 0 && n*2 > set {
			return fmt.Sprintf("%s is %s in %d of %d: add %q: %q", a.Field, criteria.Age{As: []string{as}}.Form(), n, set, "as", as)
		}
	}
	return ""
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
