package documents

import (
	"context"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"

	"github.com/firesweep/firesweep/shared/documents/retry"
	"github.com/firesweep/firesweep/shared/guard"
)

// Transaction reads and then writes, all or nothing.
type Transaction struct {
	w  Writer
	tx *firestore.Transaction
}

// Transact runs f in a transaction and returns the time of its commit. f may run several times: it must judge anew each time,
// and set anew every variable that it captures. It must also come to the right result when an earlier attempt took effect and
// its answer was lost. If f returns an error, Transact returns it and writes nothing. With once, it does not retry after
// contention: so that the caller can try with fewer items, where many are written that do not depend on each other. After an error,
// unsure says that an attempt may have taken effect, because its answer was lost.
func (w Writer) Transact(ctx context.Context, once bool,
	f func(ctx context.Context, tx *Transaction) error) (at time.Time, unsure bool, err error) {
	again, options := retry.Transient, []firestore.TransactionOption(nil)
	if once {
		again = func(err error) bool { return retry.Transient(err) && !Contended(err) }
		options = append(options, firestore.MaxAttempts(1))
	}
	var response firestore.CommitResponse
	options = append(options, firestore.WithCommitResponseTo(&response))
	attempt := func(ctx context.Context) error {
		committed := false
		err := w.c.firestore.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) (err error) {
			committed = false         // the client calls this function again if another writer won
			defer guard.Recover(&err) // the client rolls back after an error, and not after a panic
			err = f(ctx, &Transaction{w: w, tx: tx})
			committed = err == nil
			return err
		}, options...)
		unsure = unsure || committed && lost(err)
		return err
	}
	err = retry.If(ctx, again, func(ctx context.Context) error { return w.c.takeTurn(ctx, attempt) })
	if err != nil {
		return time.Time{}, unsure, err
	}
	return response.CommitTime(), false, nil
}

// lost reports whether a commit that ended with this error may have taken effect all the same.
func lost(err error) bool {
	switch retry.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Internal, codes.Unknown, codes.Canceled, codes.ResourceExhausted:
		return true
	default:
		return false
	}
}

func updates(data map[string]any) []firestore.Update {
	all := make([]firestore.Update, 0, len(data))
	for field, value := range data {
		all = append(all, firestore.Update{FieldPath: firestore.FieldPath{field}, Value: value})
	}
	return all
}

// Values that Firestore replaces: DeleteField removes the field in an [Update]; ServerTimestamp becomes the time of
// the commit.
var (
	DeleteField     any = firestore.Delete
	ServerTimestamp any = firestore.ServerTimestamp
)
