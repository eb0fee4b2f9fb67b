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
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/tasks"
	"github.com/firesweep/firesweep/shared/usage"
)

// original is the algorithm of the document that a job comes from, as that document's code has it, with Google's plain clients:
// one item after the other, nothing kept to take it back, no look before a deletion, no report. Where a document is about a SQL
// database, a statement about many rows is a query and a write for each, for Firestore has no other.
type original func(ctx context.Context, g plain, n int) (looked, done int, err error)

// plain are Google's clients.
type plain struct {
	db     *gofirestore.Client
	bucket *storage.BucketHandle
	auth   *auth.Client
	tasks  tasks.Writer
	now    time.Time
}

// runOriginal runs an original's algorithm in place of the job.
func runOriginal(ctx context.Context, o order, run original) (_ *report.Report, err error) {
	var g plain
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
	app, err := firebase.NewApp(ctx, &firebase.Config{ProjectID: o.Google.Project})
	if err != nil {
		return nil, err
	}
	if g.auth, err = app.Auth(ctx); err != nil {
		return nil, err
	}
	g.db, g.bucket, g.tasks, g.now = d.Firestore(), b.Handle(), t.Writer(), o.Now
	meter := new(usage.Meter)
	looked, done, err := run(usage.NewContext(ctx, meter), g, o.Items)
	return &report.Report{
		Job: o.Job, RunID: "original", Status: report.Completed, Scanned: looked, Usage: meter.Usage(),
		Actions: map[string]report.Counts{"all": {Planned: done, Done: done}},
	}, err
}

// originalMedia asks for the post of each object, and deletes the object if there is none.
func originalMedia(ctx context.Context, g plain, _ int) (looked, deleted int, err error) {
	files := g.bucket.Objects(ctx, &storage.Query{Prefix: "posts/"})
	for {
		file, err := files.Next()
		if errors.Is(err, iterator.Done) {
			return looked, deleted, nil
		}
		if err != nil {
			return looked, deleted, fmt.Errorf("list: %w", err)
		}
		looked++
		_, err = g.db.Collection("posts").Doc(file.Metadata["postId"]).Get(ctx)
		switch {
		case status.Code(err) == codes.NotFound:
			if err := g.bucket.Object(file.Name).Delete(ctx); err != nil {
				return looked, deleted, fmt.Errorf("delete: %w", err)
			}
			deleted++
		case err != nil:
			return looked, deleted, fmt.Errorf("read a post: %w", err)
		}
	}
}

// originalReports reads what is due whole, one status after the other, and deletes it in one commit.
func originalReports(ctx context.Context, g plain, _ int) (looked, deleted int, err error) {
	before := g.now.AddDate(0, -1, 0)
	var due []*gofirestore.DocumentSnapshot
	for _, is := range []string{"reviewed", "dismissed"} {
		found, err := g.db.Collection("reports").Where("status", "==", is).Where("createdAt", "<", before).Documents(ctx).GetAll()
		if err != nil {
			return 0, 0, fmt.Errorf("query: %w", err)
		}
		due = append(due, found...)
	}
	return len(due), len(due), g.deleteAll(ctx, due...)
}
