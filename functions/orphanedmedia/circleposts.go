package orphanedmedia

import (
	"context"
	"slices"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/posts"
	"github.com/firesweep/firesweep/shared/sweep"
)

// maxGaps is how many gaps between circles one count covers, for one read while nothing lies in them.
const maxGaps = 30

// planCirclePosts finds the posts of circles that do not exist without reading a post of one that does: with the ids of
// all circles in order, whatever lies between two of them in the index of circleId belongs to no circle.
func planCirclePosts(ctx context.Context, p *sweep.Planner, at position) error {
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
		for chunk := range slices.Chunk(page.Documents, maxGaps) {
			gaps := make([][]documents.Filter, len(chunk))
			for i, circle := range chunk {
				gaps[i] = gap(at.After, circle.ID())
				at.After = circle.ID()
			}
			if err := planGaps(ctx, p, gaps); err != nil {
				return err
			}
			if err := at.mark(p); err != nil {
				return err
			}
		}
	}
	return planGaps(ctx, p, [][]documents.Filter{gap(at.After, "")})
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
	q := documents.Query{Collection: "posts", Any: gaps, OrderBy: []string{"circleId"}, Select: []string{"circleId"}}
	n, err := p.Documents.Count(ctx, q)
	if err != nil || n == 0 {
		return err
	}
	known := map[string]bool{} // circles looked up, for the belt
	for page, err := range p.Documents.Pages(ctx, q, "") {
		if err != nil {
			return err
		}
		p.Scanned(len(page.Documents))
		missing, err := missingCircles(ctx, p, page.Documents)
		if err != nil {
			return err
		}
		for _, post := range page.Documents {
			if err := proposePost(ctx, p, post, missing, known); err != nil {
				return err
			}
		}
	}
	return nil
}

// missingCircles asks, for the circles of some posts, which do not exist at this moment.
func missingCircles(ctx context.Context, p *sweep.Planner, posts []documents.Document) (map[string]bool, error) {
	var ids []string
	for _, post := range posts {
		if id, ok := circleOf(post); ok && !slices.Contains(ids[max(0, len(ids)-1):], id) { // they come in the order of circleId
			ids = append(ids, id)
		}
	}
	gone, err := p.Documents.Missing(ctx, "circles", ids)
	if err != nil {
		return nil, err
	}
	missing := map[string]bool{}
	for _, id := range gone {
		missing[id] = true
	}
	return missing, nil
}

func proposePost(ctx context.Context, p *sweep.Planner, post documents.Document, missing, known map[string]bool) error {
	circle, ok := circleOf(post)
	switch {
	case !ok:
		p.KeepDoubtful(ctx, post.Path, keptInvalidCircle, 1)
		return nil
	case !missing[circle]:
		p.Keep(keptCreatedMeanwhile, 1)
		return nil
	}
	if !known[circle] {
		known[circle] = true
		p.LookedUp("circles of posts", 1, 1)
	}
	return p.Propose(ctx, sweep.Action{
		Kind: "delete orphaned circle post", Target: post.Path, Reason: "circles/" + circle + " does not exist",
		Effect: sweep.Steps(func(ctx context.Context, w *sweep.Writers) error {
			return posts.Delete(ctx, w, post.Path, stillOrphaned(circle))
		}),
	})
}

// stillOrphaned judges a post once more in the transaction that deletes it.
func stillOrphaned(circle string) posts.Judge {
	return func(tx *documents.Transaction, post documents.Document) error {
		if id, ok := circleOf(post); !ok || id != circle {
			return sweep.ErrChanged
		}
		_, exists, err := tx.Get("circles/" + circle)
		if err != nil {
			return err
		}
		if exists {
			return sweep.ErrChanged
		}
		return nil
	}
}
