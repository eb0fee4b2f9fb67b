package resolvedinquiries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/leftovers"
	"github.com/firesweep/firesweep/shared/sweep"
)

// An inquiry whose archive does not fit in one document does not fit in one commit either: Firestore counts what a commit
// deletes, index entries included, towards its 10 MiB. So its messages are
//
//  1. copied to archivedInquiries/{id}/messages, while nothing is deleted;
//  2. then, in the one commit that decides, the archive is written and the inquiry deleted, if it is still due and every
//     message has been copied as it is at that moment;
//  3. then deleted.
//
// From 1 to 3 there is a record of it in cleanupJobs/{job}/archives, from which every later run goes on: before 2 the
// copies are only that, and are removed before anything else is done; after 2 they are the archive, and what is left of
// the inquiry follows.

// archived is the field of a record that says whether 2 is done.
const archived = "archived"

func records(job string) string { return "cleanupJobs/" + job + "/archives" }

func (t target) recordPath(job string) string { return records(job) + "/" + t.id }
func (t target) copyPath(id string) string    { return t.archivePath() + "/messages/" + id }

// copyAttempts is how often an inquiry's messages are copied because somebody changed them meanwhile.
const copyAttempts = 3

var errIncomplete = errors.New("not every message has been copied as it is now")

// archiveInParts archives and deletes an inquiry, with its messages in the archive's subcollection.
func (a archiver) archiveInParts(ctx context.Context, w *sweep.Writers, t target) error {
	if err := begin(ctx, w, t); err != nil {
		return err
	}
	copied, err := a.copyAndCommit(ctx, w, t)
	switch {
	case err == nil:
		return a.finish(ctx, w, t, copied)
	case errors.Is(err, sweep.ErrChanged), errors.Is(err, errIncomplete), documents.Refused(err):
		if err := discard(ctx, w, t); err != nil {
			return err
		}
		if documents.Refused(err) {
			return fmt.Errorf("%s fits into no archive, archive it by hand: %w", t.path(), err)
		}
		return sweep.ErrChanged
	default:
		return err
	}
}

// copyAndCommit does 1 and 2, and returns what has been copied.
func (a archiver) copyAndCommit(ctx context.Context, w *sweep.Writers, t target) (copied versions, err error) {
	for range copyAttempts {
		if copied, err = a.copyMessages(ctx, w, t, copied); err != nil {
			return nil, err
		}
		if err = commit(ctx, w, t, copied); !errors.Is(err, errIncomplete) {
			break
		}
	}
	return copied, err
}

// resume goes on with an inquiry that an interrupted run has begun to archive in parts.
func (a archiver) resume(ctx context.Context, w *sweep.Writers, t target) error {
	record, found, err := w.Documents.Get(ctx, t.recordPath(w.Job))
	if err != nil {
		return err
	}
	decided, ok := record.Data[archived].(bool)
	switch {
	case !found:
		return sweep.ErrChanged
	case !ok:
		return fmt.Errorf("%s is not one that this program wrote: look at it and delete it", record.Path)
	case decided:
		return a.finish(ctx, w, t, nil)
	}
	if err := discard(ctx, w, t); err != nil {
		return err
	}
	return a.archiveAndDelete(ctx, w, t)
}

// begin writes the record. Whatever the archive's subcollection holds before that is an earlier archive's.
func begin(ctx context.Context, w *sweep.Writers, t target) error {
	return w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		if _, err := stillDue(tx, w, t); err != nil {
			return err
		}
		_, begun, err := tx.Get(t.recordPath(w.Job))
		if err != nil || begun {
			return err
		}
		if err := noMessages(tx, t); err != nil {
			return err
		}
		return tx.Create(t.recordPath(w.Job), map[string]any{archived: false, "at": documents.ServerTimestamp})
	})
}

// versions are the messages that have been copied, by id, with the update time of what was copied.
type versions map[string]time.Time

// has reports whether a message has been copied as it is.
func (v versions) has(m documents.Document) bool {
	at, ok := v[m.ID()]
	return ok && at.Equal(m.UpdateTime)
}

// copyMessages copies the messages that have not been copied yet as they are, and removes the copies of messages that are
// gone.
func (a archiver) copyMessages(ctx context.Context, w *sweep.Writers, t target, before versions) (versions, error) {
	copied := versions{}
	write := func(tx *documents.Transaction, messages []documents.Document) error {
		for _, m := range messages {
			if before.has(m) {
				continue
			}
			if err := tx.Set(t.copyPath(m.ID()), m.Data); err != nil {
				return err
			}
		}
		return nil
	}
	then := func(messages []documents.Document) error {
		for _, m := range messages {
			copied[m.ID()] = m.UpdateTime
		}
		return nil
	}
	if _, err := a.inBatches(ctx, w, t.path(), write, then); err != nil {
		return nil, err
	}
	for id := range before {
		if _, still := copied[id]; !still {
			err := w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
				return tx.Delete(t.copyPath(id))
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return copied, nil
}

// commit writes the archive and deletes the inquiry. It returns [errIncomplete] if the messages are not those that have
// been copied.
func commit(ctx context.Context, w *sweep.Writers, t target, copied versions) error {
	return w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		now, err := stillDue(tx, w, t)
		if err != nil || now.done {
			return err
		}
		var earlier string
		if now.old != nil {
			if earlier, err = earlierPath(tx, t, now.old); err != nil {
				return err
			}
		}
		n := 0
		for m, err := range tx.Stream(namesOf(messagesOf(t.path())), "", 0) {
			if err != nil {
				return err
			}
			if n++; !copied.has(m) {
				return errIncomplete
			}
		}
		if n != len(copied) {
			return errIncomplete
		}
		if err := tx.Update(t.recordPath(w.Job), map[string]any{archived: true}); err != nil {
			return err
		}
		if err := tx.Delete(t.path()); err != nil {
			return err
		}
		if now.old != nil {
			if err := tx.Create(earlier, now.old.Data); err != nil {
				return err
			}
		}
		return tx.Set(t.archivePath(), archiveOf(now.inquiry, map[string]any{inSubcollection: true, archivedAt: w.Now}))
	})
}

// errRestored says that an inquiry which was archived and deleted is there again, so its messages are too.
var errRestored = fmt.Errorf("the inquiry is there again: %w", sweep.ErrChanged)

// finish does 3, and deletes the images. A message that came or changed after the inquiry was deleted is brought to the
// archive by the commit that deletes it. Should the answer to a commit be lost, its images are left for the next run.
func (a archiver) finish(ctx context.Context, w *sweep.Writers, t target, copied versions) error {
	var files []leftovers.Object
	var kept []keptImage
	write := func(tx *documents.Transaction, messages []documents.Document) error {
		if _, restored, err := tx.Get(t.path()); err != nil {
			return err
		} else if restored {
			return errRestored
		}
		for _, m := range messages {
			if !copied.has(m) {
				if err := tx.Set(t.copyPath(m.ID()), m.Data); err != nil {
					return err
				}
			}
			if err := tx.Delete(m.Path); err != nil {
				return err
			}
		}
		var err error
		if files, kept, err = imagesOf(t, messages, w); err != nil {
			return err
		}
		return leftovers.Remember(tx, w, leftoverID(messages), files)
	}
	then := func(messages []documents.Document) error {
		keepImages(ctx, w, kept)
		if len(files) == 0 {
			return nil
		}
		return leftovers.Finish(ctx, w, leftoverID(messages))
	}
	for {
		switch n, err := a.inBatches(ctx, w, t.path(), write, then); {
		case errors.Is(err, errRestored):
			return errors.Join(err, forget(ctx, w, t))
		case err != nil:
			return err
		case n == 0:
			return forget(ctx, w, t)
		}
	}
}

// leftoverID is the id under which the images of messages that go together are remembered: no two have the same.
func leftoverID(messages []documents.Document) string {
	sum := sha256.Sum256([]byte(messages[0].Path))
	return hex.EncodeToString(sum[:12])
}

// discard removes the copies that have not become an archive, and then the record.
func discard(ctx context.Context, w *sweep.Writers, t target) error {
	copies := namesOf(messagesOf(t.archivePath()))
	copies.PageSize = documents.MaxBatch
	for page, err := range w.Documents.Pages(ctx, copies, "") {
		if err != nil {
			return err
		}
		if err := w.CheckTime(); err != nil {
			return err
		}
		deletions := make([]documents.Deletion, len(page.Documents))
		for i, d := range page.Documents {
			deletions[i] = documents.Deletion{Path: d.Path, LastUpdateTime: d.UpdateTime}
		}
		if err := errors.Join(w.Documents.Delete(ctx, deletions)...); err != nil {
			return err
		}
	}
	return forget(ctx, w, t)
}

// forget removes the record.
func forget(ctx context.Context, w *sweep.Writers, t target) error {
	record, found, err := w.Documents.Get(ctx, t.recordPath(w.Job))
	if err != nil || !found {
		return err
	}
	return w.Documents.Delete(ctx, []documents.Deletion{{Path: record.Path, LastUpdateTime: record.UpdateTime}})[0]
}
