package ghostcircles

import (
	"context"
	"log/slog"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/notifications"
	"github.com/firesweep/firesweep/shared/sweep"
)

// warn tells a circle's owner that it will be deleted, and marks the circle as warned in the same commit.
func warn(path string) sweep.Steps {
	return func(ctx context.Context, w *sweep.Writers) error {
		if err := w.Documents.Wait(ctx, 2); err != nil {
			return err
		}
		var nobody string
		err := w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
			nobody = ""
			circle, found, err := tx.Get(path)
			if err != nil {
				return err
			}
			if !found {
				return sweep.ErrChanged
			}
			v := judge(circle, w.Now, w.PromiseFrom())
			if v.outcome != toWarn {
				if at, ok := circle.Time("ghostWarningNotifiedAt"); ok && at.Equal(w.PromiseFrom()) {
					return nil // an earlier attempt warned, and its answer was lost
				}
				return sweep.ErrChanged
			}
			var owner string
			if owner, nobody, err = ownerOf(tx, circle); err != nil {
				return err
			}
			if owner != "" {
				n := warning(owner, circle, v, notifications.Locale(w.Config.Locale))
				if err := tx.Set(n.Path(), n.Data(w.PromiseFrom())); err != nil {
					return err
				}
			}
			return tx.Update(path, map[string]any{"ghostWarningNotifiedAt": w.PromiseFrom()})
		})
		if err == nil && nobody != "" {
			logNobody(ctx, w, path, "marked as warned", nobody)
		}
		return err
	}
}

// warning announces a circle's deletion. The instant since which it is idle is part of what it announces: the same
// warning given again is no second notification, one that follows a later post is.
func warning(owner string, circle documents.Document, v verdict, locale notifications.Locale) notifications.Notification {
	text := locale.GhostCircleWarning
	if v.abandoned {
		text = locale.AbandonedCircleWarning
	}
	return notifications.Notification{
		UserID: owner, Type: "circle_ghost_warning", Text: text(nameOf(circle)),
		Fields:    map[string]any{"circleId": circle.ID(), "circleName": nameOf(circle)},
		Announces: []string{circle.ID(), v.since.UTC().Format(time.RFC3339Nano)},
	}
}

// clearWarning takes the mark from a circle that is in use again.
func clearWarning(path string) sweep.Steps {
	return func(ctx context.Context, w *sweep.Writers) error {
		if err := w.Documents.Wait(ctx, 1); err != nil {
			return err
		}
		return w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
			circle, found, err := tx.Get(path)
			if err != nil {
				return err
			}
			_, marked := circle.Data["ghostWarningNotifiedAt"]
			switch {
			case found && !marked:
				return nil // by an earlier attempt whose answer was lost, or by somebody else: it is cleared
			case !found || judge(circle, w.Now, w.PromiseFrom()).outcome != toClear:
				return sweep.ErrChanged
			}
			return tx.Update(path, map[string]any{"ghostWarningNotifiedAt": documents.DeleteField})
		})
	}
}

// ownerOf returns who is to be told about a circle, or why nobody can be.
func ownerOf(tx *documents.Transaction, circle documents.Document) (owner, nobody string, err error) {
	owner, ok := circle.Text("ownerId")
	if !ok || !documents.ValidID(owner) {
		return "", "its ownerId is missing or invalid", nil
	}
	_, found, err := tx.Get("users/" + owner)
	if err != nil {
		return "", "", err
	}
	if !found {
		return "", "its owner has no document", nil
	}
	return owner, "", nil
}

// logNobody says that nobody was told what was done to a circle.
func logNobody(ctx context.Context, w *sweep.Writers, path, done, nobody string) {
	w.Log.WarnContext(ctx, path+": "+done+" without telling anybody: "+nobody,
		slog.String("target", path), slog.String("reason", nobody))
}

// maxName is the longest part of a circle's name that a notification repeats, in characters.
const maxName = 200

// nameOf returns a circle's name for people, its id if it has none.
func nameOf(circle documents.Document) string {
	text, ok := circle.Text("name")
	if !ok || text == "" {
		return circle.ID()
	}
	return notifications.Clip(text, maxName)
}
