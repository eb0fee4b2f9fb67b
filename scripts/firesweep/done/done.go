// Package done reads from a run's undo log what the run did. The command and the emulator's page show it.
package done

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// Log is what a run did. Its lists are in the order in which it was done, not nil, and perhaps only the first of them all.
// docs/command.md documents it as JSON.
type Log struct {
	Items       []Item  `json:"items"`
	ItemsTotal  int     `json:"itemsTotal"`
	Writes      []Write `json:"writes"` // besides the deletions of the items themselves
	WritesTotal int     `json:"writesTotal"`
	Things      []Thing `json:"-"` // what the writes of each document come to, objects and accounts
	ThingsTotal int     `json:"-"`
}

// Item is an item that a run judged.
type Item struct {
	Target string `json:"target"`
	Action string `json:"action"`
	Reason string `json:"reason"`
}

// Write is a write, with the names of fields and without their values.
type Write struct {
	Op         string   `json:"op"`
	Path       string   `json:"path"`
	Fields     []string `json:"fields,omitempty"`     // names, of an update
	Generation string   `json:"generation,omitempty"` // of an object
	Sent       bool     `json:"sent,omitempty"`       // it told somebody something, so undo leaves it
}

// Thing is a document, an object or an account that a run deleted or wrote.
type Thing struct {
	Target string       `json:"target"` // a path, gs://bucket/name, or "account uid"
	What   string       `json:"what"`   // "deleted", "changed" or "created"
	Sent   bool         `json:"sent,omitempty"`
	Fields []undo.Field `json:"fields,omitempty"`  // of a document, before and after the run
	Known  string       `json:"account,omitempty"` // of an account: what there was to know of it, as JSON
	Reason string       `json:"-"`                 // of an item
}

// Wanted says what of a log is read.
type Wanted struct {
	Bucket   string                 // of the function
	Most     int                    // of each list; 0: all
	Targets  []string               // of the things; none: all
	Only     func(undo.Record) bool // what is read of writes, objects and accounts, and no item is listed; nil: all
	Progress func(done, total int)  // entries; may be nil
}

// Of reads a run's undo log. The error is [restore.ErrNoLog] if it has none.
func Of(ctx context.Context, p restore.Project, runID string, w Wanted) (Log, error) {
	r := reader{Wanted: w, reasons: map[string]string{}, byTarget: map[string]*thing{}}
	err := p.Contents(ctx, runID, func(done, total int, records []undo.Record) error {
		if w.Progress != nil {
			w.Progress(done, total)
		}
		for _, record := range records { // the items first, because an item's own deletion may precede it
			if _, seen := r.reasons[record.Item]; record.Item != "" && !seen { // one that takes several commits is in several entries
				r.reasons[record.Item] = record.Reason
				if w.Only == nil {
					r.items = append(r.items, Item{Target: record.Item, Action: record.Action, Reason: record.Reason})
				}
			}
		}
		for _, record := range records {
			if w.Only == nil || w.Only(record) {
				r.add(record)
			}
		}
		return nil
	})
	return r.made(), err
}

// reader reads a log.
type reader struct {
	Wanted
	reasons  map[string]string // of items
	items    []Item
	writes   []Write
	things   []*thing
	byTarget map[string]*thing
}

// thing is a thing, as records tell of it.
type thing struct {
	Thing
	writes []undo.Write // of a document; none if it is not listed
	listed bool
}

// made returns what was done, as much as is wanted.
func (r *reader) made() Log {
	l := Log{
		Items: append([]Item{}, r.items...), ItemsTotal: len(r.items),
		Writes: append([]Write{}, r.writes...), WritesTotal: len(r.writes),
		Things: []Thing{}, ThingsTotal: len(r.things),
	}
	for _, t := range r.things {
		if t.listed {
			l.Things = append(l.Things, r.come(*t))
		}
	}
	if r.Most > 0 {
		l.Items, l.Writes = l.Items[:min(r.Most, l.ItemsTotal)], l.Writes[:min(r.Most, l.WritesTotal)]
	}
	return l
}

// come returns what a thing has come to.
func (r *reader) come(t thing) Thing {
	if len(t.writes) > 0 {
		c := undo.Net(t.writes)[0]
		t.What, t.Sent, t.Fields = c.What(), c.Sent, c.Fields()
	}
	t.Reason = r.reasons[t.Target]
	return t.Thing
}

// add adds what a record says was written.
func (r *reader) add(record undo.Record) {
	switch {
	case record.Write != nil:
		w := Write{Op: string(record.Write.Op), Path: record.Write.Path, Sent: record.Write.Sent}
		if record.Write.Op == documents.Update {
			w.Fields = record.Write.Wrote()
		}
		r.write(w)
		if t := r.thing(Thing{Target: w.Path}); t.listed {
			t.writes = append(t.writes, *record.Write)
		}
	case record.Object != nil:
		w := Write{
			Op: "delete object", Path: "gs://" + r.Bucket + "/" + record.Object.Name,
			Generation: strconv.FormatInt(record.Object.Generation, 10),
		}
		r.write(w)
		r.thing(Thing{Target: w.Path, What: "deleted"})
	case record.Account != nil:
		r.write(Write{Op: "delete account", Path: record.Account.UID})
		r.thing(Thing{Target: "account " + record.Account.UID, What: "deleted", Known: record.Account.Data})
	}
}

func (r *reader) write(w Write) {
	if _, isItem := r.reasons[w.Path]; !isItem || !strings.HasPrefix(w.Op, string(documents.Delete)) {
		r.writes = append(r.writes, w)
	}
}

// thing returns the thing that the record read now tells of.
func (r *reader) thing(as Thing) *thing {
	if len(r.Targets) > 0 && !slices.Contains(r.Targets, as.Target) {
		return &thing{}
	}
	t := r.byTarget[as.Target]
	if t == nil {
		t = &thing{Thing: as, listed: r.Most == 0 || len(r.things) < r.Most}
		r.byTarget[as.Target], r.things = t, append(r.things, t)
	}
	return t
}
