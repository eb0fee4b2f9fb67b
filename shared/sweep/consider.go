package sweep

import (
	"context"
	"fmt"

	"github.com/firesweep/firesweep/shared/documents"
)

// Consider judges documents by a rule, counts those that are kept and proposes the others. A document that was not read,
// because its path is all that is known, has nothing but that path.
func (p *Planner) Consider(ctx context.Context, rule AnyRule, found []documents.Document) error {
	subjects := make([]Subject, len(found))
	for i, d := range found {
		subjects[i] = Subject{Document: d, Found: !d.UpdateTime.IsZero()}
	}
	items, err := rule.load(ctx, p.run.readerSource(), subjects)
	if err != nil {
		return err
	}
	due := make([]Proposal, 0, len(found))
	for i, d := range found {
		decision, err := items.judge(i, p.run.known())
		switch {
		case err != nil:
			p.Fail(ctx, d.Path, "judge", err)
		case decision.Kind != "":
			due = append(due, Proposal{Document: d, Decision: decision})
		case decision.Invalid:
			p.KeepDoubtful(ctx, d.Path, decision.Reason, 1)
		case decision.Reason != "" && p.Task != nil:
			p.KeepNamed(ctx, d.Path, decision.Reason)
		case decision.Reason != "":
			p.Keep(decision.Reason, 1)
		}
	}
	return p.ProposeItems(ctx, rule, due)
}

// ConsiderRefs reads documents and considers them, those too that do not exist.
func (p *Planner) ConsiderRefs(ctx context.Context, rule AnyRule, refs ...documents.Ref) error {
	found, err := p.run.readerSource().Get(ctx, refs)
	if err != nil {
		return err
	}
	items := make([]documents.Document, len(refs))
	for i, ref := range refs {
		items[i] = found[ref]
		items[i].Path = ref.Path()
	}
	return p.Consider(ctx, rule, items)
}

// Proposal is an item that is due.
type Proposal struct {
	documents.Document // nothing but the path where that is all that is known
	Decision
}

// ProposeItems proposes items that have been judged by other means, such as the documents that lead to them. They are judged
// by the rule in the commit.
func (p *Planner) ProposeItems(ctx context.Context, rule AnyRule, due []Proposal) error {
	actions := make([]Action, len(due))
	for i, d := range due {
		actions[i] = Action{Kind: d.Kind, Target: d.Path, Reason: d.Reason, Effect: ruled{Item{Rule: rule, Ref: d.Ref()}}}
		if rule.deletes() {
			actions[i].Effect = DeleteDocument{Path: d.Path, LastUpdateTime: d.UpdateTime}
		}
	}
	if p.run.report.DryRun {
		if err := p.foresee(ctx, actions); err != nil {
			return fmt.Errorf("work out what would be written: %w", err)
		}
	}
	for _, a := range actions {
		if err := p.Propose(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// Sweep considers all documents that a query returns, from a cursor on, and saves after each page where it got to.
func (p *Planner) Sweep(ctx context.Context, q documents.Query, from documents.Cursor, rule AnyRule) error {
	for page, err := range p.Documents.Pages(ctx, q, from) {
		if err != nil {
			return err
		}
		p.Scanned(len(page.Documents))
		if err := p.Consider(ctx, rule, page.Documents); err != nil {
			return err
		}
		if err := p.Mark(string(page.Next)); err != nil {
			return err
		}
	}
	return nil
}
