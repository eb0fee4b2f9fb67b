package bannedusers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

const (
	maxBatch        = 1000 // users that one call deletes the accounts of
	maxTransactions = 8    // at once
)

// item is a user to delete or, if retry, an account whose user document an earlier run deleted.
type item struct {
	uid   string
	retry bool
}

// errGone says that a user document is gone and that it was not this job that deleted it.
var errGone = fmt.Errorf("the user document was deleted by somebody else: %w", sweep.ErrChanged)

// deleteUsers deletes documents first and accounts second. Only a document can be judged again and deleted in one commit,
// so that somebody unbanned meanwhile loses neither; and the same commit notes the uid, so that a later run knows what is
// left to delete, wherever this one is interrupted.
func deleteUsers(ctx context.Context, w *sweep.Writers, items []any) []error {
	results := make([]error, len(items))
	noted := make([]note, len(items))
	var underWay errgroup.Group
	underWay.SetLimit(maxTransactions)
	for i := range items {
		underWay.Go(func() error {
			results[i] = sweep.Guard(func() (err error) {
				it := items[i].(item)
				switch err = w.CheckTime(); {
				case err != nil:
				case it.retry:
					noted[i], err = stillNoted(ctx, w, it.uid)
				default:
					noted[i], err = deleteDocument(ctx, w, it.uid)
				}
				return err
			})
			return nil // one user never stops the others
		})
	}
	_ = underWay.Wait() // each error is in results

	var accounts []account
	for i, err := range results {
		if err == nil {
			accounts = append(accounts, account{index: i, uid: items[i].(item).uid, note: noted[i]})
		}
	}
	if len(accounts) > 0 {
		deleteAccounts(ctx, w, accounts, results)
	}
	return results
}

// deleteDocument deletes the document of a user who is still due and notes the uid. It returns [sweep.ErrChanged] for a
// user who is not, and who keeps the account too.
func deleteDocument(ctx context.Context, w *sweep.Writers, uid string) (n note, err error) {
	user := users + "/" + uid
	err = w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		n = note{addedAt: w.Now}
		d, found, err := tx.Get(user)
		if err != nil {
			return err
		}
		if !found {
			// If the uid is noted, it was this job: an earlier attempt took effect and its answer was lost.
			n, err = readNote(tx, uid)
			return err
		}
		if due, _ := judge(d, w.Now); !due {
			return sweep.ErrChanged
		}
		if err := tx.Delete(user); err != nil {
			return err
		}
		return tx.Set(notes+"/"+uid, map[string]any{"addedAt": n.addedAt, "attempts": n.attempts})
	})
	if errors.Is(err, errGone) {
		w.Log.WarnContext(ctx, user+": deleted by somebody else since it was judged, so its account was kept: "+
			"delete the account in the Firebase console if it is still there and should not be", slog.String("target", user))
	}
	if err != nil {
		return n, fmt.Errorf("delete %s: %w", user, err)
	}
	return n, nil
}

// stillNoted returns the note of a uid whose account is still to be deleted. Where the user document is there again, the
// account is kept, [sweep.ErrChanged]: a document that is due takes it along when it has its turn, and of any other nobody
// here can tell whether it was restored on purpose or is how somebody banned comes back. So the note stays as well, and
// every run says so, until a person decides.
func stillNoted(ctx context.Context, w *sweep.Writers, uid string) (n note, err error) {
	undecided := false
	err = w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		undecided = false
		d, found, err := tx.Get(users + "/" + uid)
		if err != nil {
			return err
		}
		if n, err = readNote(tx, uid); err != nil || !found {
			return err
		}
		due, _ := judge(d, w.Now)
		undecided = !due
		return sweep.ErrChanged
	})
	if undecided {
		w.Log.WarnContext(ctx, fmt.Sprintf("account %s kept: there is a document %s/%s again, which is not due: if it was restored on purpose, "+
			"delete %s/%s, otherwise ban the user again", uid, users, uid, notes, uid), slog.String("target", users+"/"+uid))
	}
	if err != nil {
		return n, fmt.Errorf("look at %s/%s: %w", notes, uid, err)
	}
	return n, nil
}

// readNote returns the note of a uid, [errGone] if there is none.
func readNote(tx *documents.Transaction, uid string) (note, error) {
	d, found, err := tx.Get(notes + "/" + uid)
	if err == nil && !found {
		err = errGone
	}
	return noteOf(d), err
}

// account is an account to delete.
type account struct {
	index int // of its item
	uid   string
	note  note
}

// deleteAccounts deletes accounts in one call. The notes of those that are gone go, those of the others stay for the next
// run, and count its attempts: that an account could not be deleted is a warning and no failure of the run, but it is not done
// either. After [alertAttempts] it is an alert.
func deleteAccounts(ctx context.Context, w *sweep.Writers, accounts []account, results []error) {
	uids := make([]string, len(accounts))
	for i, a := range accounts {
		uids[i] = a.uid
	}
	failures := w.Accounts.Delete(ctx, uids)
	for i := range accounts {
		if err := failures[i]; err != nil {
			a := &accounts[i]
			a.note.attempts++
			results[a.index] = fmt.Errorf("delete account %s: %w", a.uid, sweep.ErrLater)
			w.Keep(keptAccount, 1)
			attributes := []any{slog.String("target", notes+"/"+a.uid), slog.Int64("attempts", a.note.attempts)}
			if a.note.attempts >= alertAttempts {
				attributes = append(attributes, slog.String("alert", "account"))
			}
			w.Log.WarnContext(ctx, a.note.warning(a.uid, err), attributes...)
		}
	}
	err := w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		for i, a := range accounts {
			var err error
			if failures[i] == nil {
				err = tx.Delete(notes + "/" + a.uid)
			} else {
				err = tx.Merge(notes+"/"+a.uid, map[string]any{"attempts": a.note.attempts})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		for _, a := range accounts {
			results[a.index] = fmt.Errorf("update %s/%s: %w", notes, a.uid, err)
		}
	}
}
