package expiredcomped

import (
	"context"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// kind is what the report counts: the end of all of a member's expired subscriptions.
const kind = "end complimentary subscription"

// Figures that the job's last line tells.
const (
	removed = "removed" // rows deleted
	freed   = "freed"   // members made free
)

// state is a member, who need not have a document, with the rows that one commit looks at.
type state struct {
	sweep.Subject
	rows  []documents.Document
	whole bool             // all of the member's rows have been looked at, those of earlier commits included
	next  documents.Cursor // where the rows begin that are not looked at; empty if there are none
	// others says that rows looked at by earlier commits stayed.
	others bool
}

// rowsOf are the rows of members. The member of the id "42" has the rows that say 42 as well, and those that say 42.0, which
// cannot be judged.
var rowsOf = sweep.Children{
	Collection: subscriptions, Field: memberField, Select: []string{expiryField},
	Names: documents.NamesOf, NameOf: memberOf,
}

// memberOf returns the member whose row it is, whether or not the row can be judged.
func memberOf(value any) (string, bool) {
	if v, isReal := value.(float64); isReal {
		value = int64(v)
	}
	return documents.IDOf(value)
}

// memberRule ends the expired subscriptions of a member: it deletes the rows, and makes the member free if that leaves none.
// That is one commit unless there are more rows than maxRows: then each commit but the last leaves a row, and the one that
// deletes the last row is the one that makes the member free. So no member is ever comped without a row, nor free
// without an event.
func memberRule(maxRows int) sweep.Rule[state] {
	return sweep.Rule[state]{
		Name: "member",
		Load: func(ctx context.Context, src sweep.Source, subjects []sweep.Subject) ([]state, error) {
			return load(ctx, src, subjects, maxRows)
		},
		Judge: func(s state, run sweep.Run) sweep.Decision {
			if s.From == "" && s.whole && len(s.expired(run)) == 0 {
				return sweep.Keep("no subscription has expired")
			}
			return sweep.Do(kind, "")
		},
		Change: change,
	}
}

func load(ctx context.Context, src sweep.Source, subjects []sweep.Subject, maxRows int) ([]state, error) {
	states := make([]state, len(subjects))
	ids := make([]string, len(subjects))
	for i, s := range subjects {
		states[i].Subject, ids[i] = s, s.ID()
	}
	if subjects[0].Alone {
		return states, states[0].loadAlone(ctx, src, maxRows)
	}
	rows, err := src.Children(ctx, rowsOf, ids)
	for i, id := range ids {
		states[i].rows, states[i].whole = rows[id].Documents, rows[id].Whole && len(rows[id].Documents) <= maxRows
	}
	return states, err
}

// loadAlone reads as many of one member's rows as a commit may delete, from where an earlier one ended.
func (s *state) loadAlone(ctx context.Context, src sweep.Source, maxRows int) (err error) {
	q := rowsOf.Query(s.ID())
	if s.rows, err = src.First(ctx, q, documents.Cursor(s.From), maxRows+1); err != nil {
		return err
	}
	if s.whole = len(s.rows) <= maxRows; !s.whole {
		s.rows = s.rows[:maxRows]
		if s.next, err = q.After(s.rows[maxRows-1]); err != nil {
			return err
		}
	}
	if s.From == "" || len(s.rows) == 0 {
		return nil
	}
	first, err := src.First(ctx, q, "", 1)
	s.others = len(first) > 0 && first[0].Path != s.rows[0].Path
	return err
}

// expired returns the rows that have expired.
func (s state) expired(run sweep.Run) []documents.Document {
	var expired []documents.Document
	for _, row := range s.rows {
		if v, _ := judge(row, run.Now); v == toDelete {
			expired = append(expired, row)
		}
	}
	return expired
}

// change deletes the rows that have expired. Every row that stays keeps the member as it is, whether it expires later, never,
// or cannot be judged. A paying member, or one that is gone, only loses rows.
func change(s state, d sweep.Decision, run sweep.Run) sweep.Change {
	if !s.whole && !s.Alone {
		return sweep.Change{Again: d.Kind, Apart: true}
	}
	expired := s.expired(run)
	c := sweep.Change{Tally: map[string]int{removed: len(expired)}}
	for _, row := range expired {
		c.Writes = append(c.Writes, documents.Write{Op: documents.Delete, Ref: row.Ref()})
	}
	if !s.whole {
		c.Again, c.From = d.Kind, string(s.next)
		return c
	}
	status, _ := s.Text(statusField)
	if last := len(expired) > 0 && len(expired) == len(s.rows) && !s.others; last && s.Found && status == comped {
		c.Writes = append(c.Writes, makeFree(s, expired, run)...)
		c.Tally[freed] = 1
	}
	return c
}

// makeFree makes a member free and records it. The event calls the member as the rows do: a text or a number.
func makeFree(s state, rows []documents.Document, run sweep.Run) []documents.Write {
	return []documents.Write{
		{Op: documents.Update, Ref: s.Ref(), Data: map[string]any{statusField: free, "updated_at": run.Now}},
		{Op: documents.Create, Ref: documents.Ref{Collection: statusEvents, ID: eventID(run.Now, s.ID(), rows)}, Data: map[string]any{
			memberField: rows[0].Data[memberField], "from_status": comped, "to_status": free, "created_at": run.Now,
		}},
	}
}
