package manifest

import (
	"reflect"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
)

// Index is an index of Firestore, in the form of firestore.indexes.json: a composite one, or that of a single field in a
// collection group.
type Index struct {
	CollectionGroup string       `json:"collectionGroup"` // the collection's name
	QueryScope      string       `json:"queryScope"`      // COLLECTION or COLLECTION_GROUP
	Fields          []IndexField `json:"fields"`
}

// IndexField is one field of an index: ordered, or an array.
type IndexField struct {
	FieldPath   string `json:"fieldPath"`
	Order       string `json:"order,omitempty"`       // ASCENDING or DESCENDING
	ArrayConfig string `json:"arrayConfig,omitempty"` // CONTAINS
}

// Field is a field of a collection.
type Field struct {
	CollectionGroup string `json:"collectionGroup"`
	FieldPath       string `json:"fieldPath"`
}

// indexes returns the indexes that a rule's queries need and Firestore does not make by itself: none of a single field, except in
// a collection group, and none of equalities alone, which Firestore merges.
func indexes(r rule.Rule) (all []Index) {
	for _, q := range r.Queries() {
		for _, i := range indexesOf(q) {
			if !slices.ContainsFunc(all, func(other Index) bool { return reflect.DeepEqual(other, i) }) {
				all = append(all, i)
			}
		}
	}
	return all
}

func indexesOf(q documents.Query) (all []Index) {
	i := Index{CollectionGroup: q.Collection[strings.LastIndexByte(q.Collection, '/')+1:], QueryScope: "COLLECTION"}
	if q.Group {
		i.QueryScope = "COLLECTION_GROUP"
	}
	for _, f := range q.Where {
		field := ascending(f.Field)
		contains := strings.HasPrefix(f.Op, "array-contains")
		if contains {
			field = IndexField{FieldPath: f.Field, ArrayConfig: "CONTAINS"}
		}
		if (f.Op == "==" || f.Op == "in" || contains) && !slices.Contains(i.Fields, field) {
			i.Fields = append(i.Fields, field)
		}
	}
	equal := len(i.Fields)
	for _, field := range q.OrderBy {
		i.Fields = append(i.Fields, ascending(field))
	}
	switch {
	case len(i.Fields) == 0, len(i.Fields) == 1 && !q.Group, equal == len(i.Fields) && !q.Group:
		return nil
	case equal == len(i.Fields): // merged, of the indexes of each field in the group
		for _, field := range i.Fields {
			all = append(all, Index{i.CollectionGroup, i.QueryScope, []IndexField{field}})
		}
		return all
	}
	return []Index{i}
}

func ascending(field string) IndexField { return IndexField{FieldPath: field, Order: "ASCENDING"} }
