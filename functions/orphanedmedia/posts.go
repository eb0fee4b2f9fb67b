package orphanedmedia

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/firesweep/firesweep/functions/posts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/flow"
	"github.com/firesweep/firesweep/shared/objects"
)

// circleField is the field by which a post belongs to a circle.
const circleField = "circleId"

// maxGaps is how many gaps between circles one query covers. If nothing lies in them, it costs one read. Firestore allows a
// query 100 filters and orders, which it counts for each gap: 24 gaps with two filters and two orders are 96.
const maxGaps = 24

// gapPageSize is how many posts a page has. Few, because circleId may be user input as large as a document.
const gapPageSize = 50

// planPosts is the pass of posts whose circle does not exist. Its failure does not stop the other passes: they use other lookups,
// so their plan is carried out.
func planPosts(ctx context.Context, p *cleanup.Planner, in objects.Names, save func(after string) error) error {
	err := planAllGaps(ctx, p, in.From, save)
	var limit *cleanup.LimitError
	switch {
	case err == nil:
		keepOdd(ctx, p)
		return nil
	case errors.Is(err, cleanup.ErrOutOfTime), errors.Is(err, documents.ErrCursor), errors.As(err, &limit), ctx.Err() != nil:
		return err
	default:
		p.Fail(ctx, "posts of circles that do not exist", "plan", err)
		return nil
	}
}

// maxNamed is how many posts that no gap finds are named, at either end of the index.
const maxNamed = 20

// keepOdd counts and names posts whose circleId is neither a string nor null, which no gap finds. A null, like an empty string,
// says that there is no circle. Nothing depends on that, so an error is only logged.
func keepOdd(ctx context.Context, p *cleanup.Planner) {
	for _, q := range (documents.Query{Collection: "posts", Select: documents.NameOnly}).Odd(circleField, "", []byte{}) {
		found, err := p.Documents.First(ctx, q, "", maxNamed)
		if err != nil {
			p.Log.WarnContext(ctx, fmt.Sprintf("posts: what is kept, %s, could not all be counted: %v", keptOddCircle, err))
		}
		for _, d := range found {
			p.Keep(ctx, d.Path, cleanup.Invalid(keptOddCircle), 1)
		}
		more := 0
		if len(found) == maxNamed {
			all, _ := p.CountOf(ctx, q)
			more = max(0, all-maxNamed)
		}
		p.Keep(ctx, "posts", cleanup.Invalid(keptOddCircle), more)
		p.Scanned(len(found) + more)
	}
}

// gapsAhead is how many queries for gaps are under way at once: one page of circles makes so many.
const gapsAhead = 20

// gaps are the gaps between circles that one query asks for.
type gaps struct {
	filters [][]documents.Filter
	circles int    // how many were read for them
	last    string // the circle at which they end; "" for the last gap
}

// planAllGaps finds the orphans without reading a post whose circle exists. It reads the ids of all circles in order: a post
// whose circleId lies between two neighbours in the index has no circle.
func planAllGaps(ctx context.Context, p *cleanup.Planner, begin string, save func(after string) error) error {
	due, until := 0, ""
	between := func(ctx context.Context) iter.Seq2[gaps, error] { return allGaps(ctx, p, begin) }
	read := func(ctx context.Context, g gaps) ([]documents.Document, error) {
		return p.Documents.First(ctx, g.query(), "", gapPageSize)
	}
	err := flow.Each(ctx, gapsAhead, between, read, func(g gaps, first []documents.Document) error {
		p.Count(cleanup.Count{Collection: "circles", Exists: g.circles})
		n, err := planGaps(ctx, p, g.query(), first)
		if due += n; err != nil {
			return err
		}
		if until = g.last; until == "" {
			return nil
		}
		return save(g.last)
	})
	if err == nil || errors.Is(err, cleanup.ErrOutOfTime) {
		share(ctx, p, begin, until, due)
	}
	return err
}

// share holds what is due against all posts or, if the run went through a part of the circles, against those that refer to one
// there. If it is so little that it trips the limit in no case, these are not counted.
func share(ctx context.Context, p *cleanup.Planner, from, until string, due int) {
	if due*100 <= p.Config.MaxDuePercent*config.EnoughForShare || p.Config.MaxDuePercent == 100 {
		return
	}
	all := documents.Query{Collection: "posts"}
	if from != "" || until != "" {
		all.Where, all.OrderBy = gap(from, until), []string{circleField}
	}
	n, ok := p.CountOf(ctx, all)
	p.CountShare("documents of posts", n, ok, due, 0)
}

// allGaps returns the gaps between the circles behind one, and those before the first and behind the last.
func allGaps(ctx context.Context, p *cleanup.Planner, below string) iter.Seq2[gaps, error] {
	return func(yield func(gaps, error) bool) {
		circles := documents.Query{Collection: "circles", Select: documents.NameOnly, PageSize: gapsAhead * maxGaps}
		var from documents.Cursor
		if below != "" {
			var err error
			if from, err = circles.After(documents.Document{Path: "circles/" + below}); err != nil {
				yield(gaps{}, err)
				return
			}
		}
		read := 0
		for page, err := range p.Documents.Pages(ctx, circles, from) {
			if err != nil {
				yield(gaps{}, err)
				return
			}
			read += len(page.Documents)
			bounds := slices.DeleteFunc(page.Documents, noBound)
			for i := 0; i < len(bounds); i += maxGaps {
				g := gaps{circles: read}
				read = 0
				for _, circle := range bounds[i:min(i+maxGaps, len(bounds))] {
					g.filters = append(g.filters, gap(below, circle.ID()))
					below = circle.ID()
				}
				if g.last = below; !yield(g, nil) {
					return
				}
			}
		}
		yield(gaps{filters: [][]documents.Filter{gap(below, "")}, circles: read}, nil)
	}
}

// noBound reports whether a gap cannot end at a circle. A query cannot ask for an id of 1,500 bytes, and an id like __…__ is
// not a valid one. The gap then ends at the next circle, and the posts of this one lie within it. So do those of a circle that
// was created meanwhile. Both are safe, because the circles of all posts that a gap has are looked up before these are judged.
func noBound(circle documents.Document) bool {
	return !documents.Queryable(circle.ID()) || !documents.ValidID(circle.ID())
}

// gap returns the condition that circleId lies between two circles' ids. below is "" before the first circle, and above is ""
// behind the last. It excludes the empty string and values of other types.
func gap(below, above string) []documents.Filter {
	filters := []documents.Filter{{Field: circleField, Op: ">", Value: below}}
	if above != "" {
		filters = append(filters, documents.Filter{Field: circleField, Op: "<", Value: above})
	}
	return filters
}

// query returns the query for the posts in some gaps.
func (g gaps) query() documents.Query {
	return documents.Query{
		Collection: "posts", Any: g.filters, OrderBy: []string{circleField}, Select: []string{circleField}, PageSize: gapPageSize,
	}
}

// missingOf returns which circles of some posts do not exist.
func missingOf(ctx context.Context, r documents.Reader, found []documents.Document) ([]string, error) {
	var ids []string
	for _, post := range found {
		if circle, ok := posts.CircleOf(post); ok {
			ids = append(ids, circle.ID)
		}
	}
	return r.Missing(ctx, "circles", slices.Compact(ids)) // equal ids are neighbours in the order of the field
}

// planGaps plans the posts in some gaps, of which the first page is read, and returns how many are due.
func planGaps(
	ctx context.Context, p *cleanup.Planner, q documents.Query, found []documents.Document,
) (due int, err error) {
	for len(found) > 0 {
		missing, err := missingOf(ctx, p.Documents, found)
		if err != nil {
			return due, err
		}
		n, err := planPage(ctx, p, found, missing)
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

// planPage plans posts, of which these circles are missing, and returns how many are due.
func planPage(ctx context.Context, p *cleanup.Planner, found []documents.Document, missing []string) (int, error) {
	p.Scanned(len(found))
	var due []cleanup.Proposal
	for _, post := range found {
		circle, _ := posts.CircleOf(post)
		decision := judgePost(post, !slices.Contains(missing, circle.ID))
		if decision.Kind == "" {
			p.Keep(ctx, post.Path, decision, 1)
			continue
		}
		due = append(due, cleanup.Proposal{Document: post, Decision: decision})
		p.Count(cleanup.Count{Collection: "circles", Missing: 1})
	}
	return len(due), p.ProposeItems(ctx, postRule, due)
}
