package doubts

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// How many other collections are looked at for references to the rule's documents, and how many documents of each.
const (
	others  = 30
	ofOther = 5
)

// shortest is how many bytes an id has at least that tells, as a text, that its document is meant.
const shortest = 6

// referrers names other collections whose documents refer to documents of the rule's, or to what is deleted along with these,
// and of which the rule says nothing: once they are deleted, these refer to nothing.
func (l *looking) referrers(ctx context.Context) {
	names, err := l.Collections(ctx, documents.Ref{})
	l.failed = cmp.Or(l.failed, err)
	names = slices.DeleteFunc(names, func(name string) bool {
		return l.Source() == name || slices.Contains(collections.Names(), name)
	})
	if more := len(names) - others; more > 0 {
		l.say("%d of %d other collections were not asked whether they refer to documents of %s", more, len(names), l.Source())
	}
	said, along := l.fieldsOf(append(l.Related(), l.With...)), l.along()
	for _, name := range names[:min(others, len(names))] {
		found, _ := l.first(ctx, documents.Query{Collection: name}, ofOther)
		refer, use := map[string]bool{}, map[string]bool{}
		for _, d := range found {
			for field, value := range d.Data {
				switch {
				case said[name+"/"+field] || said[name+"/"]:
				case l.meant(value):
					refer[field] = true
				case means(value, along):
					use[field] = true
				}
			}
		}
		if fields := slices.Sorted(maps.Keys(refer)); len(fields) > 0 {
			l.say("documents of %s refer to documents of %s by %s, and would refer to nothing: to keep these, add "+
				`{"collection": %q, "field": %q} to "unless"`, name, l.Source(), criteria.List(fields, "and"), name, fields[0])
		}
		if fields := slices.Sorted(maps.Keys(use)); len(fields) > 0 {
			l.say("documents of %s have in %s what is deleted along with documents of %s, and would refer to nothing", name,
				criteria.List(fields, "and"), l.Source())
		}
	}
}

// fieldsOf returns the fields, each behind its collection, by which relations look in the collections at the top of the
// database; no field where the rule goes to documents of a collection by their path.
func (l *looking) fieldsOf(all []rule.Relation) map[string]bool {
	said := map[string]bool{}
	for _, one := range all {
		name, _, _ := strings.Cut(cmp.Or(one.Document, one.Collection, one.CollectionGroup), "/")
		field, _, _ := strings.Cut(one.PlainField(), ".")
		said[name+"/"+field] = true
		maps.Copy(said, l.fieldsOf(one.With))
	}
	return said
}

// along returns the texts by which fields of the sample lead to what is deleted along.
func (l *looking) along() (texts []string) {
	for _, w := range l.With {
		fields := l.leading(w)
		if w.Objects != "" && w.Field != "" {
			fields = append(fields, w.Field)
		}
		for _, field := range fields {
			for _, d := range l.sample {
				if text, _ := d.Text(field); len(text) >= shortest {
					texts = append(texts, text)
				}
			}
		}
	}
	return texts
}

// means reports whether a value is one of some texts, or holds one in a list or map.
func means(value any, texts []string) bool {
	one := func(value any) bool { return means(value, texts) }
	switch value := value.(type) {
	case string:
		return slices.Contains(texts, value)
	case []any:
		return slices.ContainsFunc(value, one)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(value)), one)
	}
	return false
}

// meant reports whether a value means a document of the sample: a reference, its path, its id, or a list or map with one of
// these.
func (l *looking) meant(value any) bool {
	switch value := value.(type) {
	case []any:
		return slices.ContainsFunc(value, l.meant)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(value)), l.meant)
	}
	ref, isRef := documents.RefIn(value)
	text, _ := value.(string)
	return slices.ContainsFunc(l.sample, func(d documents.Document) bool {
		return isRef && d.Ref() == ref || len(text) >= shortest && d.ID() == text
	})
}
