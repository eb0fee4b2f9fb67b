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
var Job = jobWith(100_000)

func init() { functions.Register(Job) }

// jobWith returns the job with a limit on the members that a run remembers to have proposed.
func jobWith(maxProposed int) sweep.Job {
	return sweep.Job{
		Name: "cleanExpiredComped", Rules: []sweep.AnyRule{memberRule},
		Plan: func(ctx context.Context, p *sweep.Planner) error { return plan(ctx, p, maxProposed) },
	}
}

// plan proposes one action for every member who has an expired row. What becomes of the member is decided by the commit that
// does it, which looks at all rows of the member, so a member is proposed once however many have expired.
func plan(ctx context.Context, p *sweep.Planner, maxProposed int) error {
	p.Announce(ctx, "Starting cleanup of expired comp subscriptions", lastLine)
	expired := documents.Query{
		Collection: subscriptions,
		Where:      []documents.Filter{{Field: expiryField, Op: "<", Value: cutoff(p.Now)}},
		OrderBy:    []string{expiryField},
		Select:     []string{memberField, expiryField},
	}
	p.CountKept(ctx, sweep.KeptCount{ // the rows that the query skips
		Due: expired, Young: documents.Filter{Field: expiryField, Op: ">=", Value: cutoff(p.Now)},
		KeptYoung: keptUnexpired, KeptNull: keptEndless, KeptUndated: keptUndated,
	})
	proposed := map[string]bool{}
	for page, err := range p.Documents.Pages(ctx, expired, documents.Cursor(p.Checkpoint())) {
		if err != nil {
			return err
		}
		p.Scanned(len(page.Documents))
		if len(proposed) >= maxProposed {
			clear(proposed) // a member who is proposed twice is looked at twice: no harm is done
		}
		if err := p.ProposeItems(ctx, memberRule, membersOf(ctx, p, page.Documents, proposed)); err != nil {
			return err
		}
		if err := p.SaveCheckpoint(string(page.Next)); err != nil {
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
		switch d := judge(row, p.Now); {
		case d.Invalid:
			p.KeepInvalid(ctx, row.Path, d.Reason, 1)
		case d.Kind == "":
			p.Keep(d.Reason, 1) // it changed while the query was answered
		default:
			id, _ := documents.IDOf(row.Data[memberField])
			reasons[id] = append(reasons[id], d.Reason)
			if !proposed[id] {
				proposed[id] = true
				order = append(order, id)
			}
		}
	}
	due := make([]sweep.Proposal, len(order))
	for i, id := range order {
		due[i].Path, due[i].Decision = members+"/"+id, sweep.Do(kind, reasonFor(reasons[id]))
	}
	return due
}

// lastLine is what the job logs at its end, in the words that people look for who know the job from Ghost.
func lastLine(end sweep.Ending) string {
	if end.Canceled {
		return "Expired complimentary subscriptions cleanup cancelled before completion"
	}
	return fmt.Sprintf("Removed %d expired subscriptions, updated %d members in %dms",
		end.Figures[removed], end.Figures[freed], end.Duration.Milliseconds())
}
