package declared

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/sweep"
)

// cleanup is a rule about documents.
type cleanup struct{ rule.Rule }

// PageSize is how many documents are read at once. Only the fields that they are judged by are.
const PageSize = 2000

// filters returns the conditions that an index answers, but for the age. That of a text comes first.
func (c cleanup) filters() (filters []documents.Filter) {
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

// indexed reports whether all that the query finds is due.
func (c cleanup) indexed() bool {
	text := c.TextField()
	for _, w := range c.Where {
		if !w.Indexed() && w.Field != text {
			return false
		}
	}
	return len(c.Unless) == 0
}

// query returns the query for what may be due. Where a text is asked for, it goes through the texts: documents without one, however
// many, cost nothing then.
func (c cleanup) query(run sweep.Run) documents.Query {
	q := documents.Query{
		Collection: c.Source(), Group: c.CollectionGroup != "", Where: append(c.filters(), documents.Filter{Field: c.Age.Field, Op: "<", Value: c.Age.Cutoff(run.Now)}),
		Select: c.fields(),
	}
	if text := c.TextField(); text != "" {
		q.OrderBy = append(q.OrderBy, text)
	}
	q.OrderBy = append(q.OrderBy, c.Age.Field)
	return q
}

// fields returns what a document is judged by.
func (c cleanup) fields() []string {
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

func (c cleanup) plan(ctx context.Context, p *sweep.Planner) error {
	q, r := c.query(p.Run()), c.sweepRule()
	seen, whole := 0, true
	count := func() {
		k := c.kept(p, q)
		if !whole {
			k.Judged, k.KeptLater = seen, fmt.Sprintf("left to a later run: each run does %d", c.Limit)
		}
		if !c.indexed() {
			k.Planned = func(due int) int { return p.Planned() * due / max(1, seen) } // as many of what was not seen as of what was
		}
		p.CountKept(ctx, k)
	}
	if c.Limit == 0 {
		count() // while it goes on
	}
	checkpoint := p.Checkpoint()
	from, err := c.cursorAt(ctx, p, q, checkpoint)
	for err == nil {
		n := PageSize
		if c.Limit > 0 {
			n = min(n, c.Limit-p.Planned())
		}
		var found []documents.Document
		if found, err = p.Documents.First(ctx, q, from, n); err != nil {
			return err
		}
		seen += len(found)
		p.Scanned(len(found))
		if err := p.Consider(ctx, r, found); err != nil {
			return err
		}
		if checkpoint, err = c.checkpoint(q, found, checkpoint, p.Run()); err != nil {
			return err
		}
		if err := p.SaveCheckpoint(checkpoint); err != nil {
			return err
		}
		if len(found) < n {
			break
		}
		if c.Limit > 0 && p.Planned() == c.Limit {
			whole = false
			p.Continue(func([]documents.Ref) string { return checkpoint })
			break
		}
		// Of texts too long for a query that begin alike, some may be left out: the next run reads them among the first.
		if from, err = q.Past(found[n-1]); from == "" {
			break
		}
	}
	if c.Limit > 0 && err == nil {
		count()
	}
	return err
}

// kept says what the query skips.
func (c cleanup) kept(p *sweep.Planner, q documents.Query) sweep.KeptCount {
	k := sweep.KeptCount{
		Due: q, Eligible: c.filters(), Young: documents.Filter{Field: c.Age.Field, Op: ">=", Value: c.Age.Cutoff(p.Now)},
		KeptYoung: c.keptYoung(), KeptUndated: c.keptUndated(), MaxDuePercent: c.DuePercent(),
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

// checkpoint returns what is saved behind some documents. Where they come in the order of texts, a cursor would hold one, which may
// be a secret: it is the id of the last document that is kept then, for those that are deleted are not read again anyway.
func (c cleanup) checkpoint(q documents.Query, found []documents.Document, last string, run sweep.Run) (string, error) {
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

// cursorAt returns the cursor behind a checkpoint. If the document that is one is gone, the run begins at the beginning.
func (c cleanup) cursorAt(ctx context.Context, p *sweep.Planner, q documents.Query, checkpoint string) (documents.Cursor, error) {
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
