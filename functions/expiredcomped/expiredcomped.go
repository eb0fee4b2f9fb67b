// Package expiredcomped is cleanExpiredComped: it deletes complimentary subscriptions that have expired, and makes members
// free who were comped and have none left. The rules are in rules.go.
package expiredcomped

import (
	"context"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

// Job is cleanExpiredComped.
var Job = cleanup.Job{
	Name: "cleanExpiredComped", Rules: []cleanup.AnyRule{memberRule}, Plan: plan,
	Lines: &cleanup.Lines{ // in the words that people look for who know the job from Ghost
		Begun:    "Starting cleanup of expired comp subscriptions",
		Ended:    "Removed %d expired subscriptions, updated %d members in %dms",
		Counted:  [2]string{"delete " + subscriptions, "update " + members},
		Canceled: "Expired complimentary subscriptions cleanup cancelled before completion",
	},
}

func init() { functions.Register(Job) }

// plan proposes one action for every member who has an expired row. What becomes of the member is decided by the commit that
// does it, which looks at all rows of the member.
func plan(ctx context.Context, p *cleanup.Planner) error {
	expired := documents.Query{
		Collection: subscriptions,
		Where:      []documents.Filter{{Field: expiryField, Op: "<", Value: cutoff(p.Now)}},
		OrderBy:    []string{expiryField},
		Select:     []string{memberField, expiryField},
	}
	p.CountNotDue(ctx, cleanup.NotDue{All: documents.Query{Collection: subscriptions}, Due: expired, Null: keptEndless})
	return p.EachPage(ctx, expired, documents.Cursor(p.Checkpoint), func(rows []documents.Document) error {
		return p.ProposeItems(ctx, memberRule, membersOf(ctx, p, rows))
	})
}

// membersOf returns the members of one page of rows, in its order.
func membersOf(ctx context.Context, p *cleanup.Planner, rows []documents.Document) []cleanup.Proposal {
	var due []cleanup.Proposal
	reasons := map[string][]string{} // by member
	for _, row := range rows {
		d := judge(row, p.Now)
		if d.Kind == "" {
			p.Keep(ctx, row.Path, d, 1)
			continue
		}
		id, _ := row.IDIn(members, row.Data[memberField])
		if reasons[id] == nil {
			due = append(due, cleanup.Proposal{Document: documents.Document{Path: documents.Ref{Collection: members, ID: id}.Path()}})
		}
		reasons[id] = append(reasons[id], d.Reason)
	}
	for i := range due {
		due[i].Decision = cleanup.Do(kind, reasonFor(reasons[due[i].ID()]))
	}
	return due
}

// memberRule ends the expired subscriptions of a member: it deletes the rows, and makes the member free if that leaves none. That
// is one commit. So no member is ever comped without a row, nor free without an event. A member of whom one commit cannot hold
// all rows is kept.
var memberRule = cleanup.Rule[state]{
	Name: "member", Load: load,
	Reach: cleanup.Reach{Items: members, Deletes: []string{subscriptions}, Writes: []string{members, statusEvents}},
	Judge: func(s state, _ cleanup.Run) cleanup.Decision {
		if s.rows.Whole && len(s.expired) == 0 {
			return cleanup.Keep("no subscription has expired")
		}
		return cleanup.Do(kind, "")
	},
	Change: change,
}

// state is a member, who need not have a document.
type state struct {
	cleanup.Subject
	rows    cleanup.Belonging
	expired []documents.Document
	// stays says that a row is kept. It keeps the member as it is, whether it expires later, never, or cannot be judged.
	stays bool
}

// rowsOf returns the lookup for the rows of members. The member of the id "42" has the rows that say 42 as well, those that refer
// to members/42, and those that say 42.0, which cannot be judged.
func rowsOf(src cleanup.Source) cleanup.Children {
	return cleanup.Children{
		Collection: subscriptions, Field: memberField, Select: []string{expiryField},
		Names: func(id string) []any {
			member := documents.Ref{Collection: members, ID: id}
			return member.Names(src.Reference(member))
		},
		NameOf: func(value any) (string, bool) {
			if ref, ok := documents.ReferenceOf(value); ok {
				return ref.ID, ref.Collection == members
			}
			if v, isReal := value.(float64); isReal {
				value = int64(v)
			}
			return documents.IDOf(value)
		},
	}
}

// load reads the members' rows.
func load(ctx context.Context, src cleanup.Source, subjects []cleanup.Subject) ([]state, error) {
	ids, states := make([]string, len(subjects)), make([]state, len(subjects))
	for i, s := range subjects {
		ids[i], states[i].Subject = s.ID(), s
	}
	rows, err := src.Children(ctx, rowsOf(src), ids)
	for i, id := range ids {
		s := &states[i]
		s.rows = rows[id]
		for _, row := range s.rows.Documents {
			if judge(row, src.Run().Now).Kind == "" {
				s.stays = true
			} else {
				s.expired = append(s.expired, row)
			}
		}
	}
	return states, err
}

// change deletes the rows that have expired. A paying member, or one without a document, only loses rows.
func change(s state, _ cleanup.Decision, run cleanup.Run) cleanup.Change {
	switch {
	case s.rows.Whole:
	case s.Alone:
		return cleanup.Change{Invalid: keptMany}
	default:
		return cleanup.Change{Again: true}
	}
	c := cleanup.Delete(s.expired...)
	if status, _ := s.Text(statusField); s.Found && status == comped && len(s.expired) > 0 && !s.stays {
		// The event calls the member as the rows do: a text, a number or a reference.
		event := documents.Ref{Collection: statusEvents, ID: eventID(run.Now, s.ID(), s.expired)}
		c.Writes = append(c.Writes,
			documents.Write{Op: documents.Update, Ref: s.Ref(), Data: map[string]any{statusField: free, "updated_at": run.Now}},
			documents.Write{Op: documents.Create, Ref: event, Data: map[string]any{
				memberField: s.expired[0].Data[memberField], "from_status": comped, "to_status": free, "created_at": run.Now,
			}})
	}
	return c
}
