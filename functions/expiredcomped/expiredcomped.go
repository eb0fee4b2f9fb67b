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

// Job is cleanExpiredComped.
var Job = jobWith(400, 100_000)

func init() { functions.Register(Job) }

// jobWith returns the job with limits: the rows of one member that one commit deletes, and the members that a run remembers
// to have proposed.
func jobWith(maxRows, maxProposed int) sweep.Job {
	rule := memberRule(maxRows)
	return sweep.Job{
		Name: "cleanExpiredComped", Rules: []sweep.AnyRule{rule},
		Plan: func(ctx context.Context, p *sweep.Planner) error { return plan(ctx, p, rule, maxProposed) },
	}
}

// plan proposes one action for every member who has an expired row. What becomes of the member is decided by the commit that
// does it, which looks at all rows of the member, so a member is proposed once however many have expired.
func plan(ctx context.Context, p *sweep.Planner, rule sweep.AnyRule, maxProposed int) error {
	p.Announce(ctx, "Starting cleanup of expired comp subscriptions", lastLine)
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
		if len(proposed) >= maxProposed {
			clear(proposed) // a member who is proposed twice is looked at twice: no harm is done
		}
		if err := p.ProposeItems(ctx, rule, membersOf(ctx, p, page.Documents, proposed)); err != nil {
			return err
		}
		if err := p.Mark(string(page.Next)); err != nil {
			return err
		}
	}
	return nil
}

// membersOf returns the members of one page of rows, in its order, less those that were proposed before.
func membersOf(ctx context.Context, p *sweep.Planner, rows []documents.Document, proposed map[string]bool) []sweep.Proposal {
	var order []string
	reasons := map[string][]string{} // by member
	for _, row := range rows {
		v, reason := judge(row, p.Now)
		switch v {
		case toDelete:
			id, _ := documents.IDOf(row.Data[memberField])
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
	var due []sweep.Proposal
	for _, id := range order {
		if !proposed[id] {
			proposed[id] = true
			due = append(due, sweep.Proposal{
				Document: documents.Document{Path: members + "/" + id}, Decision: sweep.Do(kind, reasonFor(reasons[id])),
			})
		}
	}
	return due
}

// countKept counts the rows that the query for the expired ones skips.
func countKept(ctx context.Context, p *sweep.Planner, expired documents.Query) {
	p.CountKept(ctx, sweep.Census{
		Due: expired, Young: documents.Filter{Field: expiryField, Op: ">=", Value: cutoff(p.Now)},
		KeptYoung: keptUnexpired, KeptNull: keptEndless, KeptUndated: keptUndated,
	})
}

// lastLine is what the job logs at its end, in the words that people look for who know the job from Ghost.
func lastLine(end sweep.Ending) string {
	if end.Canceled {
		return "Expired complimentary subscriptions cleanup cancelled before completion"
	}
	return fmt.Sprintf("Removed %d expired subscriptions, updated %d members in %dms",
		end.Figures[removed], end.Figures[freed], end.Duration.Milliseconds())
}
