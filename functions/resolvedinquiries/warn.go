package resolvedinquiries

import (
	"context"
	"time"

	"github.com/firesweep/firesweep/functions/notifications"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

// toWarn is an inquiry whose user must be told. found has the user's document and the notification, if they exist.
type toWarn struct {
	cleanup.Subject
	found map[documents.Ref]documents.Document
}

// warnings tells users that their inquiries will be deleted, and marks the inquiries as announced, in one commit. A
// notification that exists already stays unchanged, read or unread.
var warnings = cleanup.Rule[toWarn]{
	Name: "warning", Group: 8, // each inquiry may be large
	Reach: cleanup.Reach{Items: inquiries, Writes: []string{inquiries, "users/*/notifications"}},
	Load:  cleanup.Each(func(s cleanup.Subject) toWarn { return toWarn{Subject: s} }),
	Judge: func(s toWarn, run cleanup.Run) cleanup.Decision {
		if d := judge(s.Document, run.Now, run.Promise); d.Kind == warn {
			return d
		}
		return cleanup.Decision{}
	},
	Gather: func(ctx context.Context, src cleanup.Source, due []*toWarn) error {
		var refs []documents.Ref
		for _, s := range due {
			n := warning(s.Document, notifications.Japanese) // its path is the same in every language
			user, _ := userOf(s.Document)
			refs = append(refs, user, n.Ref())
		}
		found, err := src.Get(ctx, refs)
		for _, s := range due {
			s.found = found
		}
		return err
	},
	Change: func(s toWarn, _ cleanup.Decision, run cleanup.Run) cleanup.Change {
		c := cleanup.Update(s.Ref(), map[string]any{notifiedAt: run.Promise})
		n := warning(s.Document, notifications.Locale(run.Config.Locale))
		user, _ := userOf(s.Document)
		if _, hasUser := s.found[user]; !hasUser {
			c.Notices = []cleanup.Notice{{Message: s.Path + ": nobody was notified of its deletion, because its user has no document"}}
		} else if _, sent := s.found[n.Ref()]; !sent {
			c.Writes = append(c.Writes, documents.Write{Op: documents.Create, Ref: n.Ref(), Data: n.Data(run.Promise), Sent: true})
		}
		return c
	},
}

// warning returns the notification for one resolution of an inquiry. If the inquiry is resolved again, it is another
// notification.
func warning(inquiry documents.Document, locale notifications.Locale) notifications.Notification {
	user, _ := userOf(inquiry)
	resolved, _ := inquiry.Time("resolvedAt")
	subject, _ := inquiry.Text("subject")
	return notifications.Notification{
		UserID: user.ID, Type: "inquiry_deletion_warning",
		Text:      locale.InquiryDeletionWarning(subject),
		Fields:    map[string]any{"inquiryId": inquiry.ID()},
		Announces: []string{inquiry.ID(), resolved.UTC().Format(time.RFC3339Nano)},
	}
}
