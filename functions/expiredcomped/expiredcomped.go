// Package expiredcomped is cleanExpiredComped: it deletes complimentary subscriptions that have expired, and makes members
// free who were comped and have none left. The rules are in rules.go, how a member's subscriptions end in apply.go.
package expiredcomped

import (
	"context"
	"fmt"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Job is cleanExpiredComped (seed 1).
var Job = sweep.Job{Name: "cleanExpiredComped", Plan: plan}

func init() { functions.Register(Job) }

func plan(ctx context.Context, p *sweep.Planner) error { return planWith(ctx, p, newEnder()) }

// planWith proposes one action for every member who has an expired row. What becomes of the member is decided by the
// transaction that does it, which looks at all rows of the member, so a member is proposed once however many have expired.
func planWith(ctx context.Context, p *sweep.Planner, e *ender) error {
	p.Announce(ctx, "Starting cleanup of expired comp subscriptions", e.lastLine)
	expired := documents.Query{
		Collection: subscriptions,
		Where:      []documents.Filter{{Field: expiryField, Op: "<", Value: cutoff(p.Now)}},
		OrderBy:    []string{expiryField},
		Select:     []string{memberField, expiryField},
	}
	countKept(ctx, p, expired)
	proposed := map[string]bool{}
	for page, err := range p.Documents.Pages(ctx, expired, documents.Cursor(p.Position())) {
		if err != nil {
			return err
		}
		p.Scanned(len(page.Documents))
		if err := e.propose(ctx, p, page.Documents, proposed); err != nil {
			return err
		}
		if err := p.Mark(string(page.Next)); err != nil {
			return err
		}
	}
	return nil
}

// propose proposes the members of one page of rows, in its order, less those that were proposed before.
func (e *ender) propose(ctx context.Context, p *sweep.Planner, rows []documents.Document, proposed map[string]bool) error {
	var order []string
	reasons := map[string][]string{} // by member
	for _, row := range rows {
		v, reason := judge(row, p.Now)
		switch v {
		case toDelete:
			id, _ := row.Text(memberField)
			if reasons[id] == nil {
				order = append(order, id)
			}
			reasons[id] = append(reasons[id], reason)
		case toDoubt:
			p.KeepDoubtful(ctx, row.Path, reason, 1)
		case toKeep:
			p.Keep(reason, 1) // it changed while the query was answered
		}
	}
	for _, id := range order {
		if proposed[id] {
			continue
		}
		if len(proposed) == e.maxProposed {
			clear(proposed) // a member who is proposed twice is looked at twice: no harm is done
		}
		proposed[id] = true
		err := p.Propose(ctx, sweep.Action{
			Kind: "end complimentary subscription", Target: members + "/" + id, Reason: reasonFor(reasons[id]),
			Effect: e.end(id),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// countKept counts the rows that the query for the expired ones skips.
func countKept(ctx context.Context, p *sweep.Planner, expired documents.Query) {
	p.CountKept(ctx, sweep.Census{
		Due: expired, Young: documents.Filter{Field: expiryField, Op: ">=", Value: cutoff(p.Now)},
		KeptYoung: keptUnexpired, KeptNull: keptEndless, KeptUndated: keptUndated,
	})
}

// lastLine is what the job logs at its end, in the words of the seed.
func (e *ender) lastLine(end sweep.Ending) string {
	if end.Canceled {
		return "Expired complimentary subscriptions cleanup cancelled before completion"
	}
	return fmt.Sprintf("Removed %d expired subscriptions, updated %d members in %dms",
		e.removed.Load(), e.freed.Load(), end.Duration.Milliseconds())
}
