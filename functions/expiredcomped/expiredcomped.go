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

// memberRule ends the expired subscriptions of a member: it deletes the rows, and makes the member free if that leaves none.
// That is one commit unless there are more rows than it has room for: then each commit but the last leaves a row, and the one
// that deletes the last row is the one that makes the member free. So no member is ever comped without a row, nor free
// without an event.
var memberRule = cleanup.Rule[state]{
	Name: "member", Load: load,
	Reach: cleanup.Reach{Items: members, Deletes: []string{subscriptions}, Writes: []string{members, statusEvents}},
	Judge: func(s state, _ cleanup.Run) cleanup.Decision {
		if s.From == "" && s.rows.Whole && len(s.expired) == 0 {
			return cleanup.Keep("no subscription has expired")
		}
		return cleanup.Do(kind, "")
	},
	Change: change,
}

// state is a member, who need not have a document.
type state struct {
	cleanup.Subject
	rows    cleanup.Belonging // those that one commit looks at
	expired []documents.Document
	// stays says that a row does not go, of these or of those that earlier commits looked at. It keeps the member as it is,
	// whether it expires later, never, or cannot be judged.
	stays bool
}

// rowsOf returns the lookup for the rows of members. The member of the id "42" has the rows that say 42 as well, those that refer
// to members/42, and those that say 42.0, which cannot be judged.
func rowsOf(src cleanup.Source) cleanup.Children {
	return cleanup.Children{
		Collection: subscriptions, Field: memberField, Select: []string{expiryField},
		Names: func(id string) []any {
			names := documents.NamesOf(id)
			if reference := src.Reference(documents.Ref{Collection: members, ID: id}); documents.Queryable(reference) {
				names = append(names, reference)
			}
			return names
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

// load reads the members' rows. If a member has more rows than a commit holds, it reads on from where an earlier commit ended.
func load(ctx context.Context, src cleanup.Source, subjects []cleanup.Subject) ([]state, error) {
	ids, states := make([]string, len(subjects)), make([]state, len(subjects))
	for i, s := range subjects {
		ids[i], states[i].Subject = s.ID(), s
	}
	those := rowsOf(src)
	if subjects[0].Alone {
		those.From = documents.Cursor(subjects[0].From)
	}
	rows, err := src.Children(ctx, those, ids)
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
	if err != nil || those.From == "" {
		return states, err
	}
	first, err := src.First(ctx, those.Query(ids[0]), "", 1)
	if of := states[0].rows.Documents; len(first) > 0 && len(of) > 0 && first[0].Path != of[0].Path {
		states[0].stays = true
	}
	return states, err
}

// change deletes the rows that have expired. A paying member, or one without a document, only loses rows.
func change(s state, _ cleanup.Decision, run cleanup.Run) cleanup.Change {
	if !s.rows.Whole && !s.Alone {
		return cleanup.Change{Again: true}
	}
	c := cleanup.Delete(s.expired...)
	if !s.rows.Whole {
		c.Again, c.From = true, string(s.rows.Next)
		return c
	}
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
