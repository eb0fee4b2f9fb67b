package media

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"
)

// pageSize is how many objects a page of a listing holds: the most that one class A operation gives.
const pageSize = 1000

// ErrChanged says that an object is no longer what was judged, so nothing was done to it.
var ErrChanged = errors.New("changed since it was judged")

// Object is an object as it was listed.
type Object struct {
	Name           string
	Metadata       map[string]string
	Created        time.Time
	Generation     int64 // changes with the content
	Metageneration int64 // changes with the metadata
}

// Reader reads. It has nothing that writes, so that a planner cannot.
type Reader struct{ c *Client }

// Pages lists the objects whose names begin with prefix, in the order of their names, from the name after on (""
// for the beginning), and ends after the last page or the first error. Nothing is left open between two pages.
func (r Reader) Pages(ctx context.Context, prefix, after string) iter.Seq2[[]Object, error] {
	return func(yield func([]Object, error) bool) {
		q := &storage.Query{Prefix: prefix}
		if after != "" {
			q.StartOffset = after + "\x00" // the first name behind it; offsets are inclusive
		}
		err := q.SetAttrSelection([]string{"Name", "Metadata", "Created", "Generation", "Metageneration"})
		if err != nil {
			yield(nil, fmt.Errorf("list %s of bucket %s: %w", prefix, r.c.name, err))
			return
		}
		pager := iterator.NewPager(r.c.bucket.Objects(ctx, q), pageSize, "")
		for {
			var attrs []*storage.ObjectAttrs
			next, err := pager.NextPage(&attrs)
			if err != nil {
				yield(nil, fmt.Errorf("list %s of bucket %s: %w", prefix, r.c.name, err))
				return
			}
			page := make([]Object, 0, len(attrs))
			for _, a := range attrs {
				if a.Name <= after && after != "" {
					continue // the Firebase Emulator Suite knows no offsets
				}
				page = append(page, objectOf(a))
			}
			if len(page) > 0 && !yield(page, nil) || next == "" {
				return
			}
		}
	}
}

// Pace says when writes may be sent.
type Pace interface {
	WaitN(ctx context.Context, n int) error
}

// Writer writes. Only the engine holds one.
type Writer struct {
	Reader
	pace Pace
	// Written, where set, is called with every deletion that took effect, and, as unsure, with one that may have, because
	// the answer was lost.
	Written func(ctx context.Context, d Deletion, unsure bool)
}

// Writer returns the writing side of the bucket; its writes keep to the pace.
func (c *Client) Writer(pace Pace) Writer { return Writer{Reader: c.Reader(), pace: pace} }

// Deletion is an object to delete if its content and its metadata are still as they were when it was listed.
type Deletion struct {
	Name                       string
	Generation, Metageneration int64
}

// Delete deletes an object, or returns [ErrChanged] if it was replaced, given other metadata or deleted since.
// Transient failures are sent again, with backoff.
func (w Writer) Delete(ctx context.Context, d Deletion) error {
	err := w.delete(ctx, d)
	lost := err != nil && (storage.ShouldRetry(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
	if w.Written != nil && (err == nil || lost) {
		w.Written(ctx, d, lost)
	}
	return err
}

func (w Writer) delete(ctx context.Context, d Deletion) error {
	if err := w.pace.WaitN(ctx, 1); err != nil {
		return fmt.Errorf("delete object %s: %w", d.Name, err)
	}
	var attempts int
	err := w.c.bucket.Object(d.Name).
		If(storage.Conditions{GenerationMatch: d.Generation, MetagenerationMatch: d.Metageneration}).
		Retryer(storage.WithErrorFunc(func(err error) bool {
			if err != nil {
				attempts++
			}
			return storage.ShouldRetry(err)
		})).
		Delete(ctx)
	var answer *googleapi.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, storage.ErrObjectNotExist):
		// Generations are never used twice: if an earlier attempt failed without saying so, it was this run that
		// deleted the object.
		if attempts > 1 {
			return nil
		}
		return ErrChanged
	case errors.As(err, &answer) && answer.Code == http.StatusPreconditionFailed:
		return ErrChanged
	default:
		return fmt.Errorf("delete object %s: %w", d.Name, err)
	}
}
