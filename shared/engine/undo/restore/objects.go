package restore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"cloud.google.com/go/storage"
	"golang.org/x/sync/errgroup"
	"google.golang.org/api/googleapi"

	"github.com/firesweep/firesweep/shared/engine/undo"
)

// objectsAtOnce is how many objects are looked for, and restored, side by side.
const objectsAtOnce = 16

const uploadedAgain = "somebody has uploaded it again since"

// objects takes back the deletion of objects. at is when the log says that they were to be deleted.
func (u *undoing) objects(ctx context.Context, all []undo.Object, at time.Time) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(objectsAtOnce)
	for _, o := range all {
		g.Go(func() error {
			if u.Bucket == nil {
				return u.tell(Outcome{Target: o.Name, Step: undo.Conflict, Why: "no bucket was named to restore it in"})
			}
			return u.generation(ctx, o, at)
		})
	}
	return g.Wait()
}

// generation takes back the deletion of a generation of an object.
func (u *undoing) generation(ctx context.Context, o undo.Object, at time.Time) error {
	generation := u.Bucket.Object(o.Name).Generation(o.Generation)
	attrs, err := generation.SoftDeleted().Attrs(ctx)
	if errors.Is(err, storage.ErrObjectNotExist) {
		attrs, err = generation.Attrs(ctx) // noncurrent, in a bucket with versioning
	}
	switch {
	case errors.Is(err, storage.ErrObjectNotExist) || err == nil && gone(attrs).IsZero():
		return u.missing(ctx, o)
	case err != nil:
		return fmt.Errorf("look for deleted object %s: %w", o.Name, err)
	case gone(attrs).Before(at.Add(-undo.ClocksApart)): // somebody else deleted or overwrote it, before the run was to
		return u.tell(Outcome{Target: u.objectTarget(o.Name), Step: undo.Nothing})
	}
	return u.restore(ctx, attrs)
}

// gone returns when an object was no longer live: when it became noncurrent, in a bucket with versioning, or soft-deleted. It
// is zero of one that is live.
func gone(attrs *storage.ObjectAttrs) time.Time {
	if !attrs.Deleted.IsZero() {
		return attrs.Deleted
	}
	return attrs.SoftDeleteTime
}

// missing is the error for an object that is not among the deleted ones.
func (u *undoing) missing(ctx context.Context, o undo.Object) error {
	target := u.objectTarget(o.Name)
	live, err := u.Bucket.Object(o.Name).Attrs(ctx)
	switch {
	case err == nil && live.Generation == o.Generation: // it was never deleted
		return u.tell(Outcome{Target: target, Step: undo.Nothing})
	case err == nil:
		return u.tell(Outcome{Target: target, Step: undo.Conflict, Why: uploadedAgain})
	case errors.Is(err, storage.ErrObjectNotExist):
		return u.tell(Outcome{Target: target, Step: undo.Lost, Why: "it is not among the bucket's soft-deleted objects and " +
			"versions: the bucket did not keep it, or not as long"})
	}
	return fmt.Errorf("look for object %s: %w", o.Name, err)
}

// restore brings a deleted object back, unless there is one of its name.
func (u *undoing) restore(ctx context.Context, attrs *storage.ObjectAttrs) error {
	outcome, err := u.restored(ctx, attrs)
	if refusal, is := errors.AsType[*googleapi.Error](err); is && refusal.Code == http.StatusPreconditionFailed {
		// There is one of its name meanwhile.
		if outcome, err = u.restored(ctx, attrs); err == nil && outcome.Step == undo.Nothing {
			outcome.Step = undo.Recreate // by this undo: the answer to that was lost
		}
	}
	if err != nil {
		return err
	}
	outcome.Target = u.objectTarget(attrs.Name)
	return u.tell(outcome)
}

// restored brings a deleted object back if it is not, and says what came of it.
func (u *undoing) restored(ctx context.Context, attrs *storage.ObjectAttrs) (Outcome, error) {
	object := u.Bucket.Object(attrs.Name)
	live, err := object.Attrs(ctx)
	switch {
	case err == nil && live.Size == attrs.Size && live.CRC32C == attrs.CRC32C && live.Created.After(gone(attrs)): // composed ones have no MD5
		return Outcome{Step: undo.Nothing}, nil // this very content is back
	case err == nil:
		return Outcome{Step: undo.Conflict, Why: uploadedAgain}, nil
	case !errors.Is(err, storage.ErrObjectNotExist):
		return Outcome{}, fmt.Errorf("look for object %s: %w", attrs.Name, err)
	}
	u.filesBack.Do(func() { u.warn("files come back with the bucket's default access, not with access lists of their own") })
	if !u.Apply {
		return Outcome{Step: undo.Recreate}, nil
	}
	if err := u.stillOurs(ctx); err != nil {
		return Outcome{}, err
	}
	missing := storage.Conditions{DoesNotExist: true}
	if attrs.SoftDeleteTime.IsZero() { // noncurrent
		_, err = object.If(missing).CopierFrom(object.Generation(attrs.Generation)).Run(ctx)
	} else {
		_, err = object.Generation(attrs.Generation).If(missing).Restore(ctx, &storage.RestoreOptions{})
	}
	switch refusal, is := errors.AsType[*googleapi.Error](err); {
	case is && refusesOne(refusal):
		return Outcome{Step: undo.Lost, Why: "Cloud Storage refuses to restore it: " + refusal.Error()}, nil
	case err != nil:
		return Outcome{}, fmt.Errorf("restore object %s: %w", attrs.Name, err)
	}
	return Outcome{Step: undo.Recreate}, nil
}

// refusesOne reports whether Cloud Storage refuses to restore an object because of itself, such as for the key that it is
// encrypted with, and others may come back.
func refusesOne(refusal *googleapi.Error) bool {
	switch refusal.Code {
	case http.StatusBadRequest, http.StatusNotFound:
		return true
	case http.StatusForbidden:
		return strings.Contains(refusal.Message, "KMS")
	}
	return false
}

func (u *undoing) objectTarget(name string) string {
	return "gs://" + u.Bucket.BucketName() + "/" + name
}
