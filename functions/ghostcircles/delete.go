package ghostcircles

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/leftovers"
	"github.com/firesweep/firesweep/shared/notifications"
	"github.com/firesweep/firesweep/shared/posts"
	"github.com/firesweep/firesweep/shared/sweep"
)

// remover deletes circles.
type remover struct {
	underWay *semaphore.Weighted // the posts being deleted, of all circles
}

var (
	errMorePosts = errors.New("the circle still has posts")
	// errUnclaimed keeps what is left of a circle whose isDeleted somebody has taken back.
	errUnclaimed = fmt.Errorf("its deletion was undone: %w", sweep.ErrChanged)
)

// delete claims a circle and deletes it with all that belongs to it.
func (r remover) delete(path string) sweep.Steps {
	return func(ctx context.Context, w *sweep.Writers) error {
		if err := claim(ctx, w, path); err != nil {
			return err
		}
		return r.finish(path)(ctx, w)
	}
}

// claim judges a circle once more and marks it as deleted, after which it can only be finished, by this run or another,
// or revived by a person. The application shows it no longer.
func claim(ctx context.Context, w *sweep.Writers, path string) error {
	return w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		circle, found, err := tx.Get(path)
		if err != nil {
			return err
		}
		if !found {
			return sweep.ErrChanged
		}
		switch v := judge(circle, w.Now, w.PromiseFrom()); v.outcome {
		case toFinish:
			return nil // an earlier attempt claimed it, and its answer was lost
		case toDelete:
			return tx.Update(path, map[string]any{
				"isDeleted": true, "deletedAt": w.PromiseFrom(), "deletedBy": jobName, "deleteReason": v.reason,
			})
		default:
			return sweep.ErrChanged
		}
	})
}

// finish deletes a claimed circle: its posts, and once there are none, itself and its files.
func (r remover) finish(path string) sweep.Steps {
	return func(ctx context.Context, w *sweep.Writers) error {
		for {
			if err := w.CheckTime(); err != nil {
				return err
			}
			if err := r.deletePosts(ctx, w, path); err != nil {
				return err
			}
			if err := deleteCircle(ctx, w, path); !errors.Is(err, errMorePosts) {
				return err
			}
		}
	}
}

// deletePosts deletes the posts of a claimed circle. One that fails does not stop the others, but is the circle's failure.
func (r remover) deletePosts(ctx context.Context, w *sweep.Writers, path string) error {
	var results postResults
	ofCircle, isOf := documents.Naming("posts", "circleId", idOf(path))
	for page, err := range w.Documents.Pages(ctx, ofCircle, "") {
		if err != nil {
			return err
		}
		var wg sync.WaitGroup
		for _, post := range page.Documents {
			if !isOf(post) {
				continue
			}
			if err := r.underWay.Acquire(ctx, 1); err != nil {
				results.stop(err)
				break
			}
			if results.stopped() {
				r.underWay.Release(1)
				break
			}
			wg.Go(func() {
				defer r.underWay.Release(1)
				results.add(ctx, w, post.Path, deletePost(ctx, w, post.Path, path))
			})
		}
		wg.Wait()
		if results.stopped() {
			break
		}
	}
	return results.err()
}

// deletePost deletes one post; a panic is that post's failure, as it would be an action's.
func deletePost(ctx context.Context, w *sweep.Writers, post, circle string) error {
	return sweep.Guard(func() error {
		if err := w.CheckTime(); err != nil {
			return err
		}
		return posts.Delete(ctx, w, post, stillClaimed(circle))
	})
}

// stillClaimed judges a post in the transaction that deletes it, by the circle as it is then.
func stillClaimed(path string) posts.Judge {
	return func(tx *documents.Transaction, post documents.Document) error {
		if post.Data["circleId"] != idOf(path) {
			return sweep.ErrChanged
		}
		circle, found, err := tx.Get(path)
		if err != nil {
			return err
		}
		if !found || !claimed(circle) {
			return errUnclaimed
		}
		return nil
	}
}

// deleteCircle deletes a claimed circle's document if no post is left, and then its files, which that commit remembers:
// until it, they are the files of a circle that can still be revived. Its owner is told in the same commit.
func deleteCircle(ctx context.Context, w *sweep.Writers, path string) error {
	id := idOf(path)
	record := leftoversID(id)
	folder := leftovers.Object{Name: "circles/" + id + "/", Folder: true, Absent: path}
	var nobody string
	gone := false
	err := w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		circle, found, err := tx.Get(path)
		switch {
		case err != nil:
			return err
		case !found && gone:
			return nil // an earlier attempt deleted it, and its answer was lost
		case !found || !claimed(circle):
			return errUnclaimed
		}
		rest, err := posts.First(tx, "posts", "circleId", id, 1)
		if err != nil {
			return err
		}
		if len(rest) > 0 {
			return errMorePosts
		}
		var owner string
		if owner, nobody, err = ownerOf(tx, circle); err != nil {
			return err
		}
		if owner != "" {
			n := farewell(owner, circle, notifications.Locale(w.Config.Locale))
			if err := tx.Set(n.Path(), n.Data(w.Now)); err != nil {
				return err
			}
		}
		if err := leftovers.Remember(tx, w, record, []leftovers.Object{folder}); err != nil {
			return err
		}
		gone = true
		return tx.Delete(path)
	})
	if err != nil {
		return err
	}
	if nobody != "" {
		logNobody(ctx, w, path, "deleted", nobody)
	}
	return leftovers.Finish(ctx, w, record)
}

// farewell tells a circle's owner that it is gone.
func farewell(owner string, circle documents.Document, locale notifications.Locale) notifications.Notification {
	claimedAt, _ := circle.Time("deletedAt") // without, the id alone tells circles apart
	return notifications.Notification{
		UserID: owner, Type: "circle_ghost_deleted", Text: locale.GhostCircleDeleted(nameOf(circle)),
		Fields:    map[string]any{"circleName": nameOf(circle)},
		Announces: []string{circle.ID(), claimedAt.UTC().Format(time.RFC3339Nano)},
	}
}

func idOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// leftoversID names the record of a circle's files; those of posts bear the posts' ids. A digest, because an id may be as
// long as ids can be.
func leftoversID(circleID string) string { return "circle-" + digest.Of(circleID) }
