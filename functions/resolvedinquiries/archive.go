package resolvedinquiries

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/docsize"
)

// Fields that an archive has besides those of the inquiry.
const (
	archivedAt    = "archivedAt" // when it was archived
	messagesField = "messages"   // all messages in the order of createdAt
	original      = "original"   // fields of the inquiry that have one of these names, if there are any
)

// keptLarge is the reason to keep an inquiry whose archive Firestore would refuse, or has refused.
const keptLarge = "its archive does not fit in one document: archive it by hand"

// state is an inquiry with what the commit that archives it reads.
type state struct {
	cleanup.Subject
	messages []documents.Document
	large    bool                // its archive does not fit in one document
	old      *documents.Document // the archive that exists already
	earlier  documents.Ref       // where that archive is moved
}

func (s state) archiveRef() documents.Ref { return documents.Ref{Collection: archives, ID: s.ID()} }

// reach is what [archiveRule] does at most.
var reach = cleanup.Reach{
	Items:   inquiries,
	Deletes: []string{inquiries, inquiries + "/*/messages"},
	Writes:  []string{archives, archives + "/*/earlier"},
	Objects: []cleanup.Files{{Setting: settings.In}},
}

// archiveRule archives inquiries and deletes them. One commit reads all messages, writes the archive and deletes the inquiry: it
// fails if a message is added or changed before, so nobody sees a half, and no message is lost.
var archiveRule = cleanup.Rule[state]{
	Name: "inquiry", Group: 1, Reach: reach,
	Load: cleanup.Each(func(s cleanup.Subject) state { return state{Subject: s} }),
	Judge: func(s state, run cleanup.Run) cleanup.Decision {
		if d := judge(s.Document, run.Now, run.Promise); d.Kind != warn {
			return d
		}
		return cleanup.Decision{}
	},
	Gather: func(ctx context.Context, src cleanup.Source, due []*state) error {
		for _, s := range due {
			if err := s.gather(ctx, src); err != nil {
				return err
			}
		}
		return nil
	},
	Change: change,
}

// firstMessages is how many messages the first request asks for: few, because it is not known yet how large they are.
const firstMessages = 10

// gather reads all messages, unless they are too large for one document, and the archive that exists already. A commit has less
// room after Firestore refused one: then it counts sizes in another way, or the archive holds maps that are too deep.
func (s *state) gather(ctx context.Context, src cleanup.Source) error {
	own := archiveOf(s.Document, map[string]any{messagesField: nil, archivedAt: time.Time{}})
	left := maxArchive - docsize.Of(s.archiveRef().Path(), own)
	s.large = s.Room < cleanup.MaxRoom
	q := documents.Query{Collection: s.Path + "/" + messagesField}
	var from documents.Cursor
	for n, more := firstMessages, true; more && !s.large; n *= 2 {
		page, err := src.First(ctx, q, from, n)
		if err != nil {
			return err
		}
		for _, m := range page {
			left -= docsize.OfValue(m.Data)
		}
		s.messages, s.large = append(s.messages, page...), left < 0
		if more = len(page) == n; more {
			if from, err = q.After(page[n-1]); err != nil {
				return err
			}
		}
	}
	if s.large {
		return nil
	}
	return s.gatherArchive(ctx, src)
}

// gatherArchive reads the archive that exists already, and finds where to move it: two archives may have the same time.
func (s *state) gatherArchive(ctx context.Context, src cleanup.Source) error {
	found, err := src.Get(ctx, []documents.Ref{s.archiveRef()})
	old, exists := found[s.archiveRef()]
	if err != nil || !exists {
		return err
	}
	s.old, s.earlier = &old, documents.Ref{Collection: old.Path + "/earlier", ID: "undated"}
	if at, ok := old.Time(archivedAt); ok {
		s.earlier.ID = at.UTC().Format(time.RFC3339Nano)
	}
	for id, n := s.earlier.ID, 2; ; n++ {
		taken, err := src.Get(ctx, []documents.Ref{s.earlier})
		if err != nil || len(taken) == 0 {
			return err
		}
		s.earlier.ID = fmt.Sprintf("%s-%d", id, n)
	}
}

func change(s state, _ cleanup.Decision, run cleanup.Run) cleanup.Change {
	if s.large {
		return cleanup.Change{Invalid: keptLarge}
	}
	own := map[string]any{messagesField: contents(s.messages), archivedAt: run.Now}
	writes := []documents.Write{
		{Op: documents.Set, Ref: s.archiveRef(), Data: archiveOf(s.Document, own)},
		{Op: documents.Delete, Ref: s.Ref()},
	}
	if s.old != nil {
		writes = append(writes, documents.Write{Op: documents.Create, Ref: s.earlier, Data: s.old.Data})
	}
	return s.withImages(cleanup.Change{Writes: append(writes, cleanup.Delete(s.messages...).Writes...)}, run)
}

// archiveOf returns the archive of an inquiry: all fields of the inquiry, and the archive's own. If the inquiry has fields
// with the archive's names, e.g. because somebody restored it with all that its archive held, their values go to the field
// original.
func archiveOf(inquiry documents.Document, own map[string]any) map[string]any {
	fields, replaced := maps.Clone(inquiry.Data), map[string]any{}
	for _, name := range []string{archivedAt, messagesField} {
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
