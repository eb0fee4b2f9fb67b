package placeholderusers

import (
	"context"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

// unsetValues are values by which programs write that a field is not set. They are not null, so a job has to say what it makes of
// them.
var unsetValues = []any{"", int64(0), false}

// unset returns the query for the documents of a collection whose field is null or missing, or holds "", 0 or false, and counts
// the others as kept. some is false if there are none. A field that is missing cannot be asked for; but three counts, at one
// read per 1000 documents, tell whether it is missing anywhere. Only then, or where the documents cannot be counted, does the
// query return all of them, those too whose field is set.
func unset(ctx context.Context, p *cleanup.Planner, collection, field, kept string) (q documents.Query, some bool) {
	in := func(where ...documents.Filter) documents.Query {
		return documents.Query{Collection: collection, Where: where}
	}
	none := in()
	none.Any = [][]documents.Filter{
		{{Field: field, Op: "==", Value: nil}}, {{Field: field, Op: "in", Value: unsetValues}},
	}
	n, counted := p.CountAll(ctx, in(), in(documents.Filter{Field: field, Op: "not-in", Value: unsetValues}), none)
	if !counted {
		return in(), true
	}
	all, set, explicit := n[0], n[1], n[2]
	if explicit != all-set {
		return in(), true
	}
	p.Scanned(set)
	p.Keep(ctx, collection, cleanup.Keep(kept), set)
	return none, all > set
}
