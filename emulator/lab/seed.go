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

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/tasks"
	"github.com/firesweep/firesweep/shared/usage"
)

// seed is the algorithm of the document that a job comes from, as that document's code has it, with Google's plain clients:
// one item after the other, nothing kept to take it back, no look before a deletion, no report. Where a document is about a SQL
// database, a statement about many rows is a query and a write for each, for Firestore has no other.
type seed func(ctx context.Context, g plain, n int) (looked, done int, err error)

// plain are Google's clients.
type plain struct {
	db     *gofirestore.Client
	bucket *storage.BucketHandle
	auth   *auth.Client
	tasks  tasks.Writer
	now    time.Time
}

// runSeed runs a seed's algorithm in place of the job.
func runSeed(ctx context.Context, o order, run seed) (*engine.Report, error) {
	d, err := documents.Open(ctx, documents.Database{Project: o.Google.Project, ID: gofirestore.DefaultDatabaseID, EmulatorHost: o.Emulators[backends.FirestoreHost]}, o.dial()...)
	if err != nil {
		return nil, err
	}
	b, err := objects.Open(ctx, objects.Bucket{Name: o.Google.Bucket, EmulatorHost: o.Emulators[backends.FirebaseStorageHost]}, o.transport())
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	queue := tasks.Queue{
		Project: o.Google.Project, Location: "asia-northeast1", ID: "lab", TargetURL: "https://worker.example.com/", ServiceAccount: "lab@example.com",
		EmulatorHost: o.Emulators[backends.TasksHost],
	}
	t, err := tasks.Open(ctx, queue, time.Now, o.dial()...)
	if err != nil {
		return nil, errors.Join(err, d.Close(), b.Close())
	}
	app, err := firebase.NewApp(ctx, &firebase.Config{ProjectID: o.Google.Project})
	if err != nil {
		return nil, err
	}
	users, err := app.Auth(ctx)
	if err != nil {
		return nil, err
	}
	meter := new(usage.Meter)
	looked, done, err := run(usage.NewContext(ctx, meter), plain{d.Firestore(), b.Handle(), users, t.Writer(), o.Now}, o.Items)
	report := &engine.Report{
		Job: o.Job, RunID: "seed", Status: engine.Completed, Scanned: looked, Usage: meter.Usage(),
		Actions: map[string]engine.Counts{"all": {Planned: done, Done: done}},
	}
	return report, errors.Join(err, d.Close(), b.Close(), t.Close())
}

// seedMedia asks for the post of each object, and deletes the object if there is none.
func seedMedia(ctx context.Context, g plain, _ int) (looked, deleted int, err error) {
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

// seedReports reads what is due whole, one status after the other, and deletes it in one commit.
func seedReports(ctx context.Context, g plain, _ int) (looked, deleted int, err error) {
	before := g.now.AddDate(0, -1, 0)
	var due []*gofirestore.DocumentSnapshot
	for _, is := range []string{"reviewed", "dismissed"} {
		found, err := g.db.Collection("reports").Where("status", "==", is).Where("createdAt", "<", before).Documents(ctx).GetAll()
		if err != nil {
			return 0, 0, fmt.Errorf("query: %w", err)
		}
		due = append(due, found...)
	}
	if len(due) == 0 {
		return 0, 0, nil
	}
	err = g.db.RunTransaction(ctx, func(_ context.Context, tx *gofirestore.Transaction) error {
		for _, d := range due {
			if err := tx.Delete(d.Ref); err != nil {
				return err
			}
		}
		return nil
	})
	return len(due), len(due), err
}
