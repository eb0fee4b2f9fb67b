package enginetest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/shared/manifest"
)

type (
	index      = manifest.Index
	indexField = manifest.IndexField
)

// declaredIndexes returns the indexes of functions/manifest.json and functions/rules.json. It reads them once.
func declaredIndexes(t testing.TB) []index {
	t.Helper()
	all, err := readIndexes()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var readIndexes = sync.OnceValues(func() (all []index, err error) {
	_, here, _, _ := runtime.Caller(0)
	var files []manifest.File
	for _, name := range []string{"manifest.json", "rules.json"} {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(here), "..", "..", "..", "functions", name))
		if err != nil {
			return nil, err
		}
		files = append(files, manifest.File{Name: name, Text: text})
	}
	entries, err := manifest.Parse(files[0], files[1])
	for _, e := range entries {
		all = append(all, e.Indexes...)
	}
	return all, err
})

// need is the composite index that a query requires: its equality fields in any order, then the others in their order.
type need struct {
	collection string
	scope      string
	equal      []string
	ordered    []indexField
}

// String describes the index.
func (n need) String() string {
	return fmt.Sprintf("%s (%s): equality on %v, then %v", n.collection, n.scope, n.equal, n.ordered)
}

// coveredBy reports whether one of the indexes is exactly the one needed.
func (n need) coveredBy(indexes []index) bool {
	return slices.ContainsFunc(indexes, func(i index) bool {
		if i.CollectionGroup != n.collection || i.QueryScope != n.scope || len(i.Fields) != len(n.equal)+len(n.ordered) {
			return false
		}
		var prefix []string
		for _, f := range i.Fields[:len(n.equal)] {
			prefix = append(prefix, f.FieldPath)
		}
		slices.Sort(prefix)
		return slices.Equal(prefix, n.equal) && slices.Equal(i.Fields[len(n.equal):], n.ordered)
	})
}

const documentName = "__name__"

// requiredIndex returns the composite index that Firestore requires for a query. It is nil if the automatic single-field
// indexes are enough: if only one field besides the name takes part, or if all conditions are equalities and the order is by
// name, which Firestore answers by merging.
func requiredIndex(q *firestorepb.StructuredQuery, where ...filter) *need {
	n := &need{collection: q.GetFrom()[0].GetCollectionId(), scope: "COLLECTION"}
	if q.GetFrom()[0].GetAllDescendants() {
		n.scope = "COLLECTION_GROUP"
	}
	var unequal []string
	conditions(where, func(field string, equality bool) {
		switch {
		case field == documentName:
		case equality && !slices.Contains(n.equal, field):
			n.equal = append(n.equal, field)
		case !equality && !slices.Contains(unequal, field):
			unequal = append(unequal, field)
		}
	})
	slices.Sort(n.equal)
	direction := "ASCENDING"
	for _, o := range q.GetOrderBy() {
		direction = o.GetDirection().String()
		n.ordered = append(n.ordered, indexField{FieldPath: unquote(o.GetField().GetFieldPath()), Order: direction})
	}
	// Firestore also orders by the fields of ranges that the order does not name: after the others, in the order of their
	// names, in the direction of the last field before them.
	slices.Sort(unequal)
	for _, field := range unequal {
		if !slices.ContainsFunc(n.ordered, func(f indexField) bool { return f.FieldPath == field }) {
			n.ordered = append(n.ordered, indexField{FieldPath: field, Order: direction})
		}
	}
	// Every index ends with the name, in the direction of its last field.
	if last := len(n.ordered) - 1; last >= 0 && n.ordered[last].FieldPath == documentName &&
		(last == 0 || n.ordered[last-1].Order == n.ordered[last].Order) {
		n.ordered = n.ordered[:last]
	}
	if len(n.ordered) == 0 || n.scope == "COLLECTION" && len(n.equal)+len(n.ordered) == 1 {
		return nil
	}
	return n
}

type filter = *firestorepb.StructuredQuery_Filter

// alternatives returns the filters of each alternative of a condition, which is its disjunctive normal form: Firestore needs an
// index for each.
func alternatives(where filter) [][]filter {
	composite := where.GetCompositeFilter()
	switch {
	case where == nil:
		return [][]filter{nil}
	case composite == nil:
		return [][]filter{{where}}
	}
	var either [][]filter
	all := [][]filter{nil}
	for _, part := range composite.GetFilters() {
		of := alternatives(part)
		either = append(either, of...)
		var longer [][]filter
		for _, before := range all {
			for _, one := range of {
				longer = append(longer, slices.Concat(before, one))
			}
		}
		all = longer
	}
	if composite.GetOp() == firestorepb.StructuredQuery_CompositeFilter_OR {
		return either
	}
	return all
}

// conditions calls f for every condition.
func conditions(all []filter, f func(field string, equality bool)) {
	for _, filter := range all {
		switch {
		case filter.GetFieldFilter() != nil:
			op := filter.GetFieldFilter().GetOp()
			f(unquote(filter.GetFieldFilter().GetField().GetFieldPath()), op == firestorepb.StructuredQuery_FieldFilter_EQUAL ||
				op == firestorepb.StructuredQuery_FieldFilter_IN || op == firestorepb.StructuredQuery_FieldFilter_ARRAY_CONTAINS ||
				op == firestorepb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY)
		case filter.GetUnaryFilter() != nil:
			op := filter.GetUnaryFilter().GetOp()
			f(unquote(filter.GetUnaryFilter().GetField().GetFieldPath()), op == firestorepb.StructuredQuery_UnaryFilter_IS_NULL ||
				op == firestorepb.StructuredQuery_UnaryFilter_IS_NAN)
		}
	}
}

func unquote(fieldPath string) string { return strings.Trim(fieldPath, "`") }
