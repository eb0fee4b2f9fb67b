package expiredcomped

import (
	"context"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Figures that the job's last line tells.
const (
	removed = "removed" // rows deleted
	freed   = "freed"   // members made free
)

// memberRule ends the expired subscriptions of a member: it deletes the rows, and makes the member free if that leaves none.
// That is one commit unless there are more rows than it has room for: then each commit but the last leaves a row, and the one
// that deletes the last row is the one that makes the member free. So no member is ever comped without a row, nor free
// without an event.
var memberRule = sweep.Rule[state]{
	Name: "member",
	Load: load,
	Judge: func(s state, _ sweep.Run) sweep.Decision {
		if s.From == "" && s.whole && len(s.expired) == 0 {
			return sweep.Keep("no subscription has expired")
		}
		return sweep.Do(kind, "")
	},
	Change: change,
}

// state is a member, who need not have a document, with the rows that one commit looks at.
type state struct {
	sweep.Subject
	expired []documents.Document
	// stays says that a row does not go, of these or of those that earlier commits looked at. It keeps the member as it is,
	// whether it expires later, never, or cannot be judged.
	stays bool
	whole bool             // all of the member's rows have been looked at
	next  documents.Cursor // where the others begin, unless the member shares the commit
}

// rowsOf are the rows of members. The member of the id "42" has the rows that say 42 as well, and those that say 42.0, which
// cannot be judged.
var rowsOf = sweep.Children{
	Collection: subscriptions, Field: memberField, Select: []string{expiryField},
	Names: documents.NamesOf, NameOf: func(value any) (string, bool) {
		if v, isReal := value.(float64); isReal {
			value = int64(v)
		}
		return documents.IDOf(value)
	},
}

func load(ctx context.Context, src sweep.Source, subjects []sweep.Subject) ([]state, error) {
	states := make([]state, len(subjects))
	ids := make([]string, len(subjects))
	for i, s := range subjects {
		states[i].Subject, ids[i] = s, s.ID()
	}
	if subjects[0].Alone {
		return states, states[0].loadAlone(ctx, src)
	}
	rows, err := src.Children(ctx, rowsOf, ids)
	for i, id := range ids {
		states[i].whole = rows[id].Whole
		states[i].lookAt(rows[id].Documents, src.Run().Now)
	}
	return states, err
}

// loadAlone reads as many of one member's rows as a commit has room for, from where an earlier one ended.
func (s *state) loadAlone(ctx context.Context, src sweep.Source) error {
	q := rowsOf.Query(s.ID())
	rows, err := src.First(ctx, q, documents.Cursor(s.From), s.Room+1)
	if err != nil {
		return err
	}
	if s.whole = len(rows) <= s.Room; !s.whole {
		rows = rows[:s.Room]
		if s.next, err = q.After(rows[s.Room-1]); err != nil {
			return err
		}
	}
	s.lookAt(rows, src.Run().Now)
	if s.From == "" || len(rows) == 0 {
		return nil
	}
	first, err := src.First(ctx, q, "", 1)
	s.stays = s.stays || len(first) > 0 && first[0].Path != rows[0].Path
	return err
}

func (s *state) lookAt(rows []documents.Document, now time.Time) {
	for _, row := range rows {
		if judge(row, now).Kind == "" {
			s.stays = true
		} else {
			s.expired = append(s.expired, row)
		}
	}
}

// change deletes the rows that have expired. A paying member, or one that is gone, only loses rows.
func change(s state, d sweep.Decision, run sweep.Run) sweep.Change {
	if !s.whole && !s.Alone {
		return sweep.Change{Again: d.Kind, Apart: true}
	}
	c := sweep.Change{Tally: map[string]int{removed: len(s.expired)}}
	for _, row := range s.expired {
		c.Writes = append(c.Writes, documents.Write{Op: documents.Delete, Ref: row.Ref()})
	}
	if !s.whole {
		c.Again, c.From = d.Kind, string(s.next)
		return c
	}
	if status, _ := s.Text(statusField); s.Found && status == comped && len(s.expired) > 0 && !s.stays {
		c.Writes = append(c.Writes, makeFree(s, run)...)
		c.Tally[freed] = 1
	}
	return c
}

// makeFree makes a member free and records it. The event calls the member as the rows do: a text or a number.
func makeFree(s state, run sweep.Run) []documents.Write {
	event := documents.Ref{Collection: statusEvents, ID: eventID(run.Now, s.ID(), s.expired)}
	return []documents.Write{
		{Op: documents.Update, Ref: s.Ref(), Data: map[string]any{statusField: free, "updated_at": run.Now}},
		{Op: documents.Create, Ref: event, Data: map[string]any{
			memberField: s.expired[0].Data[memberField], "from_status": comped, "to_status": free, "created_at": run.Now,
		}},
	}
}
