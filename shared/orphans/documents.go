package orphans

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/inorder"
	"github.com/firesweep/firesweep/shared/objects"
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

// begin implements [Pass]. It finds the orphans without reading a document whose owner exists: with the ids of all owners in
// order, whatever lies between two of them in the field's index has none.
func (c Documents) begin(ctx context.Context, p *sweep.Planner, in objects.Names) begun {
	between := inorder.Begin(ctx, gapsAhead,
		func(ctx context.Context) iter.Seq2[gaps, error] { return c.allGaps(ctx, p, in) },
		func(ctx context.Context, g gaps) (firstOf, error) {
			found, err := p.Documents.First(ctx, c.query(g), "", gapPageSize)
			if err != nil || len(found) == 0 {
				return firstOf{}, err
			}
			missing, err := c.missing(ctx, p.Documents, found)
			return firstOf{found, missing}, err
		})
	var strange *inorder.Flow[documents.Query, odd]
	if in.Before == "" { // the last shard counts what is odd
		strange = c.findOdd(ctx, p)
	}
	return begun{
		stop: func() {
			between.Stop()
			if strange != nil {
				strange.Stop()
			}
		},
		end: func(save func(after string) error) error { return c.end(ctx, p, between, strange, save) },
	}
}

// end proposes what is to become of the orphans. A failure is that of this pass: the others rest on other lookups, and what they
// planned is done all the same.
func (c Documents) end(
	ctx context.Context, p *sweep.Planner, between *inorder.Flow[gaps, firstOf], strange *inorder.Flow[documents.Query, odd], save func(string) error,
) error {
	err := c.planAllGaps(ctx, p, between, save)
	var limit *sweep.LimitError
	switch {
	case err == nil && strange == nil:
		return nil
	case err == nil:
		if err := c.keepOdd(ctx, p, strange); err != nil {
			message := ": those whose " + c.Field + " is not a string are not counted; the cleanup itself continues: "
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

// gapsAhead is how many queries for gaps are under way at once: as many as a page of owners makes.
const gapsAhead = 20

// gaps are some gaps between owners that one query asks for.
type gaps struct {
	filters [][]documents.Filter
	owners  int    // that were read for them
	last    string // the owner behind which they end; "" for the last gap
}

// firstOf is the first page of what lies in some gaps.
type firstOf struct {
	found   []documents.Document
	missing []string // owners
}

func (c Documents) planAllGaps(ctx context.Context, p *sweep.Planner, all *inorder.Flow[gaps, firstOf], save func(after string) error) error {
	counted := "" // the last owner that the safety limit knows of
	return all.Each(func(g gaps, first firstOf) error {
		p.LookedUp(c.lookedUp(), g.owners, 0)
		if err := c.planGaps(ctx, p, c.query(g), first, &counted); err != nil || g.last == "" {
			return err
		}
		return save(g.last)
	})
}

// allGaps returns the gaps between the owners in a stretch of names, and those before the first and behind the last.
func (c Documents) allGaps(ctx context.Context, p *sweep.Planner, in objects.Names) iter.Seq2[gaps, error] {
	return func(yield func(gaps, error) bool) {
		owners := documents.Query{Collection: c.Owners, Select: documents.NameOnly, PageSize: gapsAhead * maxGaps}
		var from documents.Cursor
		if in.After {
			var err error
			if from, err = owners.After(documents.Document{Path: c.Owners + "/" + in.From}); err != nil {
				yield(gaps{}, err)
				return
			}
			owners.Where = c.named(p, "", in.Before)
		} else {
			owners.Where = c.named(p, in.From, in.Before)
		}
		below := in.From
		op := ">"
		if in.From != "" && !in.After {
			op = ">=" // what has exactly that for its owner lies in this stretch
		}
		read := 0
		for page, err := range p.Documents.Pages(ctx, owners, from) {
			if err != nil {
				yield(gaps{}, err)
				return
			}
			read += len(page.Documents)
			for chunk := range slices.Chunk(slices.DeleteFunc(page.Documents, noBound), maxGaps) {
				g := gaps{owners: read}
				read = 0
				for _, owner := range chunk {
					g.filters = append(g.filters, c.gap(op, below, owner.ID()))
					op, below = ">", owner.ID()
				}
				if g.last = below; !yield(g, nil) {
					return
				}
			}
		}
		yield(gaps{filters: [][]documents.Filter{c.gap(op, below, in.Before)}, owners: read}, nil)
	}
}

// noBound reports whether a gap cannot end at an owner: a query cannot ask for an id of 1,500 bytes, and one of the form
// __…__ is no id that data can name. The gap then ends at the next owner, and documents of this one lie in it like those of an
// owner that was created meanwhile: its id is asked for by name before they are judged.
func noBound(owner documents.Document) bool {
	return !documents.Queryable(owner.ID()) || !documents.ValidID(owner.ID())
}

// gap is the condition that the field lies between two owners' ids, behind the first of them or, with the operator ">=", at it;
// below is "" before the first and above "" behind the last. It excludes the empty text, and whatever is no text.
func (c Documents) gap(op, below, above string) []documents.Filter {
	filters := []documents.Filter{{Field: c.Field, Op: op, Value: below}}
	if above != "" {
		filters = append(filters, documents.Filter{Field: c.Field, Op: "<", Value: above})
	}
	return filters
}

func (c Documents) query(g gaps) documents.Query {
	return documents.Query{
		Collection: c.Collection, Any: g.filters, OrderBy: []string{c.Field}, Select: []string{c.Field}, PageSize: gapPageSize,
	}
}

// missing returns the owners of some documents that do not exist.
func (c Documents) missing(ctx context.Context, r documents.Reader, found []documents.Document) ([]string, error) {
	var ids []string
	for _, d := range found {
		if id, _ := d.Text(c.Field); documents.ValidID(id) {
			ids = append(ids, id)
		}
	}
	return r.Missing(ctx, c.Owners, slices.Compact(ids)) // they come in the order of the field
}

// planGaps proposes what is to become of the documents that lie in some gaps, of which the first page has been read.
func (c Documents) planGaps(ctx context.Context, p *sweep.Planner, q documents.Query, first firstOf, counted *string) error {
	if err := c.planPage(ctx, p, first.found, first.missing, counted); err != nil || len(first.found) < gapPageSize {
		return err
	}
	from, err := q.After(first.found[gapPageSize-1])
	if err != nil {
		return err
	}
	for page, err := range p.Documents.Pages(ctx, q, from) {
		if err != nil {
			return err
		}
		missing, err := c.missing(ctx, p.Documents, page.Documents)
		if err != nil {
			return err
		}
		if err := c.planPage(ctx, p, page.Documents, missing, counted); err != nil {
			return err
		}
	}
	return nil
}

func (c Documents) planPage(ctx context.Context, p *sweep.Planner, found []documents.Document, missing []string, counted *string) error {
	p.Scanned(len(found))
	var due []sweep.Proposal
	for _, d := range found {
		owner, _ := d.Text(c.Field)
		switch decision := c.Judge(d, !slices.Contains(missing, owner)); {
		case decision.Invalid:
			p.KeepInvalid(ctx, d.Path, decision.Reason, 1)
		case decision.Kind == "":
			p.Keep(decision.Reason, 1)
		default:
			due = append(due, sweep.Proposal{Document: d, Decision: decision})
			if owner != *counted {
				*counted = owner
				p.LookedUp(c.lookedUp(), 1, 1)
			}
		}
	}
	return p.ProposeItems(ctx, c.Rule, due)
}

// odd are documents whose field is neither a text nor null: no gap finds them, because in the index they lie before and after all
// texts. A null, like an empty text, says that the document has no owner.
type odd struct {
	n     int
	first []documents.Document // up to maxNamed
}

// findOdd counts the odd ones, those before all texts and those after them, and reads the first.
func (c Documents) findOdd(ctx context.Context, p *sweep.Planner) *inorder.Flow[documents.Query, odd] {
	before := documents.Query{Collection: c.Collection, OrderBy: []string{c.Field}, Select: documents.NameOnly}
	after := before
	before.From, before.Until = []any{false}, []any{""} // false comes right after null
	after.From = []any{[]byte{}}                        // right after all texts
	return inorder.Begin(ctx, 2,
		func(context.Context) iter.Seq2[documents.Query, error] {
			return func(yield func(documents.Query, error) bool) { _ = yield(before, nil) && yield(after, nil) }
		},
		func(ctx context.Context, q documents.Query) (found odd, err error) {
			if found.n, err = p.Documents.Count(ctx, q); err == nil && found.n > 0 {
				found.first, err = p.Documents.First(ctx, q, "", min(found.n, maxNamed))
			}
			return found, err
		})
}

// keepOdd counts and names the odd ones. Nothing is decided by it, so nothing fails with it.
func (c Documents) keepOdd(ctx context.Context, p *sweep.Planner, all *inorder.Flow[documents.Query, odd]) error {
	named := 0
	return all.Each(func(_ documents.Query, found odd) error {
		p.Scanned(found.n)
		first := found.first[:min(len(found.first), maxNamed-named)]
		for _, d := range first {
			p.KeepInvalid(ctx, d.Path, c.KeptOdd, 1)
		}
		named += len(first)
		if rest := found.n - len(first); rest > 0 {
			p.KeepInvalid(ctx, c.Collection, c.KeptOdd, rest)
		}
		return nil
	})
}
