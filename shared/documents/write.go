package documents

import (
	"context"
	"fmt"
	"strings"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"

	"github.com/firesweep/firesweep/shared/documents/retry"
)

// Ref names a document: the path of its collection and its id.
type Ref struct{ Collection, ID string }

// Path returns the document's path relative to the database, e.g. "reports/abc"; "" for no document.
func (r Ref) Path() string {
	if r == (Ref{}) {
		return ""
	}
	return r.Collection + "/" + r.ID
}

// RefOf returns the document that a path names. Collections and ids alternate in a path, so it has an even number of parts.
func RefOf(path string) (Ref, error) {
	i := strings.LastIndexByte(path, '/')
	if i < 1 || strings.Count(path, "/")%2 == 0 || !ValidName(path[i+1:]) {
		return Ref{}, fmt.Errorf("%s is not a document's path", Shown(path))
	}
	return Ref{Collection: path[:i], ID: path[i+1:]}, nil
}

// MarshalText implements [encoding.TextMarshaler].
func (r Ref) MarshalText() ([]byte, error) { return []byte(r.Path()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *Ref) UnmarshalText(path []byte) (err error) {
	*r, err = RefOf(string(path))
	return err
}

// ReferenceOf returns the document that a field's value refers to; ok is false if the value is not a reference.
func ReferenceOf(value any) (ref Ref, ok bool) {
	reference, ok := value.(*firestore.DocumentRef)
	if !ok || reference == nil {
		return Ref{}, false
	}
	return Document{Path: relative(reference)}.Ref(), true
}

// Ref returns the document's name.
func (d Document) Ref() Ref {
	i := strings.LastIndexByte(d.Path, '/')
	if i < 0 {
		return Ref{}
	}
	return Ref{Collection: d.Path[:i], ID: d.Path[i+1:]}
}

// Op is what a [Write] does.
type Op string

// The operations, by the names that previews and the log show.
const (
	Delete Op = "delete" // the document, if it exists
	Update Op = "update" // the given top-level fields of a document that exists; [DeleteField] removes one
	Create Op = "create" // a document that does not exist yet
	Set    Op = "set"    // the whole document, whether it exists or not
)

// Write is one write of a commit, as data.
type Write struct {
	Op   Op
	Ref  Ref
	Data map[string]any // for all operations but Delete
	// Sent says that the write tells somebody something, as a notification does. Undo leaves such a write in place.
	Sent bool
}

// String returns the write as previews and the log show it, e.g. "delete comments/c1".
func (w Write) String() string { return string(w.Op) + " " + w.Ref.String() }

// HasUnknown reports whether the write has a value that the client library does not know and cannot write.
func (w Write) HasUnknown() bool {
	for _, value := range Leaves(w.Data) {
		if _, unknown := value.(*firestorepb.Value); unknown {
			return true
		}
	}
	return false
}

// Apply adds writes to the transaction, which are sent right after that. The error is that of [Writer.InTime] if it is too late.
func (t *Transaction) Apply(writes ...Write) error {
	if t.w.InTime != nil { // the machine may have slept since somebody looked
		if err := t.w.InTime(); err != nil {
			return err
		}
	}
	for _, w := range writes {
		ref, err := t.w.c.doc(w.Ref.Path())
		if err == nil {
			err = w.add(t.tx, ref)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
	}
	return nil
}

func (w Write) add(tx *firestore.Transaction, ref *firestore.DocumentRef) error {
	switch w.Op {
	case Delete:
		return tx.Delete(ref)
	case Update:
		return tx.Update(ref, updates(w.Data))
	case Create:
		return tx.Create(ref, w.Data)
	case Set:
		return tx.Set(ref, w.Data)
	}
	return fmt.Errorf("%q is no operation", w.Op)
}

// GetAll is [Reader.GetAll] in the transaction. All reads must come before the first write.
func (t *Transaction) GetAll(ctx context.Context, paths []string) (map[string]Document, error) {
	return t.w.getAll(ctx, paths, t.tx.GetAll)
}

// Contended reports whether a commit failed because others wrote to documents that it had read.
func Contended(err error) bool { return retry.Code(err) == codes.Aborted }

// Denied reports whether Firestore denied the caller permission.
func Denied(err error) bool { return retry.Code(err) == codes.PermissionDenied }

// Answered reports whether an error is an answer of Firestore, with a code.
func Answered(err error) bool { return err != nil && retry.Code(err) != codes.Unknown }
