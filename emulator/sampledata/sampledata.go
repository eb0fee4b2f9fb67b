// Package sampledata is a small, realistic project to try the cleanups on: what is in it, and what must have become of
// it once every job has run. Each job's part is in the file named after its package.
package sampledata

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"
)

// Document is a document before and after all jobs have run.
type Document struct {
	Path   string
	Before map[string]any // nil: it is not there yet
	After  map[string]any // nil: it must be gone
}

func kept(path string, data map[string]any) Document {
	return Document{Path: path, Before: data, After: data}
}

func deleted(path string, data map[string]any) Document {
	return Document{Path: path, Before: data}
}

// Documents returns the whole sample as it is for a run at now.
func Documents(now time.Time) []Document {
	return slices.Concat(reports(now))
}

// Load writes the sample into an empty database.
func Load(ctx context.Context, db *firestore.Client, now time.Time) (int, error) {
	writer := db.BulkWriter(ctx)
	var jobs []*firestore.BulkWriterJob
	for _, d := range Documents(now) {
		if d.Before == nil {
			continue
		}
		job, err := writer.Set(db.Doc(d.Path), d.Before)
		if err != nil {
			return 0, fmt.Errorf("load %s: %w", d.Path, err)
		}
		jobs = append(jobs, job)
	}
	writer.End()
	for _, job := range jobs {
		if _, err := job.Results(); err != nil {
			return 0, fmt.Errorf("load sample data: %w", err)
		}
	}
	return len(jobs), nil
}

// Read returns every document of the database but the bundle's own records, by path.
func Read(ctx context.Context, db *firestore.Client) (map[string]map[string]any, error) {
	found := map[string]map[string]any{}
	return found, readCollections(ctx, db.Collections(ctx), found)
}

func readCollections(ctx context.Context, collections *firestore.CollectionIterator, found map[string]map[string]any) error {
	for {
		collection, err := collections.Next()
		if errors.Is(err, iterator.Done) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list collections: %w", err)
		}
		if collection.ID == "cleanupJobs" || collection.ID == "cleanupRuns" {
			continue
		}
		documents, err := collection.Documents(ctx).GetAll()
		if err != nil {
			return fmt.Errorf("read %s: %w", collection.ID, err)
		}
		for _, d := range documents {
			_, path, _ := strings.Cut(d.Ref.Path, "/documents/")
			found[path] = d.Data()
			if err := readCollections(ctx, d.Ref.Collections(ctx), found); err != nil {
				return err
			}
		}
	}
}

// Differences compares what is left with what the sample must end as; each line names one document.
func Differences(now time.Time, found map[string]map[string]any) []string {
	var lines []string
	rest := maps.Clone(found)
	for _, d := range Documents(now) {
		got, there := rest[d.Path]
		delete(rest, d.Path)
		switch {
		case d.After == nil && there:
			lines = append(lines, d.Path+" should be gone and is still there")
		case d.After != nil && !there:
			lines = append(lines, d.Path+" should be there and is gone")
		case d.After != nil && !equal(d.After, got):
			lines = append(lines, fmt.Sprintf("%s should hold %v and holds %v", d.Path, d.After, got))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(rest)) {
		lines = append(lines, path+" is there and should not be")
	}
	return lines
}

func equal(want, got map[string]any) bool {
	return maps.EqualFunc(want, got, func(a, b any) bool {
		if t, ok := a.(time.Time); ok {
			u, ok := b.(time.Time)
			return ok && t.Equal(u)
		}
		return fmt.Sprint(a) == fmt.Sprint(b)
	})
}

// Counts returns how many documents each collection holds, subcollections under the name of their parents' collection.
func Counts(paths []string) map[string]int {
	counts := map[string]int{}
	for _, path := range paths {
		var names []string
		for i, part := range strings.Split(path, "/") {
			if i%2 == 0 {
				names = append(names, part)
			}
		}
		counts[strings.Join(names, "/*/")]++
	}
	return counts
}
