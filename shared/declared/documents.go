package declared

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/flow"
	"github.com/firesweep/firesweep/shared/rule"
)

// documentsOf makes a job of a rule about documents.
type documentsOf struct {
	rule.Rule
	keepers *keepers
}

func ofDocuments(r rule.Rule) documentsOf { return documentsOf{r, &keepers{}} }

// PageSize is how many documents are read at once, where the query fetches only the fields by which they are judged.
const PageSize = 2000

// filters returns the filters for the conditions that an index can answer, without the age. That of the string comes first.
func (c documentsOf) filters() (filters []documents.Filter) {
	if text := c.TextField(); text != "" {
		filters = append(filters, documents.Filter{Field: text, Op: ">", Value: ""})
	}
	for _, w := range c.Where {
		switch alternatives := w.Alternatives(); {
		case w.Is == rule.True:
			filters = append(filters, documents.Filter{Field: w.Field, Op: "==", Value: true})
		case len(alternatives) == 1:
			filters = append(filters, documents.Filter{Field: w.Field, Op: "==", Value: alternatives[0]})
		case len(alternatives) > 1:
			filters = append(filters, documents.Filter{Field: w.Field, Op: "in", Value: alternatives})
		}
	}
	return filters
}

// indexed reports whether all documents that the query finds are due.
func (c documentsOf) indexed() bool {
	text := c.TextField()
	for _, w := range c.Where {
		if !w.Indexed() && w.Field != text {
			return false
		}
	}
	return len(c.Unless) == 0
}

// query returns the query for the documents that may be due. If a condition asks for a string, the query goes through the
// strings: then documents without one cost nothing, however many there are.
func (c documentsOf) query(run cleanup.Run) documents.Query {
	q := documents.Query{
		Collection: c.Source(), Group: c.CollectionGroup != "",
		Where:  append(c.filters(), documents.Filter{Field: c.Age.Field, Op: "<", Value: c.Age.Cutoff(run.Now)}),
		Select: c.fields(),
	}
	if text := c.TextField(); text != "" {
		q.OrderBy = append(q.OrderBy, text)
	}
	q.OrderBy = append(q.OrderBy, c.Age.Field)
	return q
}

// fields returns the fields by which a document is judged.
func (c documentsOf) fields() []string {
	fields := []string{c.Age.Field}
	for _, w := range c.Where {
		fields = append(fields, w.Field)
	}
	for _, u := range c.Unless {
		fields = append(fields, u.Fields()...)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// planning is a run of the rule.
type planning struct {
	documentsOf
	*cleanup.Planner
	query documents.Query
	rule  cleanup.AnyRule
	seen  int  // documents that were judged
	later bool // Limit leaves some to a later run
}

// page is the first documents from a cursor on.
type page struct {
	found []documents.Document
	more  bool // there may be more
}

// begin reads the first page, and counts what is kept, beside the commit that takes the run's lease.
func (c documentsOf) begin(ctx context.Context, p *cleanup.Planner) cleanup.Reading {
	c.keepers = &keepers{} // of this run alone
	g := &planning{documentsOf: c, Planner: p, query: c.query(p.Run), rule: c.sweepRule()}
	counting, cancel := context.WithCancel(ctx)
	if c.Limit == 0 {
		g.count(counting)
	}
	first := flow.One(ctx, p.Checkpoint, func(ctx context.Context, checkpoint string) (page, error) {
		from, err := c.cursorAt(ctx, p, g.query, checkpoint)
		if err != nil {
			return page{}, err
		}
		return g.read(ctx, from, 0) // what interrupted runs left may be proposed meanwhile, and does not count
	})
	plans := false
	return cleanup.Reading{
		Stop: func() {
			first.Stop()
			if !plans {
				cancel()
			}
		},
		Plan: func() error {
			plans = true
			return first.Each(func(checkpoint string, first page) error { return g.plan(ctx, checkpoint, first) })
		},
	}
}

// read reads a page, when so many actions have been proposed.
func (g *planning) read(ctx context.Context, from documents.Cursor, planned int) (p page, err error) {
	n := PageSize
	if g.Limit > 0 {
		n = min(n, g.Limit-planned)
	}
	p.found, p.more, err = g.FirstToJudge(ctx, g.rule, g.query, from, n)
	return p, err
}

func (g *planning) plan(ctx context.Context, checkpoint string, p page) (err error) {
	for {
		found := p.found
		g.seen += len(found)
		g.Scanned(len(found))
		g.countFields(g.Planner, g.query, found)
		if err := g.Consider(ctx, g.rule, found); err != nil {
			return err
		}
		if err := g.keepers.report(ctx, g.Planner); err != nil {
			return err
		}
		if checkpoint, err = g.checkpoint(g.query, found, checkpoint, g.Run); err != nil {
			return err
		}
		if err := g.SaveCheckpoint(checkpoint); err != nil {
			return err
		}
		if !p.more {
			break
		}
		if g.Limit > 0 && g.Planned() == g.Limit {
			g.later = true
			g.Continue(func([]documents.Ref) string { return checkpoint })
			break
		}
		// Of strings that are too long for a query and begin alike, some may be left out. The next run reads them first.
		from, err := g.query.Past(found[len(found)-1])
		if err != nil {
			return err
		}
		if from == "" {
			break
		}
		if p, err = g.read(ctx, from, g.Planned()); err != nil {
			return err
		}
	}
	if g.Limit > 0 {
		g.count(ctx)
	}
	return nil
}

// count counts what the query skips, while the run plans.
func (g *planning) count(ctx context.Context) {
	k := g.kept(g.Planner, g.query)
	if g.later {
		k.Judged, k.KeptLater = g.seen, fmt.Sprintf("left to a later run: each run does %d", g.Limit)
	}
	if !g.indexed() {
		// The share that is due is taken to be the same among the documents that were not read.
		k.Planned = func(due int) int { return g.Planned() * due / max(1, g.seen) }
	}
	g.CountKept(ctx, k)
}

// countFields counts, for the safety limit on fields that nobody ever wrote, which documents have those whose absence makes
// them due.
func (c documentsOf) countFields(p *cleanup.Planner, q documents.Query, found []documents.Document) {
	for _, w := range c.Where {
		if w.Is != rule.NotTrue && w.Is != rule.Null && w.Is != rule.Missing {
			continue
		}
		written := 0
		for _, d := range found {
			if _, has := d.Lookup(w.Field); has {
				written++
			}
		}
		p.FieldSeen(q, w.Field, len(found), written)
	}
}

// kept describes the documents that the query skips, so that they can be counted.
func (c documentsOf) kept(p *cleanup.Planner, q documents.Query) cleanup.KeptCount {
	k := cleanup.KeptCount{
		Due: q, Eligible: c.filters(), Young: documents.Filter{Field: c.Age.Field, Op: ">=", Value: c.Age.Cutoff(p.Now)},
		KeptYoung: c.keptYoung(), KeptUnset: c.keptUnset(), KeptUndated: c.keptUndated(), MaxDuePercent: c.DuePercent(),
	}
	text := c.TextField()
	if k.Only = text != "" && len(k.Eligible) > 1 || c.CollectionGroup != ""; k.Only {
		return k
	}
	if text != "" {
		k.Among, k.Invalid = []documents.Filter{{Field: text, Op: "!=", Value: nil}}, true
	}
	var unmet []string
	for _, w := range c.Where {
		if w.Indexed() || w.Field == text {
			unmet = append(unmet, w.Unmet())
		}
	}
	k.KeptOther = strings.Join(unmet, ", or ")
	return k
}

// checkpoint returns the checkpoint behind some documents. If the query goes through strings, a cursor would contain one,
// which may be a secret. Then the checkpoint is the id of the last document that is kept: deleted documents are not read
// again anyway.
func (c documentsOf) checkpoint(q documents.Query, found []documents.Document, last string, run cleanup.Run) (string, error) {
	if len(found) == 0 {
		return last, nil
	}
	if c.TextField() == "" {
		cursor, err := q.After(found[len(found)-1])
		return string(cursor), err
	}
	for _, d := range slices.Backward(found) {
		if c.judgeFields(d, run).Kind == "" {
			if c.CollectionGroup != "" {
				return d.Path, nil
			}
			return d.ID(), nil
		}
	}
	return last, nil
}

// cursorAt returns the cursor behind a checkpoint. If the checkpoint is a document that is gone, the run begins at the
// beginning.
func (c documentsOf) cursorAt(ctx context.Context, p *cleanup.Planner, q documents.Query, checkpoint string) (documents.Cursor, error) {
	text := c.TextField()
	if checkpoint == "" || text == "" {
		return documents.Cursor(checkpoint), nil
	}
	path := c.Collection + "/" + checkpoint
	if c.CollectionGroup != "" {
		path = checkpoint
	}
	if _, err := documents.RefOf(path); err != nil {
		return "", fmt.Errorf("%w: %w", documents.ErrCursor, err)
	}
	d, found, err := p.Documents.Get(ctx, path)
	if err != nil {
		return "", err
	}
	value, _ := d.Text(text)
	if _, dated := d.Time(c.Age.Field); !found || value == "" || !dated {
		return "", nil
	}
	return q.Past(d)
}
