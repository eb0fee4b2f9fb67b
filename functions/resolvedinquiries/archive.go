package resolvedinquiries

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/firesweep/firesweep/functions/resolvedinquiries/copies"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

// Fields that an archive has besides those of the inquiry.
const (
	archivedAt      = "archivedAt"              // when it was archived
	messagesField   = "messages"                // all messages in the order of createdAt; or instead of it
	inSubcollection = "messagesInSubcollection" // true: they are in the archive's own subcollection messages
	original        = "original"                // fields of the inquiry that have one of these names, if there are any
)

// gatherWhole reads all messages, unless they are too large for one document.
func (s *state) gatherWhole(ctx context.Context, src cleanup.Source, most int) error {
	others, _, _, err := copies.Part(ctx, src, messagesOf(s.archiveRef()), "", 1, most)
	if err != nil {
		return err
	}
	s.inTheWay = len(others) > 0
	if err := s.gatherArchive(ctx, src); err != nil || s.inTheWay || s.Room < cleanup.MaxRoom {
		return err
	}
	own := documents.Size(s.archiveRef().Path(), archiveOf(s.Document, map[string]any{messagesField: nil, archivedAt: time.Time{}}))
	s.messages, _, s.complete, err = copies.Part(ctx, src, messagesOf(s.Ref()), "", math.MaxInt, most-own)
	return err
}

// archiveWhole archives the inquiry in one commit. The commit has read all messages, so it fails if one is added or changed
// before. If Firestore refuses it, because it counts sizes in its own way, the inquiry is archived in parts.
func (s state) archiveWhole(run cleanup.Run) cleanup.Change {
	own := s.archive(map[string]any{messagesField: contents(s.messages), archivedAt: run.Now})
	return s.withImages(cleanup.Change{Writes: append(own, cleanup.Delete(s.messages...).Writes...)}, run)
}

// archive writes the archive and deletes the inquiry. If an archive exists already, it is moved.
func (s state) archive(own map[string]any) []documents.Write {
	writes := []documents.Write{
		{Op: documents.Set, Ref: s.archiveRef(), Data: archiveOf(s.Document, own), CopyOf: s.Ref()},
		{Op: documents.Delete, Ref: s.Ref()},
	}
	if s.old != nil {
		writes = append(writes, documents.Write{Op: documents.Create, Ref: s.earlier, Data: s.old.Data, CopyOf: s.archiveRef()})
	}
	return writes
}

// archiveOf returns the archive of an inquiry: all fields of the inquiry, and the archive's own. If the inquiry has fields
// with the archive's names, e.g. because somebody restored it with all that its archive held, their values go to the field
// original.
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

// contents returns all fields of each message, in the order of createdAt. Messages without one are last.
func contents(messages []documents.Document) []any {
	createdAt := func(m documents.Document) time.Time {
		if at, dated := m.Time("createdAt"); dated {
			return at
		}
		return time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) // later than any time in Firestore
	}
	list := make([]any, len(messages))
	inOrder := slices.SortedStableFunc(slices.Values(messages),
		func(a, b documents.Document) int { return createdAt(a).Compare(createdAt(b)) })
	for i, m := range inOrder {
		list[i] = m.Data
	}
	return list
}
