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
	UpdateTime time.Time      // a precondition compares with it
	CreateTime time.Time      // distinguishes it from an earlier document of the same path
}

// ID returns the last part of the document's path.
func (d Document) ID() string { return d.Path[strings.LastIndexByte(d.Path, '/')+1:] }

// Lookup returns a field's value, and whether the document has the field. A dot in its name leads into a map, as in queries.
func (d Document) Lookup(field string) (value any, there bool) {
	fields := d.Data
	for {
		name, rest, deeper := strings.Cut(field, ".")
		value, there = fields[name]
		if !deeper {
			return value, there
		}
		fields, _ = value.(map[string]any) // nil if it is not a map
		field = rest
	}
}

// Value is [Document.Lookup] for callers to whom a missing field is the same as null.
func (d Document) Value(field string) any {
	value, _ := d.Lookup(field)
	return value
}

// Time returns a timestamp field; ok is false if it is missing, null or of another type.
func (d Document) Time(field string) (v time.Time, ok bool) {
	v, ok = d.Value(field).(time.Time)
	return v, ok
}

// Instant is [Document.Time] for a field that may be missing or null: set is false then. ok is false if the field has another
// type.
func (d Document) Instant(field string) (v time.Time, set, ok bool) {
	v, set = d.Time(field)
	return v, set, set || d.Value(field) == nil
}

// Text returns a string field; ok is false if it is missing, null or of another type.
func (d Document) Text(field string) (v string, ok bool) {
	v, ok = d.Value(field).(string)
	return v, ok
}

// ValidID reports whether an id taken from data can name a document: it is valid UTF-8 of 1 to 1500 bytes, has no slash, and
// is not ".", ".." or reserved ("__…__"). See docs/spec.md, "Ids", and Firestore's limits. What names an invalid id is kept.
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
	return Document{Path: relative(s.Ref), Data: s.Data(), UpdateTime: s.UpdateTime, CreateTime: s.CreateTime}
}
