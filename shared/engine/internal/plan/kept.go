package plan

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
	"github.com/firesweep/firesweep/shared/guard"
)

// CountKept implements [cleanup.Plan].
func (p *Planner) CountKept(ctx context.Context, c cleanup.KeptCount) {
	allEligible := len(c.Eligible) == 0 && len(c.Among) == 0 || reflect.DeepEqual(c.Eligible, c.Among)
	query := func(where []documents.Filter, order ...string) documents.Query {
		return documents.Query{Collection: c.Due.Collection, Group: c.Due.Group, Where: where, OrderBy: order}
	}
	var queries []documents.Query
	ask := func(q documents.Query) (answer func(n []int) int) {
		i := len(queries)
		queries = append(queries, q)
		return func(n []int) int { return n[i] }
	}
	// In the order of the query for the due ones, for the order decides which index is needed.
	young, due := ask(query(append(slices.Clone(c.Eligible), c.Young), c.Due.OrderBy...)), ask(query(c.Due.Where, c.Due.OrderBy...))
	all := func(n []int) int { return young(n) + due(n) }
	if !c.Only {
		all = ask(query(c.Among))
	}
	eligible := all
	if !c.Only && !allEligible {
		eligible = ask(query(c.Eligible))
	}
	null := func([]int) int { return 0 }
	if c.KeptNull != "" {
		null = ask(query(append(slices.Clone(c.Eligible), documents.Filter{Field: c.Young.Field, Op: "==", Value: nil})))
	}
	counted := p.count(ctx, queries)
	p.counts = append(p.counts, func() {
		n, ok := counted()
		if !ok {
			p.shareUnknown(c)
			return // the figures are made of differences
		}
		p.keepCounted(ctx, c, all(n), eligible(n), young(n), null(n), due(n))
		p.keptShare(c, all(n), due(n))
	})
}

// awaitCounts waits for the counts that are under way.
func (p *Planner) awaitCounts() {
	for _, counted := range p.counts {
		counted()
	}
	p.counts = nil
}

func (p *Planner) keepCounted(ctx context.Context, c cleanup.KeptCount, all, eligible, young, null, due int) {
	judged := due
	if c.KeptLater != "" {
		judged = c.Judged
		p.Keep(c.KeptLater, due-judged)
	}
	p.Scanned(max(0, all-judged))
	p.Keep(c.KeptYoung, young)
	p.Keep(c.KeptNull, null)
	if other := all - eligible; other > 0 && c.Invalid {
		p.KeepInvalid(ctx, c.Due.Collection, c.KeptOther, other)
		p.nameAll(ctx, unjudged{Query: documents.Query{Collection: c.Due.Collection, Where: c.Among}, field: c.Eligible[0].Field,
			reason: c.KeptOther, n: other, usable: usableText, least: "\x00", behind: []byte{}})
	} else {
		p.Keep(c.KeptOther, other)
	}
	undated := eligible - young - null - due
	if undated <= 0 {
		return
	}
	u := unjudged{Query: documents.Query{Collection: c.Due.Collection, Where: c.Eligible}, field: c.Young.Field,
		reason: c.KeptUndated, n: undated, least: documents.Earliest, behind: "", usable: func(v any, there bool) bool {
			at, isTime := v.(time.Time)
			return isTime && !at.Before(documents.Earliest) || v == nil && (there && c.KeptNull != "" || c.KeptUnset != "")
		}}
	if c.KeptUnset == "" {
		p.KeepInvalid(ctx, c.Due.Collection, c.KeptUndated, undated)
		p.nameAll(ctx, u)
		return
	}
	if u.indexed() {
		p.Keep(c.KeptUnset, undated-p.KeepOdd(ctx, u.Query, u.field, time.Time{}, "", u.reason))
		return
	}
	odd := p.nameAll(ctx, u) // nobody knows how many more there are
	p.Keep(c.KeptUnset, undated-odd)
	if odd > 0 {
		p.KeepInvalid(ctx, c.Due.Collection, c.KeptUndated, odd)
	}
}

// CountAll implements [cleanup.Plan].
func (p *Planner) CountAll(ctx context.Context, queries ...documents.Query) (n []int, ok bool) {
	return p.count(ctx, queries)()
}

// count begins to count, and returns what waits for the figures and says what could not be counted.
func (p *Planner) count(ctx context.Context, queries []documents.Query) (wait func() ([]int, bool)) {
	n, errs := make([]int, len(queries)), make([]error, len(queries))
	var underWay sync.WaitGroup
	for i, q := range queries {
		underWay.Go(func() {
			defer guard.Recover(&errs[i])
			n[i], errs[i] = p.Documents.CountOnce(ctx, q)
		})
	}
	return func() ([]int, bool) {
		underWay.Wait()
		for i, err := range errs {
			if err == nil {
				continue
			}
			collection := queries[i].Collection
			if !slices.Contains(p.Report.NotCounted, collection) {
				p.Report.NotCounted = append(p.Report.NotCounted, collection)
			}
			p.Log.WarnContext(ctx, fmt.Sprintf("%s: could not be counted, so the report lacks what is kept there; the cleanup itself continues: %v", collection, err),
				slog.String("target", collection))
			return n, false
		}
		return n, true
	}
}

// Bounds of what is read to name the documents that cannot be judged.
const (
	maxNameReads = 2000 // a run
	namePageSize = 500
)

// unjudged are documents that were counted without having seen them: those of a query whose field holds nothing usable.
type unjudged struct {
	documents.Query
	field  string
	reason string
	n      int // as counted
	usable func(v any, there bool) bool
	// In the index of the field, what is usable lies from least up to but not including behind, but for null.
	least, behind any
}

func usableText(v any, _ bool) bool {
	text, ok := v.(string)
	return ok && text != ""
}

// nameAll names, up to a bound, the documents that cannot be judged, and returns how many it named. Where the field holds
// something of another type, the documents lie at the two ends of its index, before all usable values and behind them. Where it
// is missing, no index knows the documents, so they are looked for among all.
func (p *Planner) nameAll(ctx context.Context, u unjudged) (found int) {
	found, err := p.nameByIndex(ctx, u)
	looked, whole := 0, true
	if err == nil && found < min(u.n, tell.MaxNamed) {
		var more int
		more, looked, whole, err = p.nameMissing(ctx, u, min(u.n, tell.MaxNamed)-found)
		found += more
	}
	switch left := u.n - found; {
	case err != nil:
		p.Log.WarnContext(ctx, fmt.Sprintf("%s: %d of %d are named, %s: looking for the others failed: %v", u.Collection, found, u.n, u.reason, err),
			slog.String("target", u.Collection))
	case left <= 0 || found >= tell.MaxNamed || u.usable(nil, false): // the others need not be named
	case !whole:
		p.Log.WarnContext(ctx, fmt.Sprintf("%s: %d of %d are named, %s: the others are not among the first %d documents, and no more are read to find them",
			u.Collection, found, u.n, u.reason, looked), slog.String("target", u.Collection))
	}
	return found
}

// KeepOdd implements [cleanup.Plan].
func (p *Planner) KeepOdd(ctx context.Context, q documents.Query, field string, least, behind any, reason string) (n int) {
	q.Select = documents.NameOnly
	for _, q := range q.Odd(field, least, behind) {
		found, err := p.Documents.First(ctx, q, "", tell.MaxNamed)
		all, counted := len(found), true
		if all == tell.MaxNamed {
			all, counted = p.CountOf(ctx, q)
		}
		if err != nil || !counted {
			p.Log.WarnContext(ctx, fmt.Sprintf("%s: what is kept, %s, could not all be counted: %v", q.Collection, reason, err),
				slog.String("target", q.Collection))
		}
		for _, d := range found[:min(len(found), max(0, tell.MaxNamed-n))] {
			p.Name(d.Path, reason, 0)
		}
		n += max(all, len(found))
	}
	if n > 0 {
		p.KeepInvalid(ctx, q.Collection, reason, n)
	}
	return n
}

// indexed reports whether an index in the order of the field knows the documents: that of the field alone, or the one that the
// due ones are found by. Where the conditions are ranges on other fields, it would take one more.
func (u unjudged) indexed() bool {
	return !slices.ContainsFunc(u.Where, func(f documents.Filter) bool { return f.Field != u.field && f.Op != "==" && f.Op != "in" })
}

// nameByIndex names those whose field holds something of another type. Without an index, they
// are left to [Planner.nameMissing].
func (p *Planner) nameByIndex(ctx context.Context, u unjudged) (found int, err error) {
	if !u.indexed() {
		return 0, nil
	}
	ends := u.Odd(u.field, u.least, u.behind)
	if !u.usable(nil, true) {
		ends[0].From = nil // with those that hold null
	}
	for _, q := range ends {
		want := min(min(u.n, tell.MaxNamed)-found, p.nameReads())
		if want <= 0 || p.PlanningTimeIsUp() {
			break
		}
		q.Select = documents.NameOnly
		first, err := p.Documents.First(ctx, q, "", want)
		if err != nil {
			return found, err
		}
		p.named += len(first)
		for _, d := range first {
			p.Name(d.Path, u.reason, 0)
		}
		found += len(first)
	}
	return found, nil
}

// nameMissing names, in the order of their names, at most want documents that lack the field, or that hold something else in
// it where the index was of no use. It returns how many it named and looked at, and whether it looked at all there are.
func (p *Planner) nameMissing(ctx context.Context, u unjudged, want int) (found, looked int, whole bool, err error) {
	q := u.Query
	q.Select = []string{u.field}
	indexed := true // whether nameByIndex has named what the index knows
	for _, f := range u.Where {
		if f.Op != "==" && f.Op != "in" && !slices.Contains(q.OrderBy, f.Field) {
			q.OrderBy = append(q.OrderBy, f.Field)
			indexed = indexed && f.Field == u.field
		}
	}
	q.PageSize = min(namePageSize, p.nameReads())
	if q.PageSize == 0 {
		return 0, 0, false, nil
	}
	for page, err := range p.Documents.Pages(ctx, q, "") {
		if err != nil {
			return found, looked, false, err
		}
		p.named += len(page.Documents)
		looked += len(page.Documents)
		for _, d := range page.Documents {
			v, there := d.Lookup(u.field)
			if u.usable(v, there) || there && indexed {
				continue
			}
			p.Name(d.Path, u.reason, 0)
			if found++; found == want {
				return found, looked, true, nil
			}
		}
		if len(page.Documents) < q.PageSize {
			break
		}
		if p.nameReads() < q.PageSize || p.PlanningTimeIsUp() {
			return found, looked, false, nil
		}
	}
	return found, looked, true, nil
}

// nameReads returns how many documents may still be read to name those that cannot be judged.
func (p *Planner) nameReads() int { return max(0, maxNameReads-p.named) }
