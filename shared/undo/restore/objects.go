package restore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"

	"github.com/firesweep/firesweep/shared/undo"
)

// object takes back the deletion of an object, or of those of a folder. at is when the log says that they were to be deleted: what
// was live then and has been deleted since comes back from the bucket's soft delete.
func (u *undoing) object(ctx context.Context, o undo.Object, at time.Time) error {
	if u.Bucket == nil {
		return u.each(Outcome{Target: o.Name, Step: undo.Conflict, Why: "no bucket was named to restore it in"})
	}
	found := false
	for it := u.Bucket.Objects(ctx, &storage.Query{Prefix: o.Name, SoftDeleted: true}); ; {
		attrs, err := it.Next()
		switch {
		case errors.Is(err, iterator.Done):
			if found || o.Folder {
				return nil
			}
			return u.missing(ctx, o)
		case err != nil:
			return fmt.Errorf("list deleted objects of %s: %w", o.Name, err)
		}
		owner, owned := attrs.Metadata[o.OwnerKey]
		switch {
		case !o.Folder && attrs.Name != o.Name, o.Generation != 0 && attrs.Generation != o.Generation,
			o.Generation == 0 && (attrs.Created.After(at) || attrs.SoftDeleteTime.Before(at)),
			o.OwnerKey != "" && owned && owner != o.Owner:
			continue
		}
		found = true
		if err := u.restore(ctx, attrs); err != nil {
			return err
		}
	}
}

// missing tells of an object that is not among the deleted ones.
func (u *undoing) missing(ctx context.Context, o undo.Object) error {
	target := u.objectTarget(o.Name)
	if !u.chosen(target) {
		return nil
	}
	_, err := u.Bucket.Object(o.Name).Attrs(ctx)
	switch {
	case err == nil: // it was never deleted
		return u.each(Outcome{Target: target, Step: undo.Nothing})
	case errors.Is(err, storage.ErrObjectNotExist):
		return u.each(Outcome{Target: target, Step: undo.Conflict, Why: "it is not among the bucket's soft-deleted objects: it did not exist, or the bucket's retention is over"})
	}
	return fmt.Errorf("look for object %s: %w", o.Name, err)
}

// restore brings a deleted object back, unless there is one of its name. That there is one is looked at again: it may be this one, if
// only the answer was lost.
func (u *undoing) restore(ctx context.Context, attrs *storage.ObjectAttrs) error {
	target := u.objectTarget(attrs.Name)
	if !u.chosen(target) {
		return nil
	}
	object := u.Bucket.Object(attrs.Name)
	for attempt := 1; ; attempt++ {
		live, err := object.Attrs(ctx)
		switch {
		case err == nil && live.MD5 != nil && string(live.MD5) == string(attrs.MD5) && live.Created.After(attrs.SoftDeleteTime):
			return u.each(Outcome{Target: target, Step: undo.Nothing}) // this very content is back
		case err == nil:
			return u.each(Outcome{Target: target, Step: undo.Conflict, Why: "somebody has uploaded it again since"})
		case !errors.Is(err, storage.ErrObjectNotExist):
			return fmt.Errorf("look for object %s: %w", attrs.Name, err)
		}
		if !u.Apply {
			return u.each(Outcome{Target: target, Step: undo.Recreate})
		}
		_, err = object.Generation(attrs.Generation).If(storage.Conditions{DoesNotExist: true}).Restore(ctx, &storage.RestoreOptions{})
		var refusal *googleapi.Error
		switch {
		case err == nil:
			return u.each(Outcome{Target: target, Step: undo.Recreate})
		case attempt == maxAttempts, !errors.As(err, &refusal), refusal.Code != http.StatusPreconditionFailed:
			return fmt.Errorf("restore object %s: %w", attrs.Name, err)
		}
	}
}

func (u *undoing) objectTarget(name string) string {
	return "gs://" + u.Bucket.BucketName() + "/" + name
}
