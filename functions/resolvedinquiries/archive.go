package resolvedinquiries

import (
	"context"
	"errors"
	"maps"
	"slices"

	"golang.org/x/sync/semaphore"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/leftovers"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Fields that an archive has besides the inquiry's own.
const (
	archivedAt      = "archivedAt"              // when
	messagesField   = "messages"                // all messages in the order of createdAt, or else
	inSubcollection = "messagesInSubcollection" // true: they are in the archive's own subcollection messages
	original        = "original"                // the inquiry's own fields of these names, if it had any
)

var errTooLarge = errors.New("too large for one document")

// archiver archives inquiries, a bounded number at once.
type archiver struct {
	turns                  *semaphore.Weighted
	maxArchive, batchBytes int // bytes
}

// effect does something to an inquiry when its turn has come.
func (a archiver) effect(t target, do func(context.Context, *sweep.Writers, target) error) sweep.Steps {
	return func(ctx context.Context, w *sweep.Writers) error {
		if err := a.turns.Acquire(ctx, 1); err != nil {
			return err
		}
		defer a.turns.Release(1)
		if err := w.CheckTime(); err != nil {
			return err
		}
		return do(ctx, w, t)
	}
}

// archiveAndDelete moves an inquiry and its messages to the archive if it is still due, and deletes their images. Nobody
// sees half of it, and nothing is lost to a crash or to a message written meanwhile.
func (a archiver) archiveAndDelete(ctx context.Context, w *sweep.Writers, t target) error {
	err := a.archive(ctx, w, t)
	if !errors.Is(err, errOldMessages) {
		return err
	}
	// The archive that is there already has messages of its own, where those of the new one belong.
	old, to, err := a.moveOldMessages(ctx, w, t)
	if err != nil {
		return err
	}
	if err = a.archive(ctx, w, t); errors.Is(err, sweep.ErrChanged) {
		return errors.Join(err, a.moveMessages(ctx, w, to, old)) // it stays the archive
	}
	return err
}

func (a archiver) archive(ctx context.Context, w *sweep.Writers, t target) error {
	err := a.archiveWhole(ctx, w, t)
	// What Firestore refuses to take in one document or in one commit, which it reckons in its own way, it takes in parts.
	if errors.Is(err, errTooLarge) || documents.Refused(err) {
		return a.archiveInParts(ctx, w, t)
	}
	return err
}

// archiveWhole does it in one transaction, which reads all messages and so fails if one is added or changed before its
// commit. The images follow, remembered in that commit (package leftovers). It returns [errTooLarge] for an inquiry whose
// archive does not fit in one document.
func (a archiver) archiveWhole(ctx context.Context, w *sweep.Writers, t target) error {
	var (
		messages []documents.Document
		files    []leftovers.Object
		kept     []keptImage
	)
	err := w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		now, err := stillDue(tx, w, t)
		if err != nil || now.done {
			return err
		}
		var earlier string
		if now.old != nil {
			if err := noMessages(tx, t); err != nil {
				return err
			}
			if earlier, err = earlierPath(tx, t, now.old); err != nil {
				return err
			}
		}
		own := documents.Size(t.archivePath(), archiveOf(now.inquiry, map[string]any{messagesField: nil, archivedAt: w.Now}))
		if messages, err = readAll(tx, messagesOf(t.path()), a.maxArchive-own); err != nil {
			return err
		}
		if files, kept, err = imagesOf(t, messages, w); err != nil {
			return err
		}
		if err := leftovers.Remember(tx, w, t.id, files); err != nil {
			return err
		}
		for _, m := range messages {
			if err := tx.Delete(m.Path); err != nil {
				return err
			}
		}
		if err := tx.Delete(t.path()); err != nil {
			return err
		}
		if now.old != nil {
			if err := tx.Create(earlier, now.old.Data); err != nil {
				return err
			}
		}
		return tx.Set(t.archivePath(), archiveOf(now.inquiry, map[string]any{messagesField: contents(messages), archivedAt: w.Now}))
	})
	if err != nil {
		return err
	}
	keepImages(ctx, w, kept)
	if len(files) > 0 {
		if err := leftovers.Finish(ctx, w, t.id); err != nil {
			return err
		}
	}
	return w.Documents.Wait(ctx, len(messages)+2)
}

// present is what is there of an inquiry that is to be archived.
type present struct {
	inquiry documents.Document
	old     *documents.Document // the archive of that id that is there already, of an inquiry that was restored for example
	done    bool                // an earlier attempt of this run has archived it and its answer was lost
}

// stillDue reads an inquiry in the transaction that archives it, and judges it once more.
func stillDue(tx *documents.Transaction, w *sweep.Writers, t target) (now present, err error) {
	inquiry, found, err := tx.Get(t.path())
	if err != nil {
		return now, err
	}
	old, exists, err := tx.Get(t.archivePath())
	if err != nil {
		return now, err
	}
	if !found {
		at, ok := old.Time(archivedAt)
		if ok && at.Equal(w.Now) {
			return present{done: true}, nil
		}
		return now, sweep.ErrChanged
	}
	resolved, _ := inquiry.Time("resolvedAt")
	if v, _ := judge(inquiry, w.Now, w.PromiseFrom()); v != archive || !t.resolvedAt.IsZero() && !resolved.Equal(t.resolvedAt) {
		return now, sweep.ErrChanged
	}
	now.inquiry = inquiry
	if exists {
		now.old = &old
	}
	return now, nil
}

// archiveOf returns the archive of an inquiry: all of its fields, and the archive's own. If the inquiry has fields of the
// archive's names, e.g. because somebody restored it with all that its archive held, their values go to the field original.
func archiveOf(inquiry documents.Document, own map[string]any) map[string]any {
	fields, replaced := maps.Clone(inquiry.Data), map[string]any{}
	for _, name := range []string{archivedAt, messagesField, inSubcollection} {
		if value, has := fields[name]; has {
			replaced[name] = value
			delete(fields, name)
		}
	}
	if len(replaced) > 0 {
		if value, has := fields[original]; has {
			replaced[original] = value
		}
		fields[original] = replaced
	}
	maps.Copy(fields, own)
	return fields
}

// messagesOf is the query for the messages of an inquiry or of an archive: by name, for one by createdAt would leave out
// messages without that field.
func messagesOf(path string) documents.Query {
	return documents.Query{Collection: path + "/messages"}
}

// namesOf is a query for no more than the names.
func namesOf(q documents.Query) documents.Query {
	q.Select = documents.NameOnly
	return q
}

// contents returns all fields of each message in the order of createdAt, those without one at the end.
func contents(messages []documents.Document) []any {
	sorted := slices.Clone(messages)
	slices.SortStableFunc(sorted, func(a, b documents.Document) int {
		at, dated := a.Time("createdAt")
		bt, datedToo := b.Time("createdAt")
		switch {
		case dated && datedToo:
			return at.Compare(bt)
		case dated:
			return -1
		case datedToo:
			return 1
		default:
			return 0
		}
	})
	list := make([]any, len(sorted))
	for i, m := range sorted {
		list[i] = m.Data
	}
	return list
}
