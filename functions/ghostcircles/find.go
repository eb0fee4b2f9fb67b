package ghostcircles

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
)

const (
	createdField = "createdAt"
	deletedField = "isDeleted"
)

var (
	isDeleted = documents.Filter{Field: deletedField, Op: "==", Value: true}
	hasPost   = documents.Filter{Field: postedField, Op: "!=", Value: nil}
)

// census says how many circles there are, and where those are that may be due, without reading one.
type census struct {
	all, deleted, posted int
	undated              int    // without a post, and without a creation that tells since when
	idle                 []span // of lastHumanPostAt, with ghosts
	unposted             []span // of createdAt, with abandoned circles
	byDeletion           bool   // some circles are deleted, and counted apart
}

// takeCensus counts circles. No query finds those that lack lastHumanPostAt, and none those that are not deleted, as isDeleted
// may be missing. So they are what is left of a span of time when those that have the field are taken away.
func takeCensus(ctx context.Context, r documents.Reader, now time.Time) (c census, err error) {
	ghosts := span{From: documents.Earliest, Until: retention.DaysBefore(now, ghostDays).Add(time.Microsecond)}
	abandoned := span{From: documents.Earliest, Until: retention.DaysBefore(now, abandonedDays).Add(time.Microsecond)}
	young := documents.Filter{Field: createdField, Op: ">=", Value: abandoned.Until}
	n, err := count(ctx, r, among(), among(isDeleted), among(hasPost),
		among(ghosts.Where(postedField)...), among(young), bothDates(young))
	if err != nil {
		return c, err
	}
	c = census{all: n[0], deleted: n[1], posted: n[2], byDeletion: n[1] > 0}
	ghost := portion{Sought: n[3], All: n[3]}
	unposted, youngUnposted := c.all-c.posted, n[4]-n[5]

	inIdle := func(ctx context.Context, s span) (portion, error) { return c.idleIn(ctx, r, s) }
	if c.byDeletion && ghost.All > 0 {
		gone, err := count(ctx, r, among(append(ghosts.Where(postedField), isDeleted)...))
		if err != nil {
			return c, err
		}
		ghost.Sought -= gone[0]
	}
	if c.idle, err = halve(ctx, ghosts, ghost, inIdle); err != nil || unposted == youngUnposted {
		return c, err
	}
	inUnposted := func(ctx context.Context, s span) (portion, error) {
		share, _, err := c.unpostedIn(ctx, r, s)
		return share, err
	}
	old, deleted, err := c.unpostedIn(ctx, r, abandoned)
	if err != nil {
		return c, err
	}
	c.undated = unposted - youngUnposted - old.Sought - deleted
	if c.undated > 0 && c.byDeletion {
		gone, err := c.deletedUndated(ctx, r)
		if err != nil {
			return c, err
		}
		c.undated -= gone
	}
	c.unposted, err = halve(ctx, abandoned, old, inUnposted)
	return c, err
}

// deletedUndated counts the deleted circles without a post and a creation that tells since when.
func (c census) deletedUndated(ctx context.Context, r documents.Reader) (int, error) {
	dated := documents.Filter{Field: createdField, Op: ">=", Value: documents.Earliest}
	n, err := count(ctx, r, among(isDeleted, hasPost), among(isDeleted, dated), bothDates(isDeleted, dated))
	if err != nil {
		return 0, err
	}
	return c.deleted - n[0] - (n[1] - n[2]), nil
}

// idleIn counts the circles whose last post lies in a span. Those that are not deleted are sought.
func (c census) idleIn(ctx context.Context, r documents.Reader, s span) (portion, error) {
	in := s.Where(postedField)
	queries := []documents.Query{among(in...)}
	if c.byDeletion {
		queries = append(queries, among(append(in, isDeleted)...))
	}
	n, err := count(ctx, r, queries...)
	if err != nil {
		return portion{}, err
	}
	if !c.byDeletion {
		return portion{Sought: n[0], All: n[0]}, nil
	}
	return portion{Sought: n[0] - n[1], All: n[0]}, nil
}

// unpostedIn counts the circles that were created in a span. Those without a post that are not deleted are sought; deleted are
// those without a post that are.
func (c census) unpostedIn(ctx context.Context, r documents.Reader, s span) (share portion, deleted int, err error) {
	in := s.Where(createdField)
	queries := []documents.Query{among(in...), bothDates(in...)}
	if c.byDeletion {
		gone := append(slices.Clone(in), isDeleted)
		queries = append(queries, among(gone...), bothDates(gone...))
	}
	n, err := count(ctx, r, queries...)
	if err != nil {
		return share, 0, err
	}
	if c.byDeletion {
		deleted = n[2] - n[3]
	}
	return portion{Sought: n[0] - n[1] - deleted, All: n[0]}, deleted, nil
}

// bothDates returns the query for those that have a post besides, in the order of its index.
func bothDates(all ...documents.Filter) documents.Query {
	q := among(append(slices.Clone(all), hasPost)...)
	q.OrderBy = []string{createdField, postedField}
	return q
}

// among returns the query for the circles of which all this holds.
func among(all ...documents.Filter) documents.Query {
	return documents.Query{Collection: circles, Where: all}
}

// count counts what several queries match.
func count(ctx context.Context, r documents.Reader, queries ...documents.Query) ([]int, error) {
	n := make([]int, len(queries))
	counts, ctx := errgroup.WithContext(ctx)
	for i, q := range queries {
		counts.Go(func() (err error) {
			n[i], err = r.Count(ctx, q)
			return err
		})
	}
	return n, counts.Wait()
}

// found considers circles that queries have found, each once.
type found struct {
	*cleanup.Planner
	seen    map[string]bool // paths
	read    int             // circles that are not deleted
	undated int             // of those, without a post and without a usable creation
}

func (f *found) plan(ctx context.Context, c census) error {
	f.FieldSeen(among(), postedField, c.all-c.deleted, c.posted)
	f.Share(circles, c.all-c.deleted, 0, 0)
	if err := f.pages(ctx, among(isDeleted, documents.Filter{Field: "deletedBy", Op: "==", Value: jobName})); err != nil {
		return err
	}
	for _, s := range c.idle {
		if err := f.pages(ctx, by(postedField, s.Where(postedField)...)); err != nil {
			return err
		}
	}
	for _, s := range c.unposted {
		if err := f.pages(ctx, by(createdField, s.Where(createdField)...)); err != nil {
			return err
		}
	}
	warned := documents.Filter{Field: warnedField, Op: ">=", Value: documents.Earliest}
	if err := f.pages(ctx, by(warnedField, warned)); err != nil {
		return err
	}
	unread, err := f.odd(ctx, c.undated > 0)
	if err != nil {
		return err
	}
	undated := max(0, c.undated-f.undated)
	if undated > 0 {
		f.KeepInvalid(ctx, circles, keptUndated, undated)
	}
	deleted := len(f.seen) - f.read
	f.Keep(keptDeleted, max(0, c.deleted-deleted))
	f.Keep(keptInUse, max(0, c.all-c.deleted-f.read-undated-unread))
	f.Scanned(max(0, c.all-len(f.seen)))
	return nil
}

// pages considers all circles that a query finds. A run that stops here begins anew: what it has done is not found again.
func (f *found) pages(ctx context.Context, q documents.Query) error {
	q.Select = judged
	for page, err := range f.Documents.Pages(ctx, q, "") {
		if err != nil {
			return err
		}
		if err := f.consider(ctx, page.Documents); err != nil {
			return err
		}
		if err := f.SaveCheckpoint(""); err != nil {
			return err
		}
	}
	return nil
}

func (f *found) consider(ctx context.Context, page []documents.Document) error {
	page = slices.DeleteFunc(page, func(d documents.Document) bool { return f.seen[d.Path] })
	for _, d := range page {
		f.seen[d.Path] = true
	}
	f.read += len(alive(page))
	f.Scanned(len(page))
	for _, d := range alive(page) {
		if _, invalid := idlenessOf(d); invalid == keptUndated {
			f.undated++
		}
	}
	return consider(ctx, f.Planner, page)
}

// maxOdd is how many circles with a value of a wrong type are read and named, of each field and at each end of its index.
const maxOdd = 20

// odd considers circles with a value of a wrong type in a field that decides. It counts those that it does not read, and returns
// how many these are. Those that are undated have been counted.
func (f *found) odd(ctx context.Context, undated bool) (unread int, err error) {
	type kind struct {
		documents.Query
		reason string
	}
	notBoolean := documents.Filter{Field: deletedField, Op: "not-in", Value: []any{true, false}}
	kinds := []kind{{by(deletedField, notBoolean), keptOddDeleted}}
	times := []struct{ field, reason string }{{postedField, keptOddPost}, {warnedField, keptOddWarning}}
	if undated {
		times = append(times, struct{ field, reason string }{createdField, ""})
	}
	for _, t := range times {
		for _, q := range among().Odd(t.field, documents.Earliest, "") {
			kinds = append(kinds, kind{q, t.reason})
		}
	}
	for _, k := range kinds {
		k.Select = judged
		first, err := f.Documents.First(ctx, k.Query, "", maxOdd)
		if err != nil {
			return 0, err
		}
		if err := f.consider(ctx, first); err != nil {
			return 0, err
		}
		if len(first) < maxOdd || k.reason == "" {
			continue
		}
		n, err := f.Documents.Count(ctx, k.Query)
		if err != nil {
			return 0, err
		}
		if rest := n - len(first); rest > 0 {
			f.KeepInvalid(ctx, circles, k.reason, rest)
			unread += rest
		}
	}
	return unread, nil
}

// by returns the query for the circles of which all this holds, in the order of a field.
func by(field string, all ...documents.Filter) documents.Query {
	q := among(all...)
	q.OrderBy = []string{field}
	return q
}
