package plan

import (
	"cmp"
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

// Reasons to keep what a query for the due ones skips.
const (
	keptNotDue = "not due"
	keptNoAge  = "no usable age"
)

// CountNotDue implements [cleanup.Plan].
func (p *Planner) CountNotDue(ctx context.Context, n cleanup.NotDue) {
	w := withoutAge(n)
	queries := []documents.Query{n.Due, w.young(), w.eligible()}
	all := 2
	if !reflect.DeepEqual(n.All, queries[all]) {
		all, queries = len(queries), append(queries, n.All)
	}
	if n.Null != "" {
		queries = append(queries, w.null())
	}
	for i := range queries {
		queries[i].Select = nil
	}
	counted := p.count(ctx, queries)
	p.section.underWay = append(p.section.underWay, func() {
		of, ok := counted()
		if ok {
			found, odd := of[0], max(0, of[2]-of[1]-of[0])
			skipped, null := max(0, of[all]-found), 0
			if n.Null != "" {
				null = of[len(of)-1]
				odd -= null
			}
			p.Scanned(skipped)
			p.Teller.Keep(n.Null, null)
			p.Teller.Keep(keptNotDue, skipped-odd-null)
			p.Teller.Keep(keptNoAge, odd)
			if odd > 0 {
				p.nameAll(ctx, w, odd)
			}
		}
		if n.Then != nil {
			n.Then(of[all], of[0], ok)
		}
	})
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
			n[i], errs[i] = p.Documents.Count(ctx, q, 0)
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

// without are the documents of a query for the due ones that have no usable age.
type without struct {
	cleanup.NotDue
	age           string             // the field
	where         []documents.Filter // the conditions on anything else
	late          documents.Filter   // the opposite of the condition on the age
	least, behind any                // between which usable ages lie in the index, whose order is that of types
}

func withoutAge(n cleanup.NotDue) without {
	w := without{NotDue: n, age: n.Due.OrderBy[len(n.Due.OrderBy)-1]}
	for _, f := range n.Due.Where {
		switch {
		case f.Field != w.age:
			w.where = append(w.where, f)
			continue
		case f.Op == ">" || f.Op == ">=":
			w.least = f.Value
		default:
			w.late = documents.Filter{Field: w.age, Op: map[string]string{"<": ">=", "<=": ">"}[f.Op], Value: f.Value}
		}
		switch f.Value.(type) {
		case time.Time:
			w.behind = ""
		case string:
			w.behind = cmp.Or(n.Behind, any([]byte{}))
		default:
			w.behind = cmp.Or(n.Behind, any(time.Time{}))
		}
	}
	if w.least == nil {
		w.least = time.Time{} // those that are too early are found, and judged
	}
	return w
}

// young returns the query for those that are not old enough, by the index of those that are due.
func (w without) young() documents.Query {
	q := w.Due
	if q.Where = append(slices.Clone(w.where), w.late); w.Behind != nil {
		q.Where = append(q.Where, documents.Filter{Field: w.age, Op: "<", Value: w.Behind})
	}
	return q
}

// null returns the query for those whose age is null.
func (w without) null() documents.Query {
	return documents.Query{
		Collection: w.Due.Collection, Where: append(slices.Clone(w.where), documents.Filter{Field: w.age, Op: "==", Value: nil}),
	}
}

// eligible returns the query for those with any age or none. Where that would take an index of its own, those that lack the field
// are not among them: the index of the due ones does not have them.
func (w without) eligible() documents.Query {
	q := documents.Query{Collection: w.Due.Collection, Group: w.Due.Group, Where: w.where}
	ranged := func(f documents.Filter) bool { return f.Op != "==" && f.Op != "in" }
	apart := func(f documents.Filter) bool { return f.Field != w.where[0].Field }
	if w.Due.Group && len(w.where) > 0 || slices.ContainsFunc(w.where, ranged) && slices.ContainsFunc(w.where, apart) {
		q.OrderBy = w.Due.OrderBy
	}
	return q
}

// Bounds of what is read to name those that have no usable age.
const (
	maxOdd       = 100  // at either end of an index that has others as well
	maxLookedAt  = 2000 // for those that lack the field
	lookPageSize = 500
)

// nameAll names those that cannot be judged, up to a bound. What holds something of another type lies at the two ends of the index,
// before all usable values and behind them. No index knows what lacks the field, so that is looked for among all.
func (p *Planner) nameAll(ctx context.Context, w without, n int) {
	named, most, reason := 0, min(n, tell.MaxNamed), "no usable "+w.age
	name := func(found []documents.Document, unset bool) {
		for _, d := range found {
			if named < most && w.Judge(d).Invalid && (!unset || d.Value(w.age) == nil) {
				p.Name(d.Path, reason, 0)
				named++
			}
		}
	}
	defer func() {
		if named > 0 || !w.Unset {
			p.Name(w.Due.Collection, reason, n)
		}
	}()
	q, limit := w.eligible(), most
	q.Select = w.Due.Select
	if len(w.Due.OrderBy) > 1 { // no index has those that meet the other conditions in the order of their ages
		q.Where, limit = nil, maxOdd
	}
	enough := func() bool { return named == most || p.decider.Time.PlanningTimeIsUp() }
	for _, end := range q.Odd(w.age, w.least, w.behind) {
		if enough() || w.Due.Group && len(w.Due.OrderBy) > 1 {
			return
		}
		found, err := p.Documents.First(ctx, end, "", limit)
		if err != nil {
			p.unnamed(ctx, w, err)
			return
		}
		name(found, false)
	}
	if enough() || w.Unset {
		return
	}
	q.PageSize, q.Where = lookPageSize, w.where
	looked := 0
	for page, err := range p.Documents.Pages(ctx, q, "") {
		if err != nil {
			p.unnamed(ctx, w, err)
			return
		}
		name(page.Documents, true)
		if looked += len(page.Documents); enough() {
			return
		}
		if looked >= maxLookedAt {
			p.unnamed(ctx, w, fmt.Errorf("none of the others is among the first %d documents, and no more are read to find them", looked))
			return
		}
	}
}

// unnamed says why not all that cannot be judged were named.
func (p *Planner) unnamed(ctx context.Context, w without, why error) {
	p.Log.WarnContext(ctx, fmt.Sprintf("%s: not all that have no usable %s are named: %v", w.Due.Collection, w.age, why),
		slog.String("target", w.Due.Collection))
}
