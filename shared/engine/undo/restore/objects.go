package restore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/storage"
	"golang.org/x/sync/errgroup"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/objects"
)

// objectsAtOnce is how many objects are looked for side by side, and how many are restored.
const objectsAtOnce = 16

const uploadedAgain = "somebody has uploaded it again since"

// objects takes back the deletion of objects. at is when the log says that they were to be deleted.
func (u *undoing) objects(ctx context.Context, all []undo.Object, at time.Time) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(objectsAtOnce)
	for _, o := range all {
		g.Go(func() error {
			switch {
			case u.Bucket == nil:
				return u.tell(Outcome{Target: o.Name, Step: undo.Conflict, Why: "no bucket was named to restore it in"})
			case o.Generation != 0:
				return u.generation(ctx, o, at)
			default:
				return u.liveAt(ctx, o, at)
			}
		})
	}
	return g.Wait()
}

// generation takes back the deletion of a generation of an object.
func (u *undoing) generation(ctx context.Context, o undo.Object, at time.Time) error {
	if !u.chosen(u.objectTarget(o.Name)) {
		return nil
	}
	generation := u.Bucket.Object(o.Name).Generation(o.Generation)
	attrs, err := generation.SoftDeleted().Attrs(ctx)
	if errors.Is(err, storage.ErrObjectNotExist) {
		attrs, err = generation.Attrs(ctx) // noncurrent, in a bucket with versioning
	}
	switch {
	case errors.Is(err, storage.ErrObjectNotExist) || err == nil && gone(attrs).IsZero():
		return u.missing(ctx, o, at)
	case err != nil:
		return fmt.Errorf("look for deleted object %s: %w", o.Name, err)
	case gone(attrs).Before(at.Add(-undo.ClocksApart)): // somebody else deleted or overwrote it, before the run was to
		return u.tell(Outcome{Target: u.objectTarget(o.Name), Step: undo.Nothing})
	}
	return u.restore(ctx, attrs)
}

// gone returns when an object was no longer live: when it became noncurrent, in a bucket with versioning, or soft-deleted. It is zero
// of one that is live.
func gone(attrs *storage.ObjectAttrs) time.Time {
	if !attrs.Deleted.IsZero() {
		return attrs.Deleted
	}
	return attrs.SoftDeleteTime
}

// liveAt takes back the deletion of an object, or of the objects of a folder, without knowing their generations: of each name, the
// last that was made by that moment, or until an earlier one, and has been deleted since. What the run kept, by the same comparisons,
// is none of these.
func (u *undoing) liveAt(ctx context.Context, o undo.Object, at time.Time) error {
	last, until := map[string]*storage.ObjectAttrs{}, at
	var told []string // names: of what somebody else had deleted, and of what comes back
	if o.Until != 0 {
		until = time.UnixMicro(o.Until)
	}
	// In a bucket with versioning, a deleted object is noncurrent.
	for _, q := range []*storage.Query{{Prefix: o.Name, SoftDeleted: true}, {Prefix: o.Name, Versions: true}} {
		for it := u.Bucket.Objects(ctx, q); ; {
			attrs, err := it.Next()
			if errors.Is(err, iterator.Done) || err == nil && !o.Folder && attrs.Name != o.Name { // which begins like it, and so comes after it
				break
			}
			if err == nil && u.Apply {
				err = u.stillOurs(ctx) // there may be very many
			}
			if err != nil {
				return fmt.Errorf("list deleted objects of %s: %w", o.Name, err)
			}
			switch other := last[attrs.Name]; {
			case gone(attrs).IsZero(), attrs.Created.After(until):
			case gone(attrs).Before(at.Add(-undo.ClocksApart)):
				told = append(told, attrs.Name)
			case other == nil || other.Generation < attrs.Generation: // or was overwritten right before
				last[attrs.Name] = attrs
			}
		}
	}
	switch {
	case len(last) == 0 && !o.Folder:
		return u.missing(ctx, o, at)
	case len(last) == 0:
		if err := u.emptyFolder(o, at); err != nil {
			return err
		}
	}
	told = slices.AppendSeq(told, maps.Keys(last))
	for _, target := range u.Only { // in the folder, perhaps
		name, below := strings.CutPrefix(target, u.objectTarget(o.Name))
		named := func(name string) bool { return covers(target, u.objectTarget(name)) }
		if name = o.Name + name; !o.Folder || !below || name == o.Name || slices.ContainsFunc(told, named) {
			continue
		}
		if err := u.missing(ctx, undo.Object{ObjectDeletion: cleanup.ObjectDeletion{Name: name}}, at); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx) // of a folder, which may hold many
	g.SetLimit(objectsAtOnce)
	for _, attrs := range last {
		if decide.KeepsObject(o.ObjectDeletion, objects.Object{Metadata: attrs.Metadata}, until) != "" {
			continue
		}
		g.Go(func() error { return u.restore(ctx, attrs) })
	}
	return g.Wait()
}

// emptyFolder warns once if the bucket does not keep what was deleted at that moment: a folder of which it has nothing may have held
// something.
func (u *undoing) emptyFolder(o undo.Object, at time.Time) error {
	target := u.objectTarget(o.Name)
	if !u.chosen(target) {
		return nil
	}
	attrs, err := u.attrs()
	if err != nil && !objects.Denied(err) {
		return fmt.Errorf("look how long bucket %s keeps what is deleted: %w", u.Bucket.BucketName(), err)
	}
	if err == nil {
		soft := attrs.SoftDeletePolicy
		if attrs.VersioningEnabled && !slices.ContainsFunc(attrs.Lifecycle.Rules, func(r storage.LifecycleRule) bool { return u.deletes(r, at) }) ||
			soft != nil && !soft.EffectiveTime.After(at) && u.Clock().Before(at.Add(soft.RetentionDuration)) {
			return nil // it was empty
		}
	}
	u.emptied.Do(func() {
		u.warn(fmt.Sprintf("bucket %s does not keep what was deleted on %s, or you may not see that, which needs storage.buckets.get: the "+
			"files of %s, and of other folders, are lost if there were any", u.Bucket.BucketName(), at.UTC().Format(time.DateOnly), target))
	})
	return nil
}

// deletes reports whether a rule of the bucket's can have deleted by now what became noncurrent at that moment, and of which there are no
// newer versions.
func (u *undoing) deletes(r storage.LifecycleRule, at time.Time) bool {
	return r.Action.Type == storage.DeleteAction && r.Condition.Liveness != storage.Live && r.Condition.NumNewerVersions == 0 &&
		!u.Clock().Before(at.AddDate(0, 0, int(r.Condition.DaysSinceNoncurrentTime)))
}

// missing is the error for an object that is not among the deleted ones.
func (u *undoing) missing(ctx context.Context, o undo.Object, at time.Time) error {
	target := u.objectTarget(o.Name)
	if !u.chosen(target) {
		return nil
	}
	live, err := u.Bucket.Object(o.Name).Attrs(ctx)
	switch {
	case err == nil && (live.Generation == o.Generation || o.Generation == 0 && !live.Created.After(at)): // it was never deleted
		return u.tell(Outcome{Target: target, Step: undo.Nothing})
	case err == nil:
		return u.tell(Outcome{Target: target, Step: undo.Conflict, Why: uploadedAgain})
	case errors.Is(err, storage.ErrObjectNotExist):
		return u.tell(Outcome{Target: target, Step: undo.Lost, Why: "it is not among the bucket's soft-deleted objects and " +
			"versions: it never existed, or the bucket kept it no longer"})
	}
	return fmt.Errorf("look for object %s: %w", o.Name, err)
}

// restore brings a deleted object back, unless there is one of its name.
func (u *undoing) restore(ctx context.Context, attrs *storage.ObjectAttrs) error {
	target := u.objectTarget(attrs.Name)
	if !u.chosen(target) {
		return nil
	}
	if err := u.restoring.Acquire(ctx, 1); err != nil {
		return err
	}
	defer u.restoring.Release(1)
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
	outcome.Target = target
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

// refusesOne reports whether Cloud Storage refuses to restore an object because of itself, such as for the key that it is encrypted
// with, and others may come back.
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
