// Package bannedusers is cleanupBannedUsers: it deletes the documents and accounts of permanently banned users when their
// time has come, a few users a run. The rules are in rules.go, how a user is deleted in apply.go.
package bannedusers

import (
	"context"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Job is cleanupBannedUsers.
var Job = sweep.Job{Name: "cleanupBannedUsers", Plan: plan}

func init() { functions.Register(Job) }

const (
	users = "users"
	notes = "authDeletionRetries" // by uid, see note
)

// plan proposes the users that are due, then the accounts that earlier runs could not delete. All are one batch, because
// the accounts of up to 1000 users are deleted by one call and there may be one call a second. The position of a run is
// that in the notes: the users that are due are few and always the first.
func plan(ctx context.Context, p *sweep.Planner) error {
	batch := &sweep.Batch{Size: maxBatch, Do: deleteUsers}
	chosen, err := planUsers(ctx, p, batch)
	if err != nil {
		return err
	}
	return planRetries(ctx, p, batch, chosen)
}

// planUsers proposes the first users that are due and returns their uids.
func planUsers(ctx context.Context, p *sweep.Planner, batch *sweep.Batch) (chosen map[string]bool, err error) {
	banned := documents.Filter{Field: statusField, Op: "==", Value: permanent}
	due := documents.Query{
		Collection: users,
		Where:      []documents.Filter{banned, {Field: dueField, Op: "<=", Value: p.Now}},
		OrderBy:    []string{dueField},
		Select:     []string{statusField, dueField},
		PageSize:   p.Config.MaxUsers,
	}
	chosen = map[string]bool{}
	judged := 0
	for page, err := range p.Documents.Pages(ctx, due, "") {
		if err != nil {
			return nil, err
		}
		for _, user := range page.Documents {
			if len(chosen) == p.Config.MaxUsers {
				break
			}
			judged++
			isDue, reason := judge(user, p.Now)
			if !isDue {
				p.KeepDoubtful(ctx, user.Path, reason, 1)
				continue
			}
			chosen[user.ID()] = true
			err := p.Propose(ctx, sweep.Action{
				Kind: "delete user", Target: user.Path, Reason: reason,
				Effect: sweep.Batched{Batch: batch, Item: item{uid: user.ID()}},
			})
			if err != nil {
				return nil, err
			}
		}
		if err := p.Mark(p.Position()); err != nil {
			return nil, err
		}
		if len(chosen) == p.Config.MaxUsers {
			break // a further page is read only in place of users that had to be kept
		}
	}
	p.Scanned(judged)
	countKept(ctx, p, banned, due, judged)
	return chosen, nil
}

// countKept counts the banned users that were not judged one by one.
func countKept(ctx context.Context, p *sweep.Planner, banned documents.Filter, due documents.Query, judged int) {
	p.CountKept(ctx, sweep.Census{
		Due: due, Among: []documents.Filter{banned}, Eligible: []documents.Filter{banned},
		Young:     documents.Filter{Field: dueField, Op: ">", Value: p.Now},
		KeptYoung: keptNotYet, KeptUndated: keptUndated,
		Judged: judged, KeptLater: keptByLimit(p.Config.MaxUsers),
	})
}

// planRetries proposes every account that is noted but those of chosen users, whose documents are there again and whose
// accounts go with them.
func planRetries(ctx context.Context, p *sweep.Planner, batch *sweep.Batch, chosen map[string]bool) error {
	all := documents.Query{Collection: notes}
	for page, err := range p.Documents.Pages(ctx, all, documents.Cursor(p.Position())) {
		if err != nil {
			return err
		}
		p.Scanned(len(page.Documents))
		for _, d := range page.Documents {
			if chosen[d.ID()] {
				continue
			}
			err := p.Propose(ctx, sweep.Action{
				Kind: "retry account deletion", Target: d.Path, Reason: noteOf(d).reason(),
				Effect: sweep.Batched{Batch: batch, Item: item{uid: d.ID(), retry: true}},
			})
			if err != nil {
				return err
			}
		}
		if err := p.Mark(string(page.Next)); err != nil {
			return err
		}
	}
	return nil
}
