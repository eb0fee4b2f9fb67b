package ghostcircles

import (
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/notifications"
	"github.com/firesweep/firesweep/shared/sweep"
)

// warning announces a circle's deletion. The instant since which it is idle is part of what it announces: the same
// warning given again is no second notification, one that follows a later post is.
func warning(circle documents.Document, locale notifications.Locale) notifications.Notification {
	text := locale.GhostCircleWarning
	if i, _ := idleness(circle); i.abandoned {
		text = locale.AbandonedCircleWarning
	}
	return notifications.Notification{
		Type: "circle_ghost_warning", Text: text(nameOf(circle)),
		Fields:    map[string]any{"circleId": circle.ID(), "circleName": nameOf(circle)},
		Announces: []string{circle.ID(), countsFrom(circle).UTC().Format(time.RFC3339Nano)},
	}
}

// farewell tells a circle's owner that it is gone.
func farewell(circle documents.Document, locale notifications.Locale) notifications.Notification {
	claimedAt, _ := circle.Time("deletedAt") // without, the id alone tells circles apart
	return notifications.Notification{
		Type: "circle_ghost_deleted", Text: locale.GhostCircleDeleted(nameOf(circle)),
		Fields:    map[string]any{"circleName": nameOf(circle)},
		Announces: []string{circle.ID(), claimedAt.UTC().Format(time.RFC3339Nano)},
	}
}

// tell adds a notification of the circle's owner to a change, or a warning that nobody was told what was done.
func (s state) tell(c *sweep.Change, n notifications.Notification, at time.Time, done string) {
	owner, ok := ownerOf(s.Document)
	var nobody string
	switch {
	case !ok:
		nobody = "its ownerId is missing or invalid"
	case !s.ownerExists:
		nobody = "its owner has no document"
	default:
		n.UserID = owner.ID
		c.Writes = append(c.Writes, documents.Write{Op: documents.Set, Ref: n.Ref(), Data: n.Data(at), Sent: true})
		return
	}
	c.Notices = append(c.Notices, sweep.Notice{
		Message: s.Path + ": " + done + " without telling anybody: " + nobody, Fields: map[string]any{"reason": nobody},
	})
}

// ownerOf returns the user who owns a circle; ok is false if its ownerId names no document.
func ownerOf(circle documents.Document) (owner documents.Ref, ok bool) {
	id, _ := circle.Text("ownerId")
	return documents.Ref{Collection: "users", ID: id}, documents.ValidID(id)
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
