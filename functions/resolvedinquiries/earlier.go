package resolvedinquiries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// An archive may be there already when an inquiry is archived: somebody has restored the inquiry from it, or it was written by
// another program that was interrupted. What it holds is moved to archivedInquiries/{id}/earlier/{its archivedAt}: the document
// in the commit that writes the new archive, messages in its subcollection before that, for they may be too many for a commit.
// From then until that commit they wait under a document that is not there yet, where an interrupted run's successor finds
// the rest of them moved.

// undated names an earlier archive without a usable archivedAt.
const undated = "undated"

// errOldMessages says that there are messages where those of the new archive belong.
var errOldMessages = errors.New("there are messages of an earlier archive")

// noMessages returns [errOldMessages] if there are any.
func noMessages(tx *documents.Transaction, t target) error {
	others, err := tx.Query(namesOf(messagesOf(t.archivePath())), 1)
	if err == nil && len(others) > 0 {
		err = errOldMessages
	}
	return err
}

// earlierPath returns where the archive that is there already goes, nil for messages without an archive. Nothing is there
// yet: of two that were archived at the same instant the second gets a number.
func earlierPath(tx *documents.Transaction, t target, old *documents.Document) (string, error) {
	name := undated
	if old != nil {
		if at, ok := old.Time(archivedAt); ok {
			name = at.UTC().Format(time.RFC3339Nano)
		}
	}
	path := t.archivePath() + "/earlier/" + name
	for n := 2; ; n++ {
		_, taken, err := tx.Get(path)
		if err != nil || !taken {
			return path, err
		}
		path = fmt.Sprintf("%s/earlier/%s-%d", t.archivePath(), name, n)
	}
}

// moveOldMessages moves the messages that are where those of the new archive belong, and returns whence and whither.
func (a archiver) moveOldMessages(ctx context.Context, w *sweep.Writers, t target) (from, to string, err error) {
	from = t.archivePath()
	err = w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		now, err := stillDue(tx, w, t)
		if err != nil {
			return err
		}
		if now.done {
			return sweep.ErrChanged
		}
		to, err = earlierPath(tx, t, now.old)
		return err
	})
	if err != nil {
		return from, to, err
	}
	return from, to, a.moveMessages(ctx, w, from, to)
}

// moveMessages moves all messages from below one path to below another. None is written over.
func (a archiver) moveMessages(ctx context.Context, w *sweep.Writers, from, to string) error {
	move := func(tx *documents.Transaction, messages []documents.Document) error {
		for _, m := range messages {
			if err := errors.Join(tx.Create(to+"/messages/"+m.ID(), m.Data), tx.Delete(m.Path)); err != nil {
				return err
			}
		}
		return nil
	}
	_, err := a.inBatches(ctx, w, from, move, func([]documents.Document) error { return nil })
	return err
}
