package documents

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
)

// Transaction reads and then writes, all or nothing.
type Transaction struct {
	w  Writer
	tx *firestore.Transaction
}

// Transact runs f in a transaction. f judges anew what it reads, may run several times, and must therefore set what it
// captures anew each time; it must also come to the right end when an earlier attempt took effect and its answer was
// lost. An error of f ends the transaction and nothing is written.
func (w Writer) Transact(ctx context.Context, f func(ctx context.Context, tx *Transaction) error) error {
	return retry(ctx, func(ctx context.Context) error {
		return w.c.firestore.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
			return f(ctx, &Transaction{w: w, tx: tx})
		})
	})
}

// Get reads a document; found is false if there is none. All reads come before the first write.
func (t *Transaction) Get(path string) (d Document, found bool, err error) {
	ref, err := t.ref(path)
	if err != nil {
		return Document{}, false, err
	}
	s, err := t.tx.Get(ref)
	if codeOf(err) == codes.NotFound {
		return Document{}, false, nil
	}
	if err != nil {
		return Document{}, false, fmt.Errorf("read %s: %w", path, err)
	}
	return documentOf(s), true, nil
}

// Create writes a document that must not exist yet.
func (t *Transaction) Create(path string, data any) error {
	ref, err := t.ref(path)
	if err != nil {
		return err
	}
	return t.tx.Create(ref, data)
}

// Merge writes the given top-level fields of a document, whether it exists or not, and leaves its other fields alone.
func (t *Transaction) Merge(path string, data map[string]any) error {
	ref, err := t.ref(path)
	if err != nil {
		return err
	}
	fields := make([]firestore.FieldPath, 0, len(data))
	for field := range data {
		fields = append(fields, firestore.FieldPath{field})
	}
	return t.tx.Set(ref, data, firestore.Merge(fields...))
}

func (t *Transaction) ref(path string) (*firestore.DocumentRef, error) {
	ref := t.w.c.firestore.Doc(path)
	if ref == nil {
		return nil, fmt.Errorf("%q is not a document's path", path)
	}
	return ref, nil
}

// Set writes a whole document, whether it exists or not.
func (t *Transaction) Set(path string, data any) error {
	ref, err := t.ref(path)
	if err != nil {
		return err
	}
	return t.tx.Set(ref, data)
}
