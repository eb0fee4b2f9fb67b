// Package bannedusers is cleanupBannedUsers: it deletes the documents and accounts of permanently banned users when their
// time has come, a few users a run. The rules are in rules.go, what is written for a user in apply.go.
package bannedusers

import (
	"context"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Job is cleanupBannedUsers.
var Job = sweep.Job{Name: "cleanupBannedUsers", Settings: settings, Plan: plan, Rules: []sweep.AnyRule{userRule, noteRule}}

func init() { functions.Register(Job) }

// settings returns how many users a run deletes, at most.
func settings(l *config.Loader) any { return l.Integer("MAX_USERS", 20, 1, 1000) }

// plan considers the first users that are due, then the accounts that earlier runs could not delete. The checkpoint of a run is
// that in the notes: the users that are due are few and always the first.
func plan(ctx context.Context, p *sweep.Planner) error {
	maxUsers := p.Config.Own.(int)
	banned := documents.Filter{Field: statusField, Op: "==", Value: permanent}
	due := documents.Query{
		Collection: users,
		Where:      []documents.Filter{banned, {Field: dueField, Op: "<=", Value: p.Now}},
		OrderBy:    []string{dueField},
		Select:     []string{statusField, dueField},
	}
	chosen, err := p.Documents.First(ctx, due, "", maxUsers)
	if err != nil {
		return err
	}
	p.Scanned(len(chosen))
	if err := p.Consider(ctx, userRule, chosen); err != nil {
		return err
	}
	if err := p.SaveCheckpoint(p.Checkpoint()); err != nil {
		return err
	}
	p.CountKept(ctx, sweep.KeptCount{
		Due: due, Among: []documents.Filter{banned}, Eligible: []documents.Filter{banned},
		Young:     documents.Filter{Field: dueField, Op: ">", Value: p.Now},
		KeptYoung: keptNotYet, KeptUndated: keptUndated,
		Judged: len(chosen), KeptLater: keptByLimit(maxUsers),
	})
	return p.Sweep(ctx, documents.Query{Collection: notes}, documents.Cursor(p.Checkpoint()), noteRule)
}
