package documents

import (
	"context"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/guard"
)

// Document is a document as it was read.
type Document struct {
	Path       string         // relative to the database, e.g. "reports/abc"
	Database   string         // projects/{project}/databases/{database}; references to another one name nothing
	Data       map[string]any // the fields asked for; a value that the client library does not know is a [*firestorepb.Value]
	UpdateTime time.Time      // a precondition compares with it
	CreateTime time.Time      // distinguishes it from an earlier document of the same path
	ReadTime   time.Time      // when that was, by Firestore's clock; also of a document that was not found
}

// ID returns the last part of the document's path.
func (d Document) ID() string { return d.Path[strings.LastIndexByte(d.Path, '/')+1:] }

// Lookup returns a field's value, and whether the document has the field. A dot in its name leads into a map, as in queries.
// Of "", the value is all fields.
func (d Document) Lookup(field string) (value any, there bool) {
	fields := d.Data
	if field == "" {
		return fields, true
	}
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

// Leaves returns each value in a value that is neither a list nor a map, and each key of a map, with the field in which that is,
// as a rule writes it: f[] of a list, f.{id} of the keys of a map.
func Leaves(value any) iter.Seq2[string, any] {
	return func(yield func(field string, value any) bool) { leaves("", value, yield) }
}

func leaves(field string, value any, yield func(field string, value any) bool) (more bool) {
	switch value := value.(type) {
	case []any:
		field += "[]"
		for _, one := range value {
			if !leaves(field, one, yield) {
				return false
			}
		}
	case map[string]any:
		for key, one := range value {
			if !yield(field+".{id}", key) || !leaves(strings.TrimPrefix(field+"."+key, "."), one, yield) {
				return false
			}
		}
	default:
		return yield(field, value)
	}
	return true
}

// Earliest is the earliest time that counts as one. Many languages write an unset time as 1970 or as the year 1.
var Earliest = time.Date(1971, 1, 1, 0, 0, 0, 0, time.UTC)

// Time returns a timestamp field; ok is false if it is missing, null, of another type or before [Earliest].
func (d Document) Time(field string) (v time.Time, ok bool) {
	if v, ok = d.Value(field).(time.Time); !ok || v.Before(Earliest) {
		return time.Time{}, false
	}
	return v, true
}

// Instant is [Document.Time] for a field that may be missing or null: set is false then. ok is false if the field holds
// anything else that is no time.
func (d Document) Instant(field string) (v time.Time, set, ok bool) {
	v, set = d.Time(field)
	return v, set, set || d.Value(field) == nil
}

// Text returns a string field; ok is false if it is missing, null or of another type.
func (d Document) Text(field string) (v string, ok bool) {
	v, ok = d.Value(field).(string)
	return v, ok
}

// Number returns a number, integer or floating-point; ok is false if the field is missing, null, of another type, infinite or
// NaN.
func (d Document) Number(field string) (v float64, ok bool) {
	switch n := d.Data[field].(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	default:
		return 0, false
	}
}

// maxExact is the largest floating-point number up to which each stands for one whole number only.
const maxExact = 1 << 53

// Whole returns a whole number. A client may have written it as a floating-point number. ok is false if the field is missing,
// null, of another type, a fraction, or a floating-point number so large that it may stand for several whole numbers.
func (d Document) Whole(field string) (v int64, ok bool) {
	if n, isWhole := d.Data[field].(int64); isWhole {
		return n, true
	}
	n, ok := d.Number(field)
	if !ok || n != math.Trunc(n) || math.Abs(n) > maxExact {
		return 0, false
	}
	return int64(n), true
}

// relative returns a document's path within its database.
func relative(ref *firestore.DocumentRef) string {
	_, path, _ := strings.Cut(ref.Path, "/documents/")
	return path
}

// documentOf returns the document of a snapshot.
func (r Reader) documentOf(ctx context.Context, s *firestore.DocumentSnapshot) (Document, error) {
	database, path, _ := strings.Cut(s.Ref.Path, "/documents/")
	d := Document{Path: path, Database: database, UpdateTime: s.UpdateTime, CreateTime: s.CreateTime, ReadTime: s.ReadTime}
	err := guard.Call(func() error { d.Data = s.Data(); return nil })
	if err != nil { // the library panics at a value that it does not know
		d.Data, err = r.withUnknown(ctx, s, path)
	}
	return d, err
}

// withUnknown returns the fields of a document of which the client library does not know all values. It reads the document once
// more, in the form of Firestore's API. If that has changed meanwhile, the error is one after which a transaction is tried again.
func (r Reader) withUnknown(ctx context.Context, s *firestore.DocumentSnapshot, path string) (map[string]any, error) {
	found, err := r.Originals(ctx, []string{path})
	if err != nil {
		return nil, err
	}
	original, there := found[path]
	if !there || !original.UpdateTime.Equal(s.UpdateTime) {
		return nil, status.Errorf(codes.Aborted, "%s changed while it was read", Shown(path))
	}
	data := make(map[string]any, len(original.Fields))
	for name, raw := range original.Fields {
		data[name] = knownOf(s, firestore.FieldPath{name}, raw)
	}
	return data, nil
}

// knownOf returns a value of a document, in which only what the client library does not know is in the form of Firestore's API.
func knownOf(s *firestore.DocumentSnapshot, path firestore.FieldPath, raw *firestorepb.Value) any {
	value, err := s.DataAtPath(path)
	if err == nil {
		return value
	}
	inside := raw.GetMapValue().GetFields()
	if inside == nil || inside["__type__"] != nil { // a value of a type, which is no map to applications
		return raw
	}
	known := make(map[string]any, len(inside))
	for name, value := range inside {
		known[name] = knownOf(s, append(slices.Clone(path), name), value)
	}
	return known
}
