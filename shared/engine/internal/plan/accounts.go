package plan

import (
	"context"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
)

// ConsiderAccounts implements [cleanup.Plan].
func (p *Planner) ConsiderAccounts(ctx context.Context, rule *cleanup.AccountRule, found []accounts.Account) (c cleanup.Considered, err error) {
	p.Scanned(len(found))
	decisions, lookups, err := p.decider.Accounts(ctx, rule, found)
	if err != nil {
		return c, err
	}
	c.Lookups = lookups
	for i, d := range decisions {
		target, before := decide.AccountTarget(found[i].UID), p.Size
		switch {
		case d.Invalid:
			p.KeepInvalid(ctx, target, d.Reason, 1)
			continue
		case d.Kind == "":
			p.Keep(d.Reason, 1)
			continue
		case rule.Limit > 0 && p.Planned() >= rule.Limit && p.decider.KeptBy(target) == nil:
			c.Due++
			c.Left = true
			continue
		}
		if err := p.propose(ctx, decide.Action{Kind: d.Kind, Target: target, Reason: d.Reason, Effect: decide.DeleteAccount{UID: found[i].UID, Rule: rule}}); err != nil {
			return c, err
		}
		c.Due += p.Size - before // not what is pinned
	}
	return c, nil
}
