package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	gofirestore "cloud.google.com/go/firestore"
	"cloud.google.com/go/storage"
	firebase "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/emulator/each"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/tasks"
	"github.com/firesweep/firesweep/shared/usage"
)

// original is the algorithm of the document that a job comes from, as that document's code has it, with Google's plain clients:
// one item after the other, nothing kept to take it back, no look before a deletion, no report. Where a document is about a SQL
// database, a statement about many rows is a query and a write for each, for Firestore has no other.
type original func(ctx context.Context, g *plain) error

// plain are Google's clients, and what was done with them.
type plain struct {
	db     *gofirestore.Client
	bucket *storage.BucketHandle
	auth   *auth.Client
	tasks  tasks.Writer
	now    time.Time
	n      int // items that there are

	looked, done int
}

type snapshot = *gofirestore.DocumentSnapshot

// runOriginal runs an original's algorithm in place of the job.
func runOriginal(ctx context.Context, o order, run original) (_ *report.Report, err error) {
	var opened []func() error
	defer func() {
		for _, end := range opened {
			err = errors.Join(err, end())
		}
	}()
	database := documents.Database{Project: o.Google.Project, ID: gofirestore.DefaultDatabaseID}
	d, err := documents.Open(ctx, database, o.Google.Dial()...)
	if err != nil {
		return nil, err
	}
	opened = append(opened, d.Close)
	b, err := objects.Open(ctx, objects.Bucket{Name: o.Google.Bucket}, o.Google.Transport)
	if err != nil {
		return nil, err
	}
	opened = append(opened, b.Close)
	t, err := tasks.Open(ctx, tasks.Queue{
		Project: o.Google.Project, Location: "asia-northeast1", ID: "lab",
		TargetURL: "https://worker.example.com/", ServiceAccount: "lab@example.com",
	}, time.Now, o.Google.Dial()...)
	if err != nil {
		return nil, err
	}
	opened = append(opened, t.Close)
	g := &plain{db: d.Firestore(), bucket: b.Handle(), tasks: t.Writer(), now: o.Now.UTC(), n: o.Items}
	app, err := firebase.NewApp(ctx, &firebase.Config{ProjectID: o.Google.Project})
	if err == nil {
		g.auth, err = app.Auth(ctx)
	}
	if err != nil {
		return nil, err
	}
	meter := new(usage.Meter)
	err = run(usage.NewContext(ctx, meter), g)
	return &report.Report{
		Job: o.Job, RunID: "original", Status: report.Completed, Scanned: g.looked, Usage: meter.Usage(),
		Actions: map[string]report.Counts{"all": {Planned: g.done, Done: g.done}},
	}, err
}

// all reads what a query finds.
func (g *plain) all(ctx context.Context, q gofirestore.Query) ([]snapshot, error) {
	found, err := q.Documents(ctx).GetAll()
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	g.looked += len(found)
	return found, nil
}

// each reads what a query finds, and does something with one after the other; did says whether it was due.
func (g *plain) each(ctx context.Context, q gofirestore.Query, do func(d snapshot) (did bool, err error)) error {
	found, err := g.all(ctx, q)
	for _, d := range found {
		did, err := do(d)
		if err != nil {
			return err
		}
		if did {
			g.done++
		}
	}
	return err
}

// eachFile does something with one object after the other.
func (g *plain) eachFile(ctx context.Context, prefix string, do func(file *storage.ObjectAttrs) error) error {
	for file, err := range each.Of(g.bucket.Objects(ctx, &storage.Query{Prefix: prefix})) {
		if err == nil {
			err = do(file)
		}
		if err != nil {
			return fmt.Errorf("the files of %s: %w", prefix, err)
		}
	}
	return nil
}

// add makes a document with an id of its own.
func (g *plain) add(ctx context.Context, collection string, fields map[string]any) error {
	_, err := g.db.Collection(collection).NewDoc().Set(ctx, fields)
	return err
}

// change changes fields of a document.
func change(ctx context.Context, d snapshot, fields map[string]any) error {
	var updates []gofirestore.Update
	for path, value := range fields {
		updates = append(updates, gofirestore.Update{Path: path, Value: value})
	}
	_, err := d.Ref.Update(ctx, updates)
	return err
}

// deleteAll deletes documents in one commit.
func (g *plain) deleteAll(ctx context.Context, found ...snapshot) error {
	return g.db.RunTransaction(ctx, func(_ context.Context, tx *gofirestore.Transaction) error {
		for _, d := range found {
			if err := tx.Delete(d.Ref); err != nil {
				return err
			}
		}
		return nil
	})
}
