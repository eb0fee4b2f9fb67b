package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/flow"
)

// ConsiderEach implements [cleanup.Plan].
func (p *Planner) ConsiderEach(
	ctx context.Context, rule cleanup.AnyRule, found []documents.Document, then func(documents.Document, cleanup.Decision) error,
) error {
	subjects := make([]cleanup.Subject, len(found))
	for i, d := range found {
		subjects[i] = cleanup.Subject{Document: d, Found: !d.UpdateTime.IsZero()}
	}
	items, err := rule.LoadAll(ctx, p.decider.Source(), subjects)
	if err != nil {
		return err
	}
	decisions := make([]cleanup.Decision, len(found))
	failures := make([]error, len(found))
	var due []cleanup.Proposal
	for i, d := range found {
		decisions[i], failures[i] = items.Judge(i, p.Run)
		if p.pending[d.Ref()] { // what an interrupted run left of it is finished first
			decisions[i], failures[i] = cleanup.Decision{}, nil
		}
		if decisions[i].Kind != "" && !p.isNew(rule, d.Ref()) { // listed once more, as it changed meanwhile
			decisions[i] = cleanup.Decision{}
		}
		if decisions[i].Kind != "" {
			due = append(due, cleanup.Proposal{Document: d, Decision: decisions[i]})
		}
	}
	proposed, err := p.itemsOf(ctx, rule, due)
	if err != nil {
		return err
	}
	for i, d := range found {
		switch {
		case failures[i] != nil:
			p.Fail(ctx, d.Path, "judge", failures[i])
		case decisions[i].Kind == "":
			p.Keep(ctx, d.Path, decisions[i], 1)
		default:
			if err := p.propose(ctx, proposed[0]); err != nil {
				return err
			}
			proposed = proposed[1:]
		}
		if err := then(d, decisions[i]); err != nil {
			return err
		}
	}
	return nil
}

// ProposeItems implements [cleanup.Plan].
func (p *Planner) ProposeItems(ctx context.Context, rule cleanup.AnyRule, due []cleanup.Proposal) error {
	due = slices.DeleteFunc(due, func(d cleanup.Proposal) bool {
		return p.pending[d.Ref()] || !p.isNew(rule, d.Ref())
	})
	items, err := p.itemsOf(ctx, rule, due)
	if err != nil {
		return err
	}
	for _, i := range items {
		if err := p.propose(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// isNew reports whether the run has not proposed an item of a rule before, and remembers that it does.
func (p *Planner) isNew(rule cleanup.AnyRule, ref documents.Ref) bool {
	item := proposed{rule.Named(), ref}
	if p.proposed[item] {
		return false
	}
	p.proposed[item] = true
	p.bytes += bytesOfEntry*2 + len(ref.Collection) + len(ref.ID)
	return true
}

// itemsOf returns the items of a rule that are due, in a preview with what goes with them.
func (p *Planner) itemsOf(ctx context.Context, rule cleanup.AnyRule, due []cleanup.Proposal) ([]*decide.Item, error) {
	items := make([]*decide.Item, len(due))
	if p.options.Versions {
		if err := p.readVersions(ctx, due); err != nil {
			return nil, err
		}
	}
	for i, d := range due {
		items[i] = decide.NewItem(nil, cleanup.Item{Rule: rule, Ref: d.Ref()})
		items[i].Action, items[i].Reason, items[i].Version = d.Kind, d.Reason, decide.VersionAt(d.UpdateTime)
	}
	if p.Report.DryRun && !rule.DeletesAlone() {
		due := func(ref documents.Ref) bool { return p.proposed[proposed{rule.Named(), ref}] }
		return items, p.preview(ctx, items, func(ctx context.Context, i *decide.Item) error { return p.decider.Preview(ctx, i, due) })
	}
	return items, nil
}

// Bounds of a preview. Each action costs the reads that its commit would.
const (
	maxPreviewed    = 100 // actions of a run of which it works out what goes with them
	previewedAtOnce = 8
)

// preview adds to items what look says goes with them. Of those that are too many, and when time is up, that there may be more.
func (p *Planner) preview(ctx context.Context, items []*decide.Item, look func(context.Context, *decide.Item) error) error {
	var few []*decide.Item
	for _, i := range items {
		if named, same := p.decider.Approves(i); !named || !same {
			continue
		}
		if i.More = p.previewed == maxPreviewed; !i.More {
			few = append(few, i)
			p.previewed++
		}
	}
	err := errors.Join(flow.Many(previewedAtOnce, len(few), func(n int) error {
		i := few[n]
		if errors.Is(p.decider.Time.CheckTime(), cleanup.ErrOutOfTime) {
			i.More = true
			return nil
		}
		return look(ctx, i)
	})...)
	if err != nil {
		return fmt.Errorf("work out what would be written: %w", err)
	}
	return nil
}

// readVersions reads when items were written of which only the path is known.
func (p *Planner) readVersions(ctx context.Context, due []cleanup.Proposal) error {
	var unread []documents.Ref
	for _, d := range due {
		if d.UpdateTime.IsZero() {
			unread = append(unread, d.Ref())
		}
	}
	found, err := p.decider.Source().Get(ctx, unread)
	for i, d := range due {
		due[i].UpdateTime = cmp.Or(d.UpdateTime, found[d.Ref()].UpdateTime)
	}
	return err
}

// ConsiderAccounts implements [cleanup.Plan].
func (p *Planner) ConsiderAccounts(ctx context.Context, found []accounts.Account) (c cleanup.Considered, err error) {
	p.Scanned(len(found))
	rule := p.decider.Job.AccountRule
	if rule.Next != nil {
		if err := p.decider.NoTenants(ctx); err != nil {
			return c, err
		}
	}
	decisions, lookups, err := p.decider.Accounts(ctx, rule, found)
	if err != nil {
		return c, err
	}
	c.Lookups = lookups
	var due []*decide.Item
	for i, d := range decisions {
		target := report.AccountTarget(found[i].UID)
		if d.Kind == "" {
			p.Keep(ctx, target, d, 1)
			continue
		}
		due = append(due, &decide.Item{Account: rule, UID: found[i].UID, Planned: report.Planned{
			Target: target, Action: d.Kind, Reason: d.Reason, Version: decide.AccountVersion(found[i]),
		}})
	}
	if p.Report.DryRun && rule.Next != nil {
		look := func(ctx context.Context, i *decide.Item) error {
			return p.decider.PreviewNext(ctx, i, rule.Next(i.UID))
		}
		if err := p.preview(ctx, due, look); err != nil {
			return c, err
		}
	}
	for _, item := range due {
		before := p.size
		if rule.Limit > 0 && p.Planned() >= rule.Limit && p.decider.Keeps(item).Kind != decide.Kept {
			c.Due++
			c.Left = true
			continue
		}
		if err := p.propose(ctx, item); err != nil {
			return c, err
		}
		c.Due += p.size - before // not what is kept
	}
	return c, nil
}
