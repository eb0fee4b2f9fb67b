package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/firesweep/firesweep/shared/documents"
)

// Consider judges documents by a rule, counts those that are kept and proposes the others. A document that was not read has
// only its path.
func (p *Planner) Consider(ctx context.Context, rule AnyRule, found []documents.Document) error {
	if len(found) == 0 {
		return nil
	}
	items, err := p.load(ctx, rule, found)
	if err != nil {
		return err
	}
	return p.considerLoaded(ctx, rule, found, items, nil)
}

// load reads what a rule needs to judge documents. It may be called beside the planner's other methods.
func (p *Planner) load(ctx context.Context, rule AnyRule, found []documents.Document) (judged, error) {
	subjects := make([]Subject, len(found))
	for i, d := range found {
		subjects[i] = Subject{Document: d, Found: !d.UpdateTime.IsZero()}
	}
	return rule.load(ctx, p.run.readerSource(), subjects)
}

// considerLoaded is [Planner.Consider] for documents that are loaded. It calls then after each, in their order: for a job that
// marks its checkpoint after each, because what it has done does not keep a later run from finding the document again.
func (p *Planner) considerLoaded(
	ctx context.Context, rule AnyRule, found []documents.Document, items judged, then func(documents.Document) error,
) error {
	decisions := make([]Decision, len(found))
	failures := make([]error, len(found))
	var due []Proposal
	for i, d := range found {
		decisions[i], failures[i] = items.judge(i, p.run.known())
		if p.pending[d.Ref()] { // what an interrupted run left of it is finished first
			decisions[i], failures[i] = Decision{}, nil
		}
		if decisions[i].Kind != "" {
			due = append(due, Proposal{Document: d, Decision: decisions[i]})
		}
	}
	actions, err := p.actionsOf(ctx, rule, due)
	if err != nil {
		return err
	}
	for i, d := range found {
		switch {
		case failures[i] != nil:
			p.Fail(ctx, d.Path, "judge", failures[i])
		case decisions[i].Kind == "":
			p.KeepJudged(ctx, d.Path, decisions[i])
		default:
			if err := p.Propose(ctx, actions[0]); err != nil {
				return err
			}
			actions = actions[1:]
		}
		if then == nil {
			continue
		}
		if err := then(d); err != nil {
			return err
		}
	}
	return nil
}

// KeepJudged counts an item that is kept, as a decision says.
func (p *Planner) KeepJudged(ctx context.Context, path string, d Decision) {
	if d.Notice != nil {
		p.run.notice(ctx, path, *d.Notice)
	}
	switch {
	case d.Invalid:
		p.KeepInvalid(ctx, path, d.Reason, 1)
	case d.Reason != "" && p.Task != nil:
		p.keepNamed(ctx, path, d.Reason)
	case d.Reason != "":
		p.Keep(d.Reason, 1)
	}
}

// ConsiderRefs reads documents and considers them, including those that do not exist.
func (p *Planner) ConsiderRefs(ctx context.Context, rule AnyRule, refs ...documents.Ref) error {
	items, err := p.read(ctx, refs...)
	if err != nil {
		return err
	}
	return p.Consider(ctx, rule, items)
}

// read reads documents. Those that do not exist have only their path.
func (p *Planner) read(ctx context.Context, refs ...documents.Ref) ([]documents.Document, error) {
	found, err := p.run.readerSource().Get(ctx, refs)
	if err != nil {
		return nil, err
	}
	items := make([]documents.Document, len(refs))
	for i, ref := range refs {
		items[i] = found[ref]
		items[i].Path = ref.Path()
	}
	return items, nil
}

// Proposal is an item that is due.
type Proposal struct {
	documents.Document // nothing but the path where that is all that is known
	Decision
}

// ProposeItems proposes items that have been judged by other means, such as the documents that lead to them. The rule judges
// them in the commit. It leaves out an item that the run has proposed in this way before, whatever leads to it. It also leaves
// out an item that an interrupted run has not finished: that is finished first, and a later run proposes the item.
func (p *Planner) ProposeItems(ctx context.Context, rule AnyRule, due []Proposal) error {
	due = slices.DeleteFunc(due, func(d Proposal) bool { return p.pending[d.Ref()] || !p.remembered.add(rule.name(), d.Ref()) })
	actions, err := p.actionsOf(ctx, rule, due)
	if err != nil {
		return err
	}
	for _, a := range actions {
		if err := p.Propose(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// actionsOf returns the actions for items, in a preview with what they would write.
func (p *Planner) actionsOf(ctx context.Context, rule AnyRule, due []Proposal) ([]Action, error) {
	actions := make([]Action, len(due))
	for i, d := range due {
		if !rule.reach().has(d.Ref()) {
			return nil, fmt.Errorf("rule %s would judge %s, %w", rule.name(), d.Path, errReach)
		}
		actions[i] = Action{Kind: d.Kind, Target: d.Path, Reason: d.Reason, Effect: ruled{Item{Rule: rule, Ref: d.Ref(), nth: p.proposed}}}
		p.proposed++
		if rule.deletes() {
			actions[i].Effect = deleteDocument{documents.Deletion{Path: d.Path, LastUpdateTime: d.UpdateTime}, d.Original}
		}
	}
	if p.run.report.DryRun {
		if err := p.foresee(ctx, actions); err != nil {
			return nil, fmt.Errorf("work out what would be written: %w", err)
		}
	}
	return actions, nil
}

// Sweep considers all documents that a query returns, from a cursor on, and saves after each page where it got to. If several
// rules judge them, each keeps without a reason the items of the others.
func (p *Planner) Sweep(ctx context.Context, q documents.Query, from documents.Cursor, rules ...AnyRule) error {
	return p.EachPage(ctx, q, from, func(found []documents.Document) error {
		for _, rule := range rules {
			if err := p.Consider(ctx, rule, found); err != nil {
				return err
			}
		}
		return nil
	})
}

// wholePage is how many whole documents are read at once: of the largest that there are, 500 MiB go over the line.
const wholePage = 500

// FirstToJudge returns the first documents that a query matches from a cursor on, at most n, for a rule to judge, and whether there may be
// more. If the run keeps what it deletes and the rule deletes nothing else, they are read whole, as long as there is memory to keep
// them for the undo log: the precondition of the deletion proves that they are what is deleted.
func (p *Planner) FirstToJudge(ctx context.Context, rule AnyRule, q documents.Query, from documents.Cursor, n int) (
	found []documents.Document, more bool, err error,
) {
	if room := p.Config.Originals - p.originals; rule.deletes() && p.run.savesForUndo() && room > 0 {
		n = min(n, wholePage)
		found, err = p.Documents.FirstWhole(ctx, q, from, n, room)
	} else {
		found, err = p.Documents.First(ctx, q, from, n)
	}
	return found, len(found) == n, err
}

// EachPage calls consider with each page of the documents that a query returns, from a cursor on, and saves after it where the
// run got to.
func (p *Planner) EachPage(ctx context.Context, q documents.Query, from documents.Cursor, consider func([]documents.Document) error) error {
	for page, err := range p.Documents.Pages(ctx, q, from) {
		if err != nil {
			return err
		}
		p.Scanned(len(page.Documents))
		if err := consider(page.Documents); err != nil {
			return err
		}
		if err := p.SaveCheckpoint(string(page.Next)); err != nil {
			return err
		}
	}
	return nil
}
