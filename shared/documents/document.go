package documents

import (
	"strings"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/firestore"
)

// Document is a document as it was read.
type Document struct {
	Path       string         // relative to the database, e.g. "reports/abc"
	Data       map[string]any // the fields asked for
	UpdateTime time.Time      // what a precondition compares with
}

// ID returns the last part of the document's path.
func (d Document) ID() string { return d.Path[strings.LastIndexByte(d.Path, '/')+1:] }

// Time returns a timestamp field; ok is false if it is missing, null or of another type.
func (d Document) Time(field string) (v time.Time, ok bool) {
	v, ok = d.Data[field].(time.Time)
	return v, ok
}

// Instant is [Document.Time] of a field that may be missing or null: set is false then. ok is false if it is of another type.
func (d Document) Instant(field string) (v time.Time, set, ok bool) {
	v, set = d.Time(field)
	return v, set, set || d.Data[field] == nil
}

// Text returns a string field; ok is false if it is missing, null or of another type.
func (d Document) Text(field string) (v string, ok bool) {
	v, ok = d.Data[field].(string)
	return v, ok
}

// ValidID reports whether an id taken from data can name a document: not empty, no slash, not "." or "..", not
// reserved ("__…__"), valid UTF-8 of at most 1500 bytes (docs/spec.md, "Ids", and Firestore's limits). Whatever names
// an invalid id is kept.
func ValidID(id string) bool {
	reserved := len(id) >= 4 && strings.HasPrefix(id, "__") && strings.HasSuffix(id, "__")
	return id != "" && len(id) <= 1500 && utf8.ValidString(id) &&
		!strings.Contains(id, "/") && id != "." && id != ".." && !reserved
}

// relative returns a document's path within its database.
func relative(ref *firestore.DocumentRef) string {
	_, path, _ := strings.Cut(ref.Path, "/documents/")
	return path
}

func documentOf(s *firestore.DocumentSnapshot) Document {
	return Document{Path: relative(s.Ref), Data: s.Data(), UpdateTime: s.UpdateTime}
}
