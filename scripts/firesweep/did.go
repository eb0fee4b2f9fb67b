package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

// did is what a run did, by its undo log: in the order in which it was done, and perhaps only the first of it. docs/command.md
// documents it as JSON.
type did struct {
	Items       []didItem  `json:"items"`
	ItemsTotal  int        `json:"itemsTotal"`
	Writes      []didWrite `json:"writes"` // besides the deletions of the items themselves
	WritesTotal int        `json:"writesTotal"`
}

// didItem is an item that a run judged.
type didItem struct {
	Target string `json:"target"`
	Action string `json:"action"`
	Reason string `json:"reason"`
}

// didWrite is a write, with the names of fields and without their values.
type didWrite struct {
	Op         string   `json:"op"`
	Path       string   `json:"path"`
	Fields     []string `json:"fields,omitempty"`     // names, of an update
	Generation string   `json:"generation,omitempty"` // of an object
	Sent       bool     `json:"sent,omitempty"`       // it told somebody something, so undo leaves it
}

// logged is a record of an undo log.
type logged struct {
	undo.Record
	of     string   // the item that it belongs to; empty: none
	fields []string // that an update wrote
}

// names leaves nothing of a document but the names of its fields, which takes little room.
func (l *logged) names() {
	if w := l.Write; w != nil {
		l.Write = &undo.Write{Op: w.Op, Path: w.Path, Found: w.Found, Sent: w.Sent}
	}
}

// readLog returns the records of what a run did, and each item once, though it may have taken several commits. Each is handed to cut as
// it is read, which may make it smaller, or empty. The error is [restore.ErrNoLog] if the run has none.
func readLog(ctx context.Context, p restore.Project, runID string, at *far, cut func(*logged)) (log []logged, err error) {
	items := map[string]bool{}
	err = p.Contents(ctx, runID, func(done, total int, records []undo.Record) error {
		at.set("reading what "+runID+" did", done, total)
		for i, r := range records {
			l := logged{Record: r, of: undo.ItemOf(records, i)}
			if r.Write != nil && r.Write.Op == documents.Update {
				l.fields = r.Write.Wrote()
			}
			if cut(&l); !items[l.Item] && l.Record != (undo.Record{}) {
				log = append(log, l)
			}
			if l.Item != "" {
				items[l.Item] = true
			}
		}
		return nil
	})
	return log, err
}

// logOf is [readLog] of a run of a job. It returns nothing if the run has no log.
func (a *app) logOf(ctx context.Context, job manifest.Entry, runID string, cut func(*logged)) (log []logged, err error) {
	var at far
	defer a.progress(ctx, at.now)()
	err = a.on(ctx, job, func(p restore.Project) (err error) {
		log, err = readLog(ctx, p, runID, &at, cut)
		return err
	}, config.Firestore)
	if errors.Is(err, restore.ErrNoLog) {
		return nil, nil
	}
	return log, err
}

// didOf lists what records tell of, at most so much of each.
func didOf(log []logged, bucket string, most int) *did {
	d := &did{Items: []didItem{}, Writes: []didWrite{}}
	for _, l := range log {
		switch {
		case l.Item != "":
			d.Items = append(d.Items, didItem{l.Item, l.Action, l.Reason})
		case l.of != l.Target(bucket) || l.Write != nil && l.Write.Op != documents.Delete: // and not the deletion of an item itself
			d.Writes = append(d.Writes, l.write(bucket))
		}
	}
	d.ItemsTotal, d.WritesTotal = len(d.Items), len(d.Writes)
	d.Items, d.Writes = d.Items[:min(most, len(d.Items))], d.Writes[:min(most, len(d.Writes))]
	return d
}

func (l logged) write(bucket string) didWrite {
	switch {
	case l.Write != nil:
		return didWrite{Op: string(l.Write.Op), Path: l.Write.Path, Fields: l.fields, Sent: l.Write.Sent}
	case l.Account != nil:
		return didWrite{Op: "delete account", Path: l.Account.UID}
	}
	return didWrite{Op: "delete object", Path: l.Target(bucket), Generation: strconv.FormatInt(l.Object.Generation, 10)}
}

// thingsOf returns what records come to for each document, object and account.
func thingsOf(log []logged, bucket string) []undo.Thing {
	records := make([]undo.Record, len(log))
	for i, l := range log {
		records[i] = l.Record
	}
	return undo.Things(records, bucket)
}
