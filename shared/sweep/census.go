package sweep

import (
	"context"

	"github.com/firesweep/firesweep/shared/documents"
)

// Census says what a query for due documents leaves out, and why that is kept.
type Census struct {
	Due      documents.Query    // what is due: eligible, and old enough by the field it is ordered by
	Among    []documents.Filter // what is counted at all; none: the whole collection
	Eligible documents.Filter   // Due's condition on anything but age; none: age is the only one
	Young    documents.Filter   // the opposite of Due's condition on age

	KeptOther   string // why those that are not eligible are kept
	Doubtful    bool   // of those: they cannot be judged, and somebody may want to mend them
	KeptYoung   string // why the eligible ones that are too young are kept
	KeptUndated string // why the eligible ones without a usable age are kept, which are doubtful
}

// CountKept counts the documents that a query for the due ones leaves out, at one read per 1000 of them. One that is
// written meanwhile may be counted on the wrong side; nothing is decided by these figures.
func (p *Planner) CountKept(ctx context.Context, c Census) error {
	var all, eligible, young, due int
	for _, part := range []struct {
		n     *int
		where []documents.Filter
		order []string
	}{
		{&all, c.Among, nil},
		{&eligible, []documents.Filter{c.Eligible}, nil},
		// In the order of the query for the due ones, for the order decides which index is needed.
		{&young, []documents.Filter{c.Eligible, c.Young}, c.Due.OrderBy},
		{&due, c.Due.Where, c.Due.OrderBy},
	} {
		n, err := p.Documents.Count(ctx, documents.Query{Collection: c.Due.Collection, Where: part.where, OrderBy: part.order})
		if err != nil {
			return err
		}
		*part.n = n
	}
	p.Scanned(max(0, all-due))
	p.Keep(c.KeptYoung, young)
	if other := all - eligible; other > 0 && c.Doubtful {
		p.KeepDoubtful(ctx, c.Due.Collection, c.KeptOther, other)
	} else {
		p.Keep(c.KeptOther, other)
	}
	if undated := eligible - young - due; undated > 0 {
		p.KeepDoubtful(ctx, c.Due.Collection, c.KeptUndated, undated)
	}
	return nil
}
