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
		var odd []any
		if ok {
			found, unusable := of[0], max(0, of[2]-of[1]-of[0])
			skipped, null := max(0, of[all]-found), 0
			if n.Null != "" {
				null = of[len(of)-1]
				unusable -= null
			}
			p.Scanned(skipped)
			p.Teller.Keep(n.Null, null)
			p.Teller.Keep(keptNotDue, skipped-unusable-null)
			p.Teller.Keep(keptNoAge, unusable)
			if unusable > 0 {
				odd = p.nameSome(ctx, w, unusable)
			}
		}
		if n.Then != nil {
			n.Then(of[all], of[0], odd, ok)
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
			p.Log.WarnContext(ctx, fmt.Sprintf("%s: could not be counted, so the report lacks what is kept there; the cleanup itself "+
				"continues: %v", collection, err), slog.String("target", collection))
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
	maxOdd      = 100 // at either end of an index that has others as well
	maxLookedAt = 500 // for those that lack the field, which no index knows
)

// nameSome names some of those that have no usable age, and returns their ages. What holds something of another type lies at
// the two ends of the index, before all usable values and behind them.
func (p *Planner) nameSome(ctx context.Context, w without, n int) (ages []any) {
	most, reason := min(n, tell.MaxNamed), "no usable "+w.age
	look := func(q documents.Query, limit int, lacking bool) {
		if len(ages) == most {
			return
		}
		found, err := p.Documents.First(ctx, q, "", limit)
		if err != nil {
			p.Log.WarnContext(ctx, fmt.Sprintf("%s: not all that have %s are named: %v", w.Due.Collection, reason, err),
				slog.String("target", w.Due.Collection))
		}
		for _, d := range found {
			age, set := d.Data[w.age]
			if lacking && set && (age != nil || w.Null != "") || len(ages) == most || w.Meets != nil && !w.Meets(d) {
				continue
			}
			p.Name(d.Path, reason, 0)
			ages = append(ages, d.Value(w.age))
		}
	}
	all, limit := w.eligible(), most
	all.Select = w.Due.Select
	ends := all
	if len(w.Due.OrderBy) > 1 { // no index has those that meet the other conditions in the order of their ages
		ends.Where, limit = nil, maxOdd
	}
	if len(w.Due.OrderBy) == 1 || !w.Due.Group {
		for _, end := range ends.Odd(w.age, w.least, w.behind) {
			look(end, limit, false)
		}
	}
	if !w.Unset {
		look(all, maxLookedAt, true)
	}
	if len(ages) > 0 || !w.Unset {
		p.Name(w.Due.Collection, reason, n)
	}
	return ages
}
