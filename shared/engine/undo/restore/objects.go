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

	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// objectsAtOnce is how many objects are looked for, and restored, side by side.
const objectsAtOnce = 16

const uploadedAgain = "somebody has uploaded it again since: move it away, then run undo once more"

// objects takes back the deletion of objects.
func (u *undoing) objects(ctx context.Context, all []besides) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(objectsAtOnce)
	for _, b := range all {
		g.Go(func() error {
			outcome, err := u.object(ctx, *b.Object, b.at)
			if outcome.Target = u.targetOf(b.Record); err != nil {
				return fmt.Errorf("restore %s: %w", outcome.Target, err)
			}
			return u.tell(outcome)
		})
	}
	return g.Wait()
}

// object takes back the deletion of a generation of an object, and says what came of it. at is when the log says that it was to
// be deleted.
func (u *undoing) object(ctx context.Context, o undo.Object, at time.Time) (Outcome, error) {
	deleted, err := u.deleted(ctx, o)
	if err != nil {
		return Outcome{}, err
	}
	outcome, err := u.foreseenObject(ctx, o, deleted, at)
	if err != nil || outcome.Step != undo.Recreate || !u.Apply {
		return outcome, err
	}
	for range mostRestores {
		err = u.restore(ctx, deleted)
		switch refusal, is := errors.AsType[*googleapi.Error](err); {
		case is && refusesOne(refusal):
			return Outcome{Step: undo.Lost, Why: "Cloud Storage refuses to restore it: " + refusal.Error()}, nil
		case !is || refusal.Code != http.StatusPreconditionFailed:
			return outcome, err
		}
		now, err := u.foreseenObject(ctx, o, deleted, at) // there was one of its name
		switch {
		case err != nil:
			return Outcome{}, err
		case now.Step == undo.Nothing: // by this undo: the answer to that was lost
			return outcome, nil
		case now.Step != undo.Recreate:
			return now, nil
		}
	}
	return Outcome{Step: undo.Conflict, Why: uploadedAgain}, nil
}

// mostRestores is how often an object is restored while others of its name come and go.
const mostRestores = 3

// deleted returns what is kept of a generation that was deleted or overwritten; nil if nothing is.
func (u *undoing) deleted(ctx context.Context, o undo.Object) (*storage.ObjectAttrs, error) {
	generation := u.Bucket.Object(o.Name).Generation(o.Generation)
	attrs, err := generation.SoftDeleted().Attrs(ctx)
	if errors.Is(err, storage.ErrObjectNotExist) {
		attrs, err = generation.Attrs(ctx) // noncurrent, in a bucket with versioning
	}
	switch {
	case errors.Is(err, storage.ErrObjectNotExist):
		attrs, err = nil, nil
	case err == nil && gone(attrs).IsZero():
		attrs = nil
	}
	return attrs, err
}

// gone returns when an object was no longer live: when it became noncurrent, in a bucket with versioning, or soft-deleted. It
// is zero of one that is live.
func gone(attrs *storage.ObjectAttrs) time.Time {
	if !attrs.Deleted.IsZero() {
		return attrs.Deleted
	}
	return attrs.SoftDeleteTime
}

// foreseenObject says what is to be done about an object of which this is kept, as things are now.
func (u *undoing) foreseenObject(ctx context.Context, o undo.Object, kept *storage.ObjectAttrs, at time.Time) (Outcome, error) {
	live, err := u.Bucket.Object(o.Name).Attrs(ctx)
	there := err == nil
	switch {
	case err != nil && !errors.Is(err, storage.ErrObjectNotExist):
		return Outcome{}, err
	case there && live.Generation == o.Generation: // it was never deleted
		return Outcome{Step: undo.Nothing}, nil
	case kept != nil && notBy(at, gone(kept)):
		return Outcome{Step: undo.Nothing}, nil
	case there && kept != nil && live.Size == kept.Size && live.CRC32C == kept.CRC32C && live.Created.After(gone(kept)):
		return Outcome{Step: undo.Nothing}, nil // this very content is back; composed ones have no MD5
	case there:
		return Outcome{Step: undo.Conflict, Why: uploadedAgain}, nil
	case kept == nil:
		return Outcome{Step: undo.Lost, Why: "it is not among the bucket's soft-deleted objects and versions: " +
			"the bucket did not keep it, or not as long"}, nil
	}
	return Outcome{Step: undo.Recreate}, nil
}

// notBy reports whether somebody else than a run deleted or overwrote an object: before the run was to, or so late that no run
// was still at it.
func notBy(at, deleted time.Time) bool {
	return deleted.Before(at.Add(-undo.ClocksApart)) || deleted.After(at.Add(jobstate.Longest+undo.ClocksApart))
}

// restore brings a deleted object back, unless there is one of its name.
func (u *undoing) restore(ctx context.Context, deleted *storage.ObjectAttrs) error {
	if err := u.stillOurs(ctx); err != nil {
		return err
	}
	object, missing := u.Bucket.Object(deleted.Name), storage.Conditions{DoesNotExist: true}
	var err error
	if deleted.SoftDeleteTime.IsZero() { // noncurrent
		_, err = object.If(missing).CopierFrom(object.Generation(deleted.Generation)).Run(ctx)
	} else {
		_, err = object.Generation(deleted.Generation).If(missing).Restore(ctx, &storage.RestoreOptions{})
	}
	return err
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
