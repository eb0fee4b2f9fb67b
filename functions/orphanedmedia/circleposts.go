package orphanedmedia

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/posts"
	"github.com/firesweep/firesweep/shared/sweep"
)

// postRule deletes posts of circles that do not exist. Whether a circle does is asked again in the commit.
var postRule = posts.Rule("post", func(s posts.State, _ sweep.Run) sweep.Decision { return judgePost(s.Document, s.Circle.Found) })

// maxGaps is how many gaps between circles one query covers, for one read while nothing lies in them. Firestore bounds the
// conditions and orders of a query to 100, counted for each gap: 24 gaps of two and two are 96.
const maxGaps = 24

// gapPageSize is how many posts are held at once. Few, because a circleId is user input and may be as large as a document.
const gapPageSize = 50

// maxNamed is how many posts whose circleId is no text are looked up to be named; all are counted.
const maxNamed = 20

// planCirclePosts finds the posts of circles that do not exist without reading a post of one that does: with the ids of
// all circles in order, whatever lies between two of them in the index of circleId belongs to no circle. A failure is that
// of this phase: what was planned for objects rests on other lookups and is done all the same.
func planCirclePosts(ctx context.Context, p *sweep.Planner, at checkpoint) error {
	err := planAllGaps(ctx, p, at)
	var limit *sweep.LimitError
	switch {
	case err == nil:
		if err := keepOddCircleIDs(ctx, p); err != nil {
			p.Log.WarnContext(ctx, "posts: those whose circleId is not a text are not counted, the cleanup itself goes on: "+err.Error(),
				slog.String("target", "posts"))
		}
		return nil
	case errors.Is(err, sweep.ErrOutOfTime), errors.Is(err, documents.ErrCursor), errors.As(err, &limit), ctx.Err() != nil:
		return err
	default:
		p.Fail(ctx, "posts of circles that do not exist", "plan", err)
		return nil
	}
}

func planAllGaps(ctx context.Context, p *sweep.Planner, at checkpoint) error {
	circles := documents.Query{Collection: "circles", Select: documents.NameOnly, PageSize: 20 * maxGaps}
	var from documents.Cursor
	if at.After != "" {
		var err error
		if from, err = circles.After(documents.Document{Path: "circles/" + at.After}); err != nil {
			return err
		}
	}
	for page, err := range p.Documents.Pages(ctx, circles, from) {
		if err != nil {
			return err
		}
		p.LookedUp("circles of posts", len(page.Documents), 0)
		for chunk := range slices.Chunk(slices.DeleteFunc(page.Documents, noBound), maxGaps) {
			gaps := make([][]documents.Filter, len(chunk))
			for i, circle := range chunk {
				gaps[i] = gap(at.After, circle.ID())
				at.After = circle.ID()
			}
			if err := planGaps(ctx, p, gaps); err != nil {
				return err
			}
			if err := at.save(p); err != nil {
				return err
			}
		}
	}
	return planGaps(ctx, p, [][]documents.Filter{gap(at.After, "")})
}

// noBound reports whether a gap cannot end at a circle: a query cannot ask for an id of 1,500 bytes, and one of the form
// __…__ is no id that a post can name. The gap then ends at the next circle, and posts of this one lie in it like those of a
// circle that was created meanwhile: its id is asked for by name before they are judged.
func noBound(circle documents.Document) bool {
	return !documents.Queryable(circle.ID()) || !documents.ValidID(circle.ID())
}

// gap is the condition that a circleId lies between two circles' ids; below is "" before the first and above "" behind
// the last. It excludes the empty circleId, and whatever is no text.
func gap(below, above string) []documents.Filter {
	filters := []documents.Filter{{Field: "circleId", Op: ">", Value: below}}
	if above != "" {
		filters = append(filters, documents.Filter{Field: "circleId", Op: "<", Value: above})
	}
	return filters
}

// planGaps proposes to delete the posts that lie in some gaps.
func planGaps(ctx context.Context, p *sweep.Planner, gaps [][]documents.Filter) error {
	q := documents.Query{
		Collection: "posts", Any: gaps, OrderBy: []string{"circleId"}, Select: []string{"circleId"}, PageSize: gapPageSize,
	}
	counted := "" // the last circle that the safety limit knows of
	for page, err := range p.Documents.Pages(ctx, q, "") {
		if err != nil {
			return err
		}
		p.Scanned(len(page.Documents))
		var ids []string
		for _, post := range page.Documents {
			if circle, ok := posts.CircleOf(post); ok {
				ids = append(ids, circle.ID)
			}
		}
		missing, err := p.Documents.Missing(ctx, "circles", slices.Compact(ids)) // they come in the order of circleId
		if err != nil {
			return err
		}
		var due []sweep.Proposal
		for _, post := range page.Documents {
			circle, _ := posts.CircleOf(post)
			switch d := judgePost(post, !slices.Contains(missing, circle.ID)); {
			case d.Invalid:
				p.KeepInvalid(ctx, post.Path, d.Reason, 1)
			case d.Kind == "":
				p.Keep(d.Reason, 1)
			default:
				due = append(due, sweep.Proposal{Document: post, Decision: d})
				if circle.ID != counted {
					counted = circle.ID
					p.LookedUp("circles of posts", 1, 1)
				}
			}
		}
		if err := p.ProposeItems(ctx, postRule, due); err != nil {
			return err
		}
	}
	return nil
}

// keepOddCircleIDs counts and names the posts whose circleId is neither a text nor null: no gap finds them, because in the
// index they lie before and after all texts. A null, like an empty text, says that the post belongs to no circle. Nothing is
// decided by it, so nothing fails with it.
func keepOddCircleIDs(ctx context.Context, p *sweep.Planner) error {
	odd := documents.Query{Collection: "posts", OrderBy: []string{"circleId"}, Select: documents.NameOnly}
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
		for _, post := range first {
			p.KeepInvalid(ctx, post.Path, keptOddCircle, 1)
		}
		named += len(first)
		if rest := n - len(first); rest > 0 {
			p.KeepInvalid(ctx, "posts", keptOddCircle, rest)
		}
	}
	return nil
}
