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
	items, err := rule.load(ctx, newReaderSource(p.Documents), subjects)
	if err != nil {
		return err
	}
	var due []Action
	for i, d := range found {
		decision, err := items.judge(i, p.run.known())
		switch {
		case err != nil:
			p.Fail(ctx, d.Path, "judge", err)
		case decision.Kind != "":
			due = append(due, Action{
				Kind: decision.Kind, Target: d.Path, Reason: decision.Reason, Effect: ruled{Item{Rule: rule, Ref: d.Ref()}},
			})
		case decision.Invalid:
			p.KeepDoubtful(ctx, d.Path, decision.Reason, 1)
		case decision.Reason != "":
			p.Keep(decision.Reason, 1)
		}
	}
	if p.run.report.DryRun {
		if err := p.foresee(ctx, due); err != nil {
			return fmt.Errorf("work out what would be written: %w", err)
		}
	}
	for _, a := range due {
		if err := p.Propose(ctx, a); err != nil {
			return err
		}
	}
	return nil
}
