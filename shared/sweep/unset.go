package sweep

import (
	"context"

	"github.com/firesweep/firesweep/shared/documents"
)

// Unset returns the query for the documents of a collection whose field is null or missing, and counts the others as kept. some is
// false if there are none. A field that is missing cannot be asked for; but three counts, at one read per 1000 documents, tell
// whether it is missing anywhere. Only then, or where the documents cannot be counted, does the query return all of them,
// those too whose field is set.
func (p *Planner) Unset(ctx context.Context, collection, field, kept string) (q documents.Query, some bool) {
	in := func(where ...documents.Filter) documents.Query {
		return documents.Query{Collection: collection, Where: where}
	}
	null := documents.Filter{Field: field, Op: "==", Value: nil}
	n, counted := p.CountAll(ctx, in(), in(documents.Filter{Field: field, Op: "!=", Value: nil}), in(null))
	if !counted {
		return in(), true
	}
	all, set, explicit := n[0], n[1], n[2]
	if explicit != all-set {
		return in(), true
	}
	p.Scanned(set)
	p.Keep(kept, set)
	return in(null), all > set
}
