package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

// listed is how many items and writes of a run are shown without --all.
const listed = 30

// did is what a run did, as its undo log says. docs/command.md documents it as JSON.
type did struct {
	Items      []doneItem  `json:"items"`
	ItemsTotal int         `json:"itemsTotal"`
	Writes     []doneWrite `json:"writes"` // besides the deletions of the items themselves
	WriteTotal int         `json:"writesTotal"`
}

type doneItem struct {
	Target string `json:"target"`
	Action string `json:"action"`
	Reason string `json:"reason"`
}

type doneWrite struct {
	Op         string   `json:"op"`
	Path       string   `json:"path"`
	Fields     []string `json:"fields,omitempty"`     // names, of an update
	Generation string   `json:"generation,omitempty"` // of an object, if it is known
	Sent       bool     `json:"sent,omitempty"`       // it told somebody something, so undo leaves it
}

// whatItDid reads a run's undo log and returns at most that many items and writes; 0 is all. It returns nil if there is no log.
func (a *app) whatItDid(ctx context.Context, job manifest.Entry, runID, bucket string, getenv func(string) string, most int,
) (*did, error) {
	cfg, err := settings(job, getenv, config.Firestore)
	if err != nil {
		return nil, err
	}
	p, closeAll, err := a.hooks.Open(ctx, cfg, []config.Backend{config.Firestore}, a.clock)
	if err != nil {
		return nil, err
	}
	defer func() { _ = closeAll() }() // all has been read
	var far share
	stop := a.progress(ctx, func(passed time.Duration) string { return "reading what it did" + far.estimate(passed) })
	defer stop()
	d := &did{Items: []doneItem{}, Writes: []doneWrite{}}
	seen := map[string]bool{}
	err = p.Contents(ctx, runID, func(done, total int, records []undo.Record) error {
		far.set(done, total)
		d.add(records, seen, bucket, most)
		return nil
	})
	if errors.Is(err, restore.ErrNoLog) {
		return nil, nil
	}
	return d, err
}

// add adds an entry's records. seen are the items of earlier entries: an item that takes several commits is in several.
func (d *did) add(records []undo.Record, seen map[string]bool, bucket string, most int) {
	for _, r := range records {
		if r.Item == "" || seen[r.Item] {
			continue
		}
		seen[r.Item] = true
		if d.ItemsTotal++; most == 0 || len(d.Items) < most {
			d.Items = append(d.Items, doneItem{Target: r.Item, Action: r.Action, Reason: r.Reason})
		}
	}
	for _, r := range records {
		w := doneWriteOf(r, bucket)
		if w.Op == "" || seen[w.Path] && strings.HasPrefix(w.Op, string(documents.Delete)) {
			continue
		}
		if d.WriteTotal++; most == 0 || len(d.Writes) < most {
			d.Writes = append(d.Writes, w)
		}
	}
}

// doneWriteOf returns the write that a record tells of, with the names of fields and without their values.
func doneWriteOf(r undo.Record, bucket string) doneWrite {
	switch {
	case r.Write != nil:
		w := doneWrite{Op: string(r.Write.Op), Path: r.Write.Path, Sent: r.Write.Sent}
		if r.Write.Op == documents.Update {
			w.Fields = r.Write.Wrote()
		}
		return w
	case r.Object != nil:
		w := doneWrite{Op: "delete object", Path: "gs://" + bucket + "/" + r.Object.Name}
		if r.Object.Folder {
			w.Op = "delete objects below"
		}
		if r.Object.Generation != 0 {
			w.Generation = strconv.FormatInt(r.Object.Generation, 10)
		}
		return w
	case r.Account != nil:
		return doneWrite{Op: "delete account", Path: r.Account.UID}
	}
	return doneWrite{}
}

// did prints what a run did.
func (p *printer) did(d *did, runID string) {
	p.Line("")
	p.Say(screen.Bold, 2, 0, "What it did, and why:")
	rows := make([]screen.Row, len(d.Items))
	for i, item := range d.Items {
		rows[i] = screen.Row{Cells: []string{item.Action, item.Target}}
		if item.Reason != "" {
			rows[i].Notes = []string{item.Reason}
		}
	}
	p.Table([]screen.Column{{Name: "ACTION", Most: p.Width * 2 / 5}, {Name: "TARGET", Path: true}}, rows)
	p.more(d.ItemsTotal-len(d.Items), "item")
	if len(d.Writes) > 0 {
		p.Line("")
		p.Say(screen.Bold, 2, 0, "What it deleted or wrote for that:")
		rows := make([]screen.Row, len(d.Writes))
		for i, w := range d.Writes {
			path := w.Path
			if w.Generation != "" {
				path += "#" + w.Generation
			}
			rows[i] = screen.Row{Cells: []string{w.Op, path}}
			switch {
			case w.Sent:
				rows[i].Notes = []string{"sent: undo leaves it"}
			case len(w.Fields) > 0:
				rows[i].Notes = []string{"fields: " + strings.Join(w.Fields, ", ")}
			}
		}
		p.Table([]screen.Column{{Name: "WRITE", Most: p.Width * 2 / 5}, {Name: "TARGET", Path: true}}, rows)
		p.more(d.WriteTotal-len(d.Writes), "write")
	}
	p.Line("")
	p.Say("", 2, 2, "See what is still gone or changed, and would come back:")
	p.Command("firesweep undo %s", runID)
}

func (p *printer) more(n int, what string) {
	if n > 0 {
		p.Say("", 2, 2, "and %s more: use --all", plural(n, what))
	}
}

// run prints a run's report and what it did; either may be missing, and none says why there is no report.
func (p *printer) run(run shownRun, runID string, none *noReportError) {
	if run.Report != nil {
		p.report(run.Report)
	} else {
		p.Say(screen.Bold, 0, 2, "%s", runID)
		why := "There is no report of it: it is a worker's, or it is older than 90 days."
		if none.record.Holder != "" {
			why = none.Error()
		}
		p.Say(screen.Yellow, 2, 2, "%s", why)
	}
	switch {
	case run.Did != nil:
		p.did(run.Did, runID)
	case totals(run.Report).Done > 0:
		p.Line("")
		p.Say("", 2, 2, "The undo log has nothing of this run (UNDO_DAYS). The log names what it deleted or changed:")
		p.Command("firesweep show --log %s", runID)
	}
}
