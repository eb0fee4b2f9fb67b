// Package notifications makes the documents that tell people what a cleanup does: in-app notifications, in Japanese and
// English. It writes nothing; whoever announces something writes the document in the commit of what it announces.
package notifications

import (
	"maps"
	"time"

	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents"
)

// Notification is an in-app notification.
type Notification struct {
	UserID string
	Type   string         // e.g. "inquiry_deletion_warning"
	Text   Text           // for people
	Fields map[string]any // further fields, e.g. the id of what it is about

	// Announces says what happened, so that telling it again is no second notification: the document's id is derived
	// from it and the type. It names the thing and the occasion, e.g. an inquiry's id and when it was resolved.
	Announces []string
}

// Ref names the document, users/{uid}/notifications/{id}.
func (n Notification) Ref() documents.Ref {
	return documents.Ref{Collection: "users/" + n.UserID + "/notifications", ID: n.Type + "_" + digest.Of(n.Announces...)}
}

// Data returns the document.
func (n Notification) Data(createdAt time.Time) map[string]any {
	data := map[string]any{
		"type": n.Type, "title": n.Text.Title, "body": n.Text.Body, "isRead": false, "createdAt": createdAt,
	}
	maps.Copy(data, n.Fields)
	return data
}

// Mail is an e-mail, as a document that Firebase's extension "Trigger Email" sends when it is written. Whoever
// writes the document again sends it again.
type Mail struct {
	ToUserIDs []string // the extension looks up their addresses
	Type      string   // e.g. "inactive_project_warning"
	Text      Text     // the title is the subject
	Announces []string // as in [Notification]
}

// Ref names the document, mail/{id}.
func (m Mail) Ref() documents.Ref {
	return documents.Ref{Collection: "mail", ID: m.Type + "_" + digest.Of(m.Announces...)}
}

// Data returns the document.
func (m Mail) Data() map[string]any {
	return map[string]any{
		"toUids":  m.ToUserIDs,
		"message": map[string]any{"subject": m.Text.Title, "text": m.Text.Body},
	}
}
