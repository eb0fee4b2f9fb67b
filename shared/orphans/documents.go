package orphans

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Documents are the documents of a collection, a field of which holds the id of their owner.
type Documents struct {
	Collection, Field string // e.g. posts, circleId
	Owners            string // the owners' collection, e.g. circles
	// Judge decides about a document by whether its owner exists; it is pure. It is given those whose field holds a text, which
	// may be one that names no document.
	Judge   func(d documents.Document, ownerExists bool) sweep.Decision
	Rule    sweep.AnyRule // judges what is due once more, in its commit, and says what goes with it
	KeptOdd string        // why those are kept whose field holds something else than a text
}

// maxGaps is how many gaps between owners one query covers, for one read while nothing lies in them. Firestore bounds the
// conditions and orders of a query to 100, counted for each gap: 24 gaps of two and two are 96.
const maxGaps = 24

// gapPageSize is how many documents are held at once. Few, because the field may be user input, as large as a document.
const gapPageSize = 50

// maxNamed is how many documents whose field is no text are looked up to be named; all are counted.
const maxNamed = 20

// plan finds the orphans without reading a document whose owner exists: with the ids of all owners in order, whatever lies
// between two of them in the field's index has none. A failure is that of this pass: the others rest on other lookups, and what
// they planned is done all the same.
func (c Documents) plan(ctx context.Context, p *sweep.Planner, after string, save func(after string) error) error {
	err := c.planAllGaps(ctx, p, after, save)
	var limit *sweep.LimitError
	switch {
	case err == nil:
		if err := c.keepOdd(ctx, p); err != nil {
			message := ": those whose " + c.Field + " is not a text are not counted, the cleanup itself goes on: "
			p.Log.WarnContext(ctx, c.Collection+message+err.Error(), slog.String("target", c.Collection))
		}
		return nil
	case errors.Is(err, sweep.ErrOutOfTime), errors.Is(err, documents.ErrCursor), errors.As(err, &limit), ctx.Err() != nil:
		return err
	default:
		p.Fail(ctx, c.Collection+" of "+c.Owners+" that do not exist", "plan", err)
		return nil
	}
}

// lookedUp is how the safety limit calls the owners, which may be looked up for objects as well.
func (c Documents) lookedUp() string { return c.Owners + " of " + c.Collection }

func (c Documents) planAllGaps(ctx context.Context, p *sweep.Planner, after string, save func(after string) error) error {
	owners := documents.Query{Collection: c.Owners, Select: documents.NameOnly, PageSize: 20 * maxGaps}
	var from documents.Cursor
	if after != "" {
		var err error
		if from, err = owners.After(documents.Document{Path: c.Owners + "/" + after}); err != nil {
			return err
		}
	}
	for page, err := range p.Documents.Pages(ctx, owners, from) {
		if err != nil {
			return err
		}
		p.LookedUp(c.lookedUp(), len(page.Documents), 0)
		for chunk := range slices.Chunk(slices.DeleteFunc(page.Documents, noBound), maxGaps) {
			gaps := make([][]documents.Filter, len(chunk))
			for i, owner := range chunk {
				gaps[i] = c.gap(after, owner.ID())
				after = owner.ID()
			}
			if err := c.planGaps(ctx, p, gaps...); err != nil {
				return err
			}
			if err := save(after); err != nil {
				return err
			}
		}
	}
	return c.planGaps(ctx, p, c.gap(after, ""))
}

// noBound reports whether a gap cannot end at an owner: a query cannot ask for an id of 1,500 bytes, and one of the form
// __…__ is no id that data can name. The gap then ends at the next owner, and documents of this one lie in it like those of an
// owner that was created meanwhile: its id is asked for by name before they are judged.
func noBound(owner documents.Document) bool {
	return !documents.Queryable(owner.ID()) || !documents.ValidID(owner.ID())
}

// gap is the condition that the field lies between two owners' ids; below is "" before the first and above "" behind the
// last. It excludes the empty text, and whatever is no text.
func (c Documents) gap(below, above string) []documents.Filter {
	filters := []documents.Filter{{Field: c.Field, Op: ">", Value: below}}
	if above != "" {
		filters = append(filters, documents.Filter{Field: c.Field, Op: "<", Value: above})
	}
	return filters
}

// planGaps proposes what is to become of the documents that lie in some gaps.
func (c Documents) planGaps(ctx context.Context, p *sweep.Planner, gaps ...[]documents.Filter) error {
	q := documents.Query{
		Collection: c.Collection, Any: gaps, OrderBy: []string{c.Field}, Select: []string{c.Field}, PageSize: gapPageSize,
	}
	counted := "" // the last owner that the safety limit knows of
	for page, err := range p.Documents.Pages(ctx, q, "") {
		if err != nil {
			return err
		}
		p.Scanned(len(page.Documents))
		owners := make([]string, len(page.Documents))
		for i, d := range page.Documents {
			owners[i], _ = d.Text(c.Field)
		}
		ids := slices.Compact(slices.DeleteFunc(slices.Clone(owners), func(id string) bool { return !documents.ValidID(id) }))
		missing, err := p.Documents.Missing(ctx, c.Owners, ids) // they come in the order of the field
		if err != nil {
			return err
		}
		var due []sweep.Proposal
		for i, found := range page.Documents {
			switch d := c.Judge(found, !slices.Contains(missing, owners[i])); {
			case d.Invalid:
				p.KeepInvalid(ctx, found.Path, d.Reason, 1)
			case d.Kind == "":
				p.Keep(d.Reason, 1)
			default:
				due = append(due, sweep.Proposal{Document: found, Decision: d})
				if owners[i] != counted {
					counted = owners[i]
					p.LookedUp(c.lookedUp(), 1, 1)
				}
			}
		}
		if err := p.ProposeItems(ctx, c.Rule, due); err != nil {
			return err
		}
	}
	return nil
}

// keepOdd counts and names the documents whose field is neither a text nor null: no gap finds them, because in the index they
// lie before and after all texts. A null, like an empty text, says that the document has no owner. Nothing is decided by it, so
// nothing fails with it.
func (c Documents) keepOdd(ctx context.Context, p *sweep.Planner) error {
	odd := documents.Query{Collection: c.Collection, OrderBy: []string{c.Field}, Select: documents.NameOnly}
	before, after := odd, odd
	before.From, before.Until = []any{false}, []any{""} // false comes right after null
	after.From = []any{[]byte{}}                        // right after all texts
	named := 0
	for _, q := range []documents.Query{before, after} {
		n, err := p.Documents.Count(ctx, q)
		if err != nil {
			return err
		}
		p.Scanned(n)
		var first []documents.Document
		if most := min(n, maxNamed-named); most > 0 {
			if first, err = p.Documents.First(ctx, q, "", most); err != nil {
				return err
			}
		}
		for _, d := range first {
			p.KeepInvalid(ctx, d.Path, c.KeptOdd, 1)
		}
		named += len(first)
		if rest := n - len(first); rest > 0 {
			p.KeepInvalid(ctx, c.Collection, c.KeptOdd, rest)
		}
	}
	return nil
}
