package resolvedinquiries

import (
	"context"
	"log/slog"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/notifications"
	"github.com/firesweep/firesweep/shared/sweep"
)

// maxSubject is how many characters of a subject a notification repeats: a longer one could be too much for a document.
const maxSubject = 500

// noSubject stands for a subject that is missing, empty or not a text.
var noSubject = map[notifications.Locale]string{notifications.Japanese: "件名なし", notifications.English: "no subject"}

// warnUser tells the user of an inquiry that it will be deleted, and marks the inquiry as announced, in one commit. It
// judges the inquiry once more. A notification that is there already stays as it is, read or unread.
func warnUser(ctx context.Context, w *sweep.Writers, t target) error {
	nobody := false
	err := w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		inquiry, found, err := tx.Get(t.path())
		if err != nil {
			return err
		}
		if told, ok := inquiry.Time(notifiedAt); ok && told.Equal(w.PromiseFrom()) {
			return nil // an earlier attempt took effect and its answer was lost
		}
		if v, _ := judge(inquiry, w.Now, w.PromiseFrom()); !found || v != warn {
			return sweep.ErrChanged
		}
		n := warning(inquiry, notifications.Locale(w.Config.Locale))
		_, hasUser, err := tx.Get("users/" + n.UserID)
		if err != nil {
			return err
		}
		_, sent, err := tx.Get(n.Path())
		if err != nil {
			return err
		}
		nobody = !hasUser
		if hasUser && !sent {
			if err := tx.Create(n.Path(), n.Data(w.PromiseFrom())); err != nil {
				return err
			}
		}
		return tx.Update(t.path(), map[string]any{notifiedAt: w.PromiseFrom()})
	})
	if err != nil {
		return err
	}
	if nobody {
		w.Log.WarnContext(ctx, t.path()+": nobody was told that it will be deleted, its user has no document",
			slog.String("target", t.path()))
	}
	return w.Documents.Wait(ctx, 2)
}

// warning is the notification for one resolution of an inquiry: resolved anew, it is another.
func warning(inquiry documents.Document, locale notifications.Locale) notifications.Notification {
	uid, _ := inquiry.Text("userId")
	resolved, _ := inquiry.Time("resolvedAt")
	subject, _ := inquiry.Text("subject")
	if subject == "" {
		subject = noSubject[locale]
	}
	subject = notifications.Clip(subject, maxSubject)
	return notifications.Notification{
		UserID: uid, Type: "inquiry_deletion_warning",
		Text:      locale.InquiryDeletionWarning(subject),
		Fields:    map[string]any{"inquiryId": inquiry.ID()},
		Announces: []string{inquiry.ID(), resolved.UTC().Format(time.RFC3339Nano)},
	}
}
