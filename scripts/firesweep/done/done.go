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

// add adds to a list that keeps the first most, 0 all, and counts all.
func add[T any](list *[]T, total *int, most int, v T) (kept bool) {
	*total++
	if kept = most == 0 || len(*list) < most; kept {
		*list = append(*list, v)
	}
	return kept
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
	Generation string   `json:"generation,omitempty"` // of an object, if it is known
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
	r := reader{Wanted: w, items: map[string]string{}, writes: map[string][]undo.Write{}, at: map[string]int{},
		wanted: map[string]bool{}, told: map[string]int{}, stayed: map[string]int{}, log: Log{Items: []Item{}, Writes: []Write{}, Things: []Thing{}}}
	for _, target := range w.Targets {
		r.wanted[target] = true
	}
	err := p.Contents(ctx, runID, func(done, total int, records []undo.Record) error {
		if w.Progress != nil {
			w.Progress(done, total)
		}
		for _, record := range records { // the items first, because an item's own deletion may precede it
			if _, seen := r.items[record.Item]; record.Item != "" && !seen { // one that takes several commits is in several entries
				r.items[record.Item] = record.Reason
				if w.Only == nil {
					add(&r.log.Items, &r.log.ItemsTotal, w.Most, Item{Target: record.Item, Action: record.Action, Reason: record.Reason})
				}
			}
		}
		for _, record := range records {
			switch {
			case record.Stayed != "":
				r.stayed[r.objectOr(record.Stayed)]++
			case w.Only == nil || w.Only(record):
				r.add(record)
			}
		}
		return nil
	})
	for path, i := range r.at {
		stayed := r.stayed[path]
		made := slices.DeleteFunc(r.writes[path], func(w undo.Write) bool {
			stays := stayed > 0 && undo.Record{Write: &w}.Deletes()
			if stays {
				stayed--
			}
			return stays
		})
		if len(made) > 0 { // or else it is left out
			c := undo.Net(made)[0]
			r.log.Things[i] = Thing{Target: path, What: c.What(), Sent: c.Sent, Fields: c.Fields()}
		}
	}
	r.leaveOut()
	for i, t := range r.log.Things {
		r.log.Things[i].Reason = r.items[t.Target]
	}
	return r.log, err
}

// reader reads a log.
type reader struct {
	Wanted
	log    Log
	items  map[string]string       // their reasons
	writes map[string][]undo.Write // of the documents that are seen; none of those that are not listed
	at     map[string]int          // where a document is listed among the things
	wanted map[string]bool
	told   map[string]int // records, by target
	stayed map[string]int // of these, deletions that were not made
}

// objectOr returns what [undo.Record.Stayed] names as a thing's target.
func (r *reader) objectOr(stayed string) string {
	if name, isObject := strings.CutPrefix(stayed, undo.StayedObject); isObject {
		return "gs://" + r.Bucket + "/" + name
	}
	return stayed
}

// leaveOut leaves out what stayed: that was to be deleted, and nothing else was done to it.
func (r *reader) leaveOut() {
	stays := func(target string) bool { return r.stayed[target] > 0 && r.stayed[target] >= r.told[target] }
	without(&r.log.Items, &r.log.ItemsTotal, func(i Item) bool { return stays(i.Target) })
	without(&r.log.Writes, &r.log.WritesTotal, func(w Write) bool { return stays(w.Path) || stays("account "+w.Path) })
	without(&r.log.Things, &r.log.ThingsTotal, func(t Thing) bool { return stays(t.Target) })
}

func without[T any](list *[]T, total *int, stays func(T) bool) {
	all := len(*list)
	*list = slices.DeleteFunc(*list, stays)
	*total -= all - len(*list)
}

// add adds what a record says was written.
func (r *reader) add(record undo.Record) {
	switch {
	case record.Write != nil:
		r.told[record.Write.Path]++
		w := Write{Op: string(record.Write.Op), Path: record.Write.Path, Sent: record.Write.Sent}
		if record.Write.Op == documents.Update {
			w.Fields = record.Write.Wrote()
		}
		r.write(w)
		r.document(*record.Write)
	case record.Object != nil:
		w := Write{Op: "delete object", Path: "gs://" + r.Bucket + "/" + record.Object.Name}
		if record.Object.Folder {
			w.Op = "delete objects below"
		}
		if record.Object.Generation != 0 {
			w.Generation = strconv.FormatInt(record.Object.Generation, 10)
		}
		r.write(w)
		r.told[w.Path]++
		r.thing(Thing{Target: w.Path, What: "deleted"})
	case record.Account != nil:
		r.write(Write{Op: "delete account", Path: record.Account.UID})
		r.told["account "+record.Account.UID]++
		r.thing(Thing{Target: "account " + record.Account.UID, What: "deleted", Known: record.Account.Data})
	}
}

func (r *reader) write(w Write) {
	if _, isItem := r.items[w.Path]; !isItem || !strings.HasPrefix(w.Op, string(documents.Delete)) {
		add(&r.log.Writes, &r.log.WritesTotal, r.Most, w)
	}
}

func (r *reader) thing(t Thing) bool {
	return (len(r.wanted) == 0 || r.wanted[t.Target]) && add(&r.log.Things, &r.log.ThingsTotal, r.Most, t)
}

// document adds a write to what the writes of its document come to.
func (r *reader) document(w undo.Write) {
	if _, seen := r.writes[w.Path]; !seen {
		r.writes[w.Path] = nil
		if at := len(r.log.Things); r.thing(Thing{Target: w.Path}) {
			r.at[w.Path] = at
		}
	}
	if _, listed := r.at[w.Path]; listed {
		r.writes[w.Path] = append(r.writes[w.Path], w)
	}
}
