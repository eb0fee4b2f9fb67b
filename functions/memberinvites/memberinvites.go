// Package memberinvites is removeUnacceptedMemberInvites: it deletes invitations that nobody accepted within 90 days. The
// rules are in rules.go.
package memberinvites

import (
	"context"
	"fmt"
	"slices"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Job is removeUnacceptedMemberInvites.
var Job = sweep.Job{Name: "removeUnacceptedMemberInvites", Plan: plan}

func init() { functions.Register(Job) }

const (
	collection = "members"
	pageSize   = 2000 // three short fields each
)

// rule deletes invitations as they were judged, and nothing with them.
var rule = sweep.Rule[sweep.Subject]{Name: "invite", Load: sweep.Itself, Judge: judge}

// plan goes through the old invitations in the order of their tokens. That no user_id is set cannot be queried for, because
// where it is missing, no index has the document; so an invitation that was accepted and still has its token costs a read
// in every run. Members without a token, however many, cost nothing: in an index that begins with the token, what is not
// a text or empty lies outside of the range that is gone through. What lies in it and is younger is billed by its index
// entries, one read per 1000. An index that began with created_at would have every old member in its range.
func plan(ctx context.Context, p *sweep.Planner) error {
	invited := documents.Filter{Field: tokenField, Op: ">", Value: ""}
	due := documents.Query{
		Collection: collection,
		Where:      []documents.Filter{invited, {Field: createdField, Op: "<", Value: cutoff(p.Now)}},
		OrderBy:    []string{tokenField, createdField},
		Select:     []string{tokenField, createdField, userField},
	}
	p.CountKept(ctx, sweep.KeptCount{
		Due: due, Among: []documents.Filter{{Field: tokenField, Op: "!=", Value: nil}}, Eligible: []documents.Filter{invited},
		Young:     documents.Filter{Field: createdField, Op: ">=", Value: cutoff(p.Now)},
		KeptOther: keptTokenless, Invalid: true, KeptYoung: keptYoung, KeptUndated: keptUndated,
	})
	checkpoint := p.Checkpoint()
	from, err := cursorAt(ctx, p, due, checkpoint)
	if err != nil {
		return err
	}
	for {
		invites, err := p.Documents.First(ctx, due, from, pageSize)
		if err != nil {
			return err
		}
		p.Scanned(len(invites))
		if err := p.Consider(ctx, rule, invites); err != nil {
			return err
		}
		// The checkpoint is the last one that is kept: those that are deleted are not read again anyway.
		for _, invite := range slices.Backward(invites) {
			if judge(sweep.Subject{Document: invite}, sweep.Run{Now: p.Now}).Kind == "" {
				checkpoint = invite.ID()
				break
			}
		}
		if err := p.SaveCheckpoint(checkpoint); err != nil || len(invites) < pageSize {
			return err
		}
		// Of tokens too long for a query that begin alike, some may be left out: the next run reads them among the first.
		if from, err = due.Past(invites[pageSize-1]); err != nil || from == "" {
			return err
		}
	}
}

// cursorAt returns the cursor behind the invitation whose id is the saved checkpoint. The cursor itself is not saved, because it
// holds a token, with which anybody who sees it could accept the invitation. If the invitation is gone, the run begins at the
// beginning.
func cursorAt(ctx context.Context, p *sweep.Planner, q documents.Query, checkpoint string) (documents.Cursor, error) {
	if checkpoint == "" {
		return "", nil
	}
	if !documents.ValidID(checkpoint) {
		return "", fmt.Errorf("%w: %q is not a member's id", documents.ErrCursor, checkpoint)
	}
	invite, found, err := p.Documents.Get(ctx, collection+"/"+checkpoint)
	if err != nil {
		return "", err
	}
	token, _ := invite.Text(tokenField)
	if _, dated := invite.Time(createdField); !found || token == "" || !dated {
		return "", nil
	}
	return q.Past(invite)
}
