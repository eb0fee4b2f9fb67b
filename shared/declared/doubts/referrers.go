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
	others  = 10
	ofOther = 10
)

// shortest is how many bytes an id has at least that tells, as a text, that its document is meant.
const shortest = 6

// referrers names other collections whose documents refer to documents of the rule's and of which the rule says nothing: once
// they are deleted, these refer to nothing.
func (l *looking) referrers(ctx context.Context) {
	names, err := l.Collections(ctx, documents.Ref{})
	l.failed = cmp.Or(l.failed, err)
	said := append(l.placesOf(l.Related()), l.placesOf(l.With)...)
	names = slices.DeleteFunc(names, func(name string) bool {
		return l.Source() == name || slices.Contains(said, name) || slices.Contains(collections.Names(), name)
	})
	for _, name := range names[:min(others, len(names))] {
		found, _ := l.first(ctx, documents.Query{Collection: name}, ofOther)
		fields := map[string]bool{}
		for _, d := range found {
			for field, value := range d.Data {
				if l.meant(value) {
					fields[field] = true
				}
			}
		}
		if len(fields) > 0 {
			l.say("documents of %s refer to documents of %s by %s, and would refer to nothing: to keep these, add "+
				`{"collection": %q, "field": %q} to "unless"`, name, l.Source(), criteria.List(slices.Sorted(maps.Keys(fields)), "and"),
				name, slices.Min(slices.Collect(maps.Keys(fields))))
		}
	}
}

// placesOf returns the collections at the top of the database in which relations look.
func (l *looking) placesOf(all []rule.Relation) (names []string) {
	for _, one := range all {
		name, _, _ := strings.Cut(cmp.Or(one.Document, one.Collection, one.CollectionGroup), "/")
		names = append(append(names, name), l.placesOf(one.With)...)
	}
	return names
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
