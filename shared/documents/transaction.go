package documents

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/shared/documents/retry"
)

// Transaction reads and then writes, all or nothing.
type Transaction struct {
	w  Writer
	tx *firestore.Transaction
	o  *outcome
}

// Transact runs f in a transaction. f may run several times: it must judge anew each time, and set anew every variable that
// it captures. It must also come to the right result when an earlier attempt took effect and its answer was lost. If f
// returns an error, Transact returns it and writes nothing.
func (w Writer) Transact(ctx context.Context, f func(ctx context.Context, tx *Transaction) error) error {
	_, err := w.transact(ctx, retry.Transient, f)
	return err
}

// Commit is [Writer.Transact] for writes of many items that do not depend on each other. It returns the time of the commit.
// With once, it does not retry after contention, so that the caller can try with fewer items.
func (w Writer) Commit(ctx context.Context, once bool,
	f func(ctx context.Context, tx *Transaction) error) (at time.Time, err error) {
	if !once {
		return w.transact(ctx, retry.Transient, f)
	}
	return w.transact(ctx, func(err error) bool { return retry.Transient(err) && !Contended(err) }, f, firestore.MaxAttempts(1))
}

func (w Writer) transact(ctx context.Context, again func(error) bool, f func(ctx context.Context, tx *Transaction) error,
	options ...firestore.TransactionOption) (at time.Time, err error) {
	var o outcome
	defer func() { w.tell(ctx, o.writes()) }()
	var response firestore.CommitResponse
	options = append(options, firestore.WithCommitResponseTo(&response))
	attempt := func(ctx context.Context) error {
		err := w.c.firestore.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
			o.begin() // the client calls this function again if another writer won
			if err := f(ctx, &Transaction{w: w, tx: tx, o: &o}); err != nil {
				return err
			}
			o.ready = true
			return nil
		}, options...)
		o.end(err)
		return err
	}
	if err := retry.If(ctx, again, func(ctx context.Context) error { return w.c.takeTurn(ctx, attempt) }); err != nil {
		return time.Time{}, err
	}
	return response.CommitTime(), nil
}

// write records a write of the transaction, unless it fails.
func (t *Transaction) write(op Op, path string, write func(*firestore.DocumentRef) error) error {
	ref, err := t.w.c.doc(path)
	if err != nil {
		return err
	}
	if err := write(ref); err != nil {
		return err
	}
	t.o.attempt = append(t.o.attempt, Written{Op: string(op), Path: path})
	return nil
}

// Get reads a document; found is false if there is none. All reads must come before the first write.
func (t *Transaction) Get(path string) (d Document, found bool, err error) {
	ref, err := t.w.c.doc(path)
	if err != nil {
		return Document{}, false, err
	}
	if d, found, err = got(t.tx.Get(ref)); err != nil {
		return Document{}, false, fmt.Errorf("read %s: %w", path, err)
	}
	return d, found, nil
}

// Delete deletes a document that the transaction has read.
func (t *Transaction) Delete(path string) error {
	return t.write(Delete, path, func(ref *firestore.DocumentRef) error { return t.tx.Delete(ref) })
}

// Update writes top-level fields of a document that must exist. The value [DeleteField] removes a field.
func (t *Transaction) Update(path string, data map[string]any) error {
	return t.write(Update, path, func(ref *firestore.DocumentRef) error { return t.tx.Update(ref, updates(data)) })
}

func updates(data map[string]any) []firestore.Update {
	all := make([]firestore.Update, 0, len(data))
	for field, value := range data {
		all = append(all, firestore.Update{FieldPath: firestore.FieldPath{field}, Value: value})
	}
	return all
}

// Values that Firestore replaces: DeleteField removes the field in [Transaction.Update]; ServerTimestamp becomes the time of
// the commit.
var (
	DeleteField     any = firestore.Delete
	ServerTimestamp any = firestore.ServerTimestamp
)

// Create writes a document that must not exist yet.
func (t *Transaction) Create(path string, data any) error {
	return t.write(Create, path, func(ref *firestore.DocumentRef) error { return t.tx.Create(ref, data) })
}

// Set writes a whole document, whether it exists or not.
func (t *Transaction) Set(path string, data any) error {
	return t.write(Set, path, func(ref *firestore.DocumentRef) error { return t.tx.Set(ref, data) })
}
