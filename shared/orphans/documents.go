package orphans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/flow"
)

// Documents are the documents of a collection that have the id of their owner in a field.
type Documents struct {
	Name              string // what ORPHANS calls the pass; empty: it is the job's only one
	Collection, Field string // e.g. posts, circleId
	Owners            string // the owners' collection, e.g. circles
	// Judge decides about a document by whether its owner exists; it is pure. It gets the documents whose field is a string
	// that is not empty, even one that is no valid id.
	Judge   func(d documents.Document, ownerExists bool) cleanup.Decision
	Rule    cleanup.AnyRule // judges what is due once more, in its commit, and says what to write
	KeptOdd string          // why documents are kept whose field is neither a string nor null
}

// maxGaps is how many gaps between owners one query covers. If nothing lies in them, it costs one read. Firestore allows a
// query 100 filters and orders, which it counts for each gap: 24 gaps with two filters and two orders are 96.
const maxGaps = 24

// gapPageSize is how many documents a page has. Few, because the field may be user input as large as a document.
const gapPageSize = 50

// name implements [Pass].
func (c Documents) name() string { return c.Name }

// maxOwners returns how many owners a run reads at most.
func maxOwners(p *cleanup.Planner) int {
	return cmp.Or(own.In(p.Config).owners, defaultMaxOwners)
}

// plan implements [Pass]. A failure of this pass does not stop the others: they use other lookups, so their plan is carried out.
func (c Documents) plan(ctx context.Context, p *cleanup.Planner, in stretch) error {
	err := c.planAllGaps(ctx, p, in)
	var limit *cleanup.LimitError
	switch {
	case err == nil:
		c.keepOdd(ctx, p)
		return nil
	case errors.Is(err, cleanup.ErrOutOfTime), errors.Is(err, documents.ErrCursor), errors.As(err, &limit), ctx.Err() != nil:
		return err
	default:
		p.Fail(ctx, c.Collection+" of "+c.Owners+" that do not exist", "plan", err)
		return nil
	}
}

// maxNamed is how many documents that no gap finds are named, at either end of the index.
const maxNamed = 20

// keepOdd counts and names those whose field is neither a string nor null, which no gap finds. A null, like an empty string, says
// that there is no owner. Nothing depends on that, so an error is only logged.
func (c Documents) keepOdd(ctx context.Context, p *cleanup.Planner) {
	for _, q := range (documents.Query{Collection: c.Collection, Select: documents.NameOnly}).Odd(c.Field, "", []byte{}) {
		found, err := p.Documents.First(ctx, q, "", maxNamed)
		if err != nil {
			p.Log.WarnContext(ctx, fmt.Sprintf("%s: what is kept, %s, could not all be counted: %v", c.Collection, c.KeptOdd, err))
		}
		for _, d := range found {
			p.Keep(ctx, d.Path, cleanup.Invalid(c.KeptOdd), 1)
		}
		more := 0
		if len(found) == maxNamed {
			all, _ := p.CountOf(ctx, q)
			more = max(0, all-maxNamed)
		}
		p.Keep(ctx, c.Collection, cleanup.Invalid(c.KeptOdd), more)
		p.Scanned(len(found) + more)
	}
}

// gapsAhead is how many queries for gaps are under way at once: one page of owners makes so many.
const gapsAhead = 20

// gaps are the gaps between owners that one query asks for.
type gaps struct {
	filters [][]documents.Filter
	owners  int    // how many owners were read for them
	last    string // the owner at which they end; "" for the last gap
	enough  bool   // a run reads no more owners
}

// planAllGaps finds the orphans without reading a document whose owner exists. It reads the ids of all owners in order: a
// document whose field lies between two neighbours in the field's index has no owner.
//
// A run reads [ownersSetting] owners at most. The next ones go on from there, and all begin anew behind the last owner.
func (c Documents) planAllGaps(ctx context.Context, p *cleanup.Planner, in stretch) error {
	due, until := 0, ""
	between := func(ctx context.Context) iter.Seq2[gaps, error] { return c.allGaps(ctx, p, in.From) }
	read := func(ctx context.Context, g gaps) ([]documents.Document, error) {
		return p.Documents.First(ctx, c.query(g), "", gapPageSize)
	}
	err := flow.Each(ctx, gapsAhead, between, read, func(g gaps, first []documents.Document) error {
		p.Count(cleanup.Count{Collection: c.Owners, Exists: g.owners})
		n, err := c.planGaps(ctx, p, c.query(g), first)
		if due += n; err != nil {
			return err
		}
		if until = g.last; until == "" {
			return nil
		}
		if g.enough {
			c.leave(ctx, p, g.last)
			in.later(g.last)
		}
		return in.save(g.last)
	})
	if err == nil || errors.Is(err, cleanup.ErrOutOfTime) {
		c.share(ctx, p, in.From, until, due)
	}
	return err
}

// leave says what is left for the next runs.
func (c Documents) leave(ctx context.Context, p *cleanup.Planner, after string) {
	behind := documents.Filter{Field: firestore.DocumentID, Op: ">", Value: p.Documents.Ref(c.Owners + "/" + after)}
	left, _ := p.CountOf(ctx, documents.Query{Collection: c.Owners, Where: []documents.Filter{behind}})
	reason := "left for the next runs: one looks for %s of %d %s at most (%s)"
	p.Keep(ctx, c.Owners, cleanup.Keep(fmt.Sprintf(reason, c.Collection, maxOwners(p), c.Owners, ownersSetting)), left)
}

// share holds what is due against all documents or, if the run went through a part of the owners, against those that refer to one
// there. If it is so little that it trips the limit in no case, these are not counted.
func (c Documents) share(ctx context.Context, p *cleanup.Planner, from, until string, due int) {
	if due*100 <= p.Config.MaxDuePercent*config.EnoughForShare || p.Config.MaxDuePercent == 100 {
		return
	}
	all := documents.Query{Collection: c.Collection}
	if from != "" || until != "" {
		all.Where, all.OrderBy = c.gap(from, until), []string{c.Field}
	}
	n, ok := p.CountOf(ctx, all)
	p.CountShare("documents of "+c.Collection, n, ok, due, 0)
}

// allGaps returns the gaps between the owners behind one, and those before the first and behind the last: as many as a run looks
// at.
func (c Documents) allGaps(ctx context.Context, p *cleanup.Planner, below string) iter.Seq2[gaps, error] {
	return func(yield func(gaps, error) bool) {
		owners := documents.Query{Collection: c.Owners, Select: documents.NameOnly, PageSize: gapsAhead * maxGaps}
		var from documents.Cursor
		if below != "" {
			var err error
			if from, err = owners.After(documents.Document{Path: c.Owners + "/" + below}); err != nil {
				yield(gaps{}, err)
				return
			}
		}
		read, left := 0, maxOwners(p)
		for page, err := range p.Documents.Pages(ctx, owners, from) {
			if err != nil {
				yield(gaps{}, err)
				return
			}
			read += len(page.Documents)
			left -= len(page.Documents)
			bounds := slices.DeleteFunc(page.Documents, noBound)
			for i := 0; i < len(bounds); i += maxGaps {
				g := gaps{owners: read, enough: left < owners.PageSize && i+maxGaps >= len(bounds)}
				read = 0
				for _, owner := range bounds[i:min(i+maxGaps, len(bounds))] {
					g.filters = append(g.filters, c.gap(below, owner.ID()))
					below = owner.ID()
				}
				if g.last = below; !yield(g, nil) || g.enough {
					return
				}
			}
		}
		yield(gaps{filters: [][]documents.Filter{c.gap(below, "")}, owners: read}, nil)
	}
}

// noBound reports whether a gap cannot end at an owner. A query cannot ask for an id of 1,500 bytes, and an id like __…__ is
// not a valid one. The gap then ends at the next owner, and the documents of this owner lie within it. So do those of an
// owner that was created meanwhile. Both are safe, because the owners of all documents that a gap has are looked up before
// they are judged.
func noBound(owner documents.Document) bool {
	return !documents.Queryable(owner.ID()) || !documents.ValidID(owner.ID())
}

// gap returns the condition that the field lies between two owners' ids. below is "" before the first owner, and above is ""
// behind the last. It excludes the empty string and values of other types.
func (c Documents) gap(below, above string) []documents.Filter {
	filters := []documents.Filter{{Field: c.Field, Op: ">", Value: below}}
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

// missing returns which owners of some documents do not exist.
func (c Documents) missing(ctx context.Context, r documents.Reader, found []documents.Document) ([]string, error) {
	var ids []string
	for _, d := range found {
		if id, _ := d.Text(c.Field); documents.ValidID(id) {
			ids = append(ids, id)
		}
	}
	return r.Missing(ctx, c.Owners, slices.Compact(ids)) // equal ids are neighbours in the order of the field
}

// planGaps plans the documents in some gaps, of which the first page is read, and returns how many are due.
func (c Documents) planGaps(ctx context.Context, p *cleanup.Planner, q documents.Query, found []documents.Document) (due int, err error) {
	for len(found) > 0 {
		missing, err := c.missing(ctx, p.Documents, found)
		if err != nil {
			return due, err
		}
		n, err := c.planPage(ctx, p, found, missing)
		if due += n; err != nil || len(found) < gapPageSize {
			return due, err
		}
		from, err := q.After(found[gapPageSize-1])
		if err != nil {
			return due, err
		}
		if found, err = p.Documents.First(ctx, q, from, gapPageSize); err != nil {
			return due, err
		}
	}
	return due, nil
}

func (c Documents) planPage(ctx context.Context, p *cleanup.Planner, found []documents.Document, missing []string) (int, error) {
	p.Scanned(len(found))
	var due []cleanup.Proposal
	for _, d := range found {
		owner, _ := d.Text(c.Field)
		decision := c.Judge(d, !slices.Contains(missing, owner))
		if decision.Kind == "" {
			p.Keep(ctx, d.Path, decision, 1)
			continue
		}
		due = append(due, cleanup.Proposal{Document: d, Decision: decision})
		p.Count(cleanup.Count{Collection: c.Owners, Missing: 1})
	}
	return len(due), p.ProposeItems(ctx, c.Rule, due)
}
