package documents

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
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
	_, err := w.transact(ctx, transient, f)
	return err
}

// Commit is [Writer.Transact] for writes of many items that do not depend on each other. It returns the time of the commit.
// With once, it does not retry after contention, so that the caller can try with fewer items.
func (w Writer) Commit(ctx context.Context, once bool,
	f func(ctx context.Context, tx *Transaction) error) (at time.Time, err error) {
	if !once {
		return w.transact(ctx, transient, f)
	}
	return w.transact(ctx, func(err error) bool { return transient(err) && !Contended(err) }, f, firestore.MaxAttempts(1))
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
	if err := retryIf(ctx, again, func(ctx context.Context) error { return w.c.takeTurn(ctx, attempt) }); err != nil {
		return time.Time{}, err
	}
	return response.CommitTime(), nil
}

// note records a write of the transaction, unless err says that it failed. It returns err.
func (t *Transaction) note(op, path string, err error) error {
	if err == nil {
		t.o.attempt = append(t.o.attempt, Written{Op: op, Path: path})
	}
	return err
}

// Get reads a document; found is false if there is none. All reads must come before the first write.
func (t *Transaction) Get(path string) (d Document, found bool, err error) {
	ref, err := t.ref(path)
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
	ref, err := t.ref(path)
	if err != nil {
		return err
	}
	return t.note("delete", path, t.tx.Delete(ref))
}

// Update writes top-level fields of a document that must exist. The value [DeleteField] removes a field.
func (t *Transaction) Update(path string, data map[string]any) error {
	ref, err := t.ref(path)
	if err != nil {
		return err
	}
	updates := make([]firestore.Update, 0, len(data))
	for field, value := range data {
		updates = append(updates, firestore.Update{FieldPath: firestore.FieldPath{field}, Value: value})
	}
	return t.note("update", path, t.tx.Update(ref, updates))
}

// Values that Firestore replaces: DeleteField removes the field in [Transaction.Update]; ServerTimestamp becomes the time of
// the commit.
var (
	DeleteField     any = firestore.Delete
	ServerTimestamp any = firestore.ServerTimestamp
)

// Create writes a document that must not exist yet.
func (t *Transaction) Create(path string, data any) error {
	ref, err := t.ref(path)
	if err != nil {
		return err
	}
	return t.note("create", path, t.tx.Create(ref, data))
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
	return t.note("set", path, t.tx.Set(ref, data))
}
