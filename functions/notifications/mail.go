package notifications

import (
	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents"
)

// Mail is an e-mail, as a document that Firebase's extension "Trigger Email" sends when it is written. Whoever
// writes the document again sends it again.
type Mail struct {
	ToUserIDs []string // the extension looks up their addresses
	Type      string   // e.g. "inactive_project_warning"
	Text      Text     // the title is the subject
	Announces []string // as in [Notification]
}

// Path returns the document's path, mail/{id}.
func (m Mail) Path() string { return m.Ref().Path() }

// Ref names the document.
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
