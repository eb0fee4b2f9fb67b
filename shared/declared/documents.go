package declared

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// documentsOf makes a job of a rule about documents.
type documentsOf struct {
	rule.Rule
	lookups *lookups
	missing bool // what belongs to an item is deleted even if there is no document

	byAccount *rule.Relation // by which the documents are deleted with accounts
}

func ofDocuments(r rule.Rule) documentsOf { return documentsOf{Rule: r, lookups: &lookups{}} }

// PageSize is how many documents are read at once, where the query fetches only the fields by which they are judged.
const PageSize = 2000

// planning is a run of the rule.
type planning struct {
	documentsOf
	*cleanup.Planner
	query documents.Query
	rule  cleanup.AnyRule
	seen  int  // documents that were judged
	mine  int  // of these, those that are not of another collection of the same name
	later bool // Limit leaves some to a later run
	told  bool // what its with does not lead to

	cleared int // of the actions that have been proposed, those that remove the mark of a warning
}

// ofMarks begins checkpoints among the documents that hold the mark of a warning, which come last.
const ofMarks = "/marks/"

// plan plans a run of the rule.
func (c documentsOf) plan(ctx context.Context, p *cleanup.Planner) error {
	c.lookups = &lookups{} // of this run alone
	g := &planning{documentsOf: c, Planner: p, query: c.Query(p.Now), rule: c.sweepRule()}
	if !c.Scans() {
		g.countRest(ctx)
	}
	marks, onlyMarks := strings.CutPrefix(p.Checkpoint, ofMarks)
	if !onlyMarks {
		marks = ""
		err := g.sweep(ctx)
		c.lookups.tellAccounts(ctx, p, c.Rule)
		if c.Scans() && (err == nil || errors.Is(err, cleanup.ErrOutOfTime)) {
			g.shareOfScan(ctx, err == nil && !g.later)
		}
		if err != nil {
			return err
		}
	}
	if c.Warn == nil {
		return nil
	}
	return g.clear(ctx, documents.Cursor(marks))
}

// sweep considers what the query returns, page by page.
func (g *planning) sweep(ctx context.Context) error {
	checkpoint := g.Checkpoint
	from, err := g.cursorAt(ctx, g.Planner, g.query, checkpoint)
	if err != nil {
		return err
	}
	for {
		n := PageSize
		if g.Limit > 0 {
			n = min(n, g.Limit-g.Planned())
		}
		found, err := g.Documents.First(ctx, g.query, from, n)
		if err != nil {
			return err
		}
		g.seen += len(found)
		g.mine += len(g.Among(found))
		g.Scanned(len(found))
		of := slices.DeleteFunc(slices.Clone(found), func(d documents.Document) bool { return g.clears(d) })
		goes, err := g.consider(ctx, of)
		if err == nil {
			err = g.lookups.report(ctx, g.Planner)
		}
		if err == nil && !g.told && g.Deletes() && (g.Planned() > g.cleared || len(g.LastWarnings) > 0) {
			g.told, err = true, g.tell(ctx, goes)
		}
		if err != nil {
			return err
		}
		if checkpoint, err = g.checkpoint(g.query, found, goes, checkpoint); err != nil {
			return err
		}
		if err := g.SaveCheckpoint(checkpoint); err != nil {
			return err
		}
		if len(found) < n {
			break
		}
		if g.Limit > 0 && g.Planned() == g.Limit {
			g.later = true
			g.Continue(func([]documents.Ref) string { return checkpoint })
			break
		}
		// Of strings that are too long for a query and begin alike, some may be left out. The next run reads them first.
		if from, err = g.query.Past(found[len(found)-1]); err != nil {
			return err
		}
		if from == "" {
			break
		}
	}
	return nil
}

// tell tells what a rule that deletes something leaves behind.
func (g *planning) tell(ctx context.Context, goes map[string]bool) error {
	maps.DeleteFunc(goes, func(_ string, due bool) bool { return !due })
	if err := stays(ctx, g.Planner, rule.WithRole, g.Rule, slices.Sorted(maps.Keys(goes))); err != nil {
		return err
	}
	return unfound(ctx, g.Planner, g.Rule, g.Planned() > g.cleared)
}

// consider considers documents, and returns by path which are proposed and then no longer found.
func (g *planning) consider(ctx context.Context, all []documents.Document) (goes map[string]bool, err error) {
	goes, planned := map[string]bool{}, g.Planned()
	return goes, g.ConsiderEach(ctx, g.rule, all, func(d documents.Document, is cleanup.Decision) error {
		n := g.Planned() - planned
		if is.Kind == g.toClear() {
			g.cleared += n
		}
		goes[d.Path] = n > 0 && is.Kind == g.Kind()
		planned += n
		return nil
	})
}

// clears reports whether a document holds the mark of a warning, and is no longer due by its own fields.
func (g *planning) clears(d documents.Document) bool {
	return g.judgeItself(d, g.Run).Kind == g.toClear()
}

// clear considers those of all documents that hold such a mark, from a cursor on.
func (g *planning) clear(ctx context.Context, from documents.Cursor) error {
	due := g.Planned() - g.cleared
	for page, err := range g.Documents.Pages(ctx, g.Warned(), from) {
		if err != nil {
			return err
		}
		mine := g.Among(page.Documents)
		marked := len(mine)
		of := slices.DeleteFunc(mine, func(d documents.Document) bool { return !g.clears(d) })
		g.Scanned(len(of))
		// The field of a mark that is the application's, too, must not be taken from its documents.
		what := fmt.Sprintf("marks in %s (a field of its own?) of %s", g.Rule.Warn.Field, g.Source())
		g.Count(cleanup.Count{Collection: what, Looked: marked, Due: len(of)})
		if err := g.Consider(ctx, g.rule, of); err != nil {
			return err
		}
		checkpoint := ""
		if g.cleared = g.Planned() - due; page.Next != "" {
			checkpoint = ofMarks + string(page.Next)
		}
		if err := g.SaveCheckpoint(checkpoint); err != nil {
			return err
		}
	}
	return nil
}

// countRest counts what the query skips, while the run plans. If the query finds nothing, the age may be of another form.
func (g *planning) countRest(ctx context.Context) {
	g.CountNotDue(ctx, cleanup.NotDue{
		All: g.Place().Query(), Due: g.query, Unset: true, Meets: g.meets, Behind: g.Age[0].Behind(),
		Then: func(all, found int, odd []any, ok bool) {
			if hint := g.Age[0].Hint(odd); found == 0 && hint != "" {
				g.Planner.Warn(ctx, g.Age.Key(0)+": "+hint)
			}
			g.share(ctx, all, found, ok)
		},
	})
}

// meets reports whether a document meets the conditions.
func (c documentsOf) meets(d documents.Document) bool {
	i, ok := c.ItemOf(d)
	unmet := func(w criteria.Condition) bool { return w.Holds(i.Lookup) != criteria.Met }
	return ok && !slices.ContainsFunc(c.Where, unmet)
}

// shareOfScan holds what is due against all documents where the query returns them whatever their age is. If the run has read
// them all, nothing is counted.
func (g *planning) shareOfScan(ctx context.Context, whole bool) {
	if whole && len(g.query.Where) == 0 && g.Checkpoint == "" || g.DuePercent() == 100 && !g.later {
		g.share(ctx, g.seen, g.seen, true)
		return
	}
	found := g.query
	found.Select = nil
	n, ok := g.CountAll(ctx, g.Place().Query(), found)
	g.share(ctx, n[0], n[1], ok)
}

// share holds what is due against all documents, of which the query finds so many.
func (g *planning) share(ctx context.Context, all, found int, ok bool) {
	due := g.Planned() - g.cleared
	if left := found - g.seen; ok && left > 0 {
		if g.later {
			g.Keep(ctx, g.Source(), cleanup.Keep(fmt.Sprintf("left to a later run: each run does %d", g.Limit)), left)
		}
		if g.Finds() { // all but what the job keeps
			due += left
		} else { // the share is taken to be the same among the documents that were not read
			due = due * found / max(1, g.seen)
		}
	}
	if g.mine < g.seen { // likewise, of another collection of the same name
		all = all * g.mine / g.seen
	}
	g.CountShare("documents of "+g.Source(), all, ok, due, g.DuePercent())
}

// checkpoint returns the checkpoint behind some documents. If the query goes through strings, a cursor would contain one,
// which may be a secret. Then the checkpoint is the path of the last document that stays: what goes is not read again anyway.
func (c documentsOf) checkpoint(q documents.Query, found []documents.Document, goes map[string]bool, last string) (
	string, error,
) {
	if len(found) == 0 {
		return last, nil
	}
	if len(c.Asked().Ranged) == 0 {
		cursor, err := q.Past(found[len(found)-1])
		return string(cursor), err
	}
	for _, d := range slices.Backward(found) {
		if !goes[d.Path] {
			return d.Path, nil
		}
	}
	return last, nil
}

// cursorAt returns the cursor behind a checkpoint. If the checkpoint is a document that is gone, the run begins at the
// beginning.
func (c documentsOf) cursorAt(ctx context.Context, p *cleanup.Planner, q documents.Query, checkpoint string) (
	documents.Cursor, error,
) {
	if checkpoint == "" || len(c.Asked().Ranged) == 0 {
		return documents.Cursor(checkpoint), nil
	}
	if _, err := documents.RefOf(checkpoint); err != nil {
		return "", fmt.Errorf("%w: %w", documents.ErrCursor, err)
	}
	d, found, err := p.Documents.Get(ctx, checkpoint)
	if err != nil {
		return "", err
	}
	for _, field := range q.OrderBy {
		if value := d.Value(field); !found || value == nil || value == "" {
			return "", nil
		}
	}
	if !c.Scans() {
		if _, dated := c.Age[0].At(d.Value(c.Age[0].Field)); !dated {
			return "", nil
		}
	}
	return q.Past(d)
}
