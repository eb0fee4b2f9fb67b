package resolvedinquiries

import (
	"context"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/notifications"
	"github.com/firesweep/firesweep/shared/sweep"
)

// maxSubject is how many characters of a subject a notification repeats: a longer one could be too much for a document.
const maxSubject = 500

// noSubject stands for a subject that is missing, empty or not a text.
var noSubject = map[notifications.Locale]string{notifications.Japanese: "件名なし", notifications.English: "no subject"}

// toWarn is an inquiry whose user is to be told.
type toWarn struct {
	sweep.Subject
	user, notification documents.Ref // the user's document, and what the user is told
	found              map[documents.Ref]documents.Document
}

// warnings tells the users of inquiries that they will be deleted, and marks the inquiries as announced, in one commit. A
// notification that is there already stays as it is, read or unread.
var warnings = sweep.Rule[toWarn]{
	Name: "warning", Group: 8, // each inquiry may be large
	Load: sweep.Each(func(inquiry sweep.Subject) toWarn {
		n := warning(inquiry.Document, notifications.Japanese) // its path is the same in every language
		return toWarn{Subject: inquiry, user: documents.Ref{Collection: "users", ID: n.UserID}, notification: n.Ref()}
	}),
	Judge: func(s toWarn, run sweep.Run) sweep.Decision {
		if d := judge(s.Document, run.Now, run.Promise); d.Kind == warn {
			return d
		}
		return sweep.Decision{}
	},
	Gather: func(ctx context.Context, src sweep.Source, due []*toWarn) error {
		var refs []documents.Ref
		for _, s := range due {
			refs = append(refs, s.user, s.notification)
		}
		found, err := src.Get(ctx, refs)
		for _, s := range due {
			s.found = found
		}
		return err
	},
	Change: func(s toWarn, _ sweep.Decision, run sweep.Run) sweep.Change {
		c := sweep.Change{Writes: []documents.Write{{Op: documents.Update, Ref: s.Ref(), Data: map[string]any{notifiedAt: run.Promise}}}}
		_, hasUser := s.found[s.user]
		_, sent := s.found[s.notification]
		switch {
		case !hasUser:
			c.Notices = []sweep.Notice{{Message: s.Path + ": nobody was told that it will be deleted, its user has no document"}}
		case !sent:
			n := warning(s.Document, notifications.Locale(run.Config.Locale))
			c.Writes = append(c.Writes, documents.Write{Op: documents.Create, Ref: s.notification, Data: n.Data(run.Promise)})
		}
		return c
	},
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
