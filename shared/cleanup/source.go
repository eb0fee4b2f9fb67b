package cleanup

import (
	"context"
	"slices"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
)

// Source is what a rule reads from: the database while planning, the transaction in a commit. Get and First may be called side by
// side; Children may not, because it shares out the room that the commit has left.
type Source interface {
	// Run is what is known of the run.
	Run() Run
	// Get reads documents and returns those that there are.
	Get(ctx context.Context, refs []documents.Ref) (map[documents.Ref]documents.Document, error)
	// Children reads the documents that belong to each of some parents.
	Children(ctx context.Context, c Children, parents []string) (map[string]Belonging, error)
	// First returns the first documents that a query matches from a cursor on, at most limit.
	First(ctx context.Context, q documents.Query, from documents.Cursor, limit int) ([]documents.Document, error)
	// Lacking reports whether a query matches documents that lack a field, which no index finds.
	Lacking(ctx context.Context, q documents.Query, field string) (bool, error)
	// Due reports, in a preview, whether a run deletes a document besides, because the plan has it as an item of the rule.
	Due(ref documents.Ref) bool
	// Reference returns the value that refers to a document, for a query to compare with.
	Reference(ref documents.Ref) any
	// Outside reads documents that no transaction holds still.
	Outside() documents.Reader
	// Object returns an object, if there is one of that name. No transaction holds it still.
	Object(ctx context.Context, name string) (o objects.Object, found bool, err error)
	// Accounts reports which accounts exist. No transaction holds them still, so a rule asks for them last.
	Accounts(ctx context.Context, uids []string) (exist map[string]bool, err error)
}

// Children says which documents belong to a parent: those whose field names it.
type Children struct {
	Collection, Field string
	Select            []string // the fields to read besides Field
	// Names returns the values by which the field may name a parent, and NameOf the parent that a value names; nil where
	// the field holds the parent's id as it is.
	Names  func(parent string) []any
	NameOf func(value any) (parent string, ok bool)
	// Subcollection says that the documents are those of the collection of that name below each parent. The parents are documents'
	// paths then, and there is no Field.
	Subcollection bool
}

// Query returns the query for the documents that belong to some parents.
func (c Children) Query(parents ...string) documents.Query {
	if c.Subcollection {
		return documents.Query{Collection: parents[0] + "/" + c.Collection, Select: c.fields(documents.NameOnly)}
	}
	var names []any
	for _, parent := range parents {
		names = append(names, c.ValuesOf(parent)...)
	}
	f := documents.Filter{Field: c.Field, Op: "in", Value: names}
	if len(names) == 1 {
		f = documents.Filter{Field: c.Field, Op: "==", Value: names[0]}
	}
	return documents.Query{Collection: c.Collection, Where: []documents.Filter{f}, Select: c.fields([]string{c.Field})}
}

// fields returns what to read, besides what is needed anyway.
func (c Children) fields(needed []string) []string {
	return append(slices.Clone(needed), c.Select...)
}

// ValuesOf returns the values by which the field may name a parent.
func (c Children) ValuesOf(parent string) []any {
	if c.Names == nil {
		return []any{parent}
	}
	return c.Names(parent)
}

// Belonging are the documents that belong to one parent.
type Belonging struct {
	Documents []documents.Document
	// Whole says that there are no more. A commit holds so many documents at most; a parent that has more is not whole, and
	// unless it is alone in its commit it may come with none of its documents.
	Whole bool
}
