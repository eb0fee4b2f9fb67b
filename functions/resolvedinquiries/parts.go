package resolvedinquiries

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
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
// Before 2 the copies are only that, and are deleted if the inquiry turns out to stay. After 2 they are the archive.

// copyRounds is how often an inquiry's messages are copied because somebody changed them meanwhile.
const copyRounds = 3

func (s state) copyRef(message documents.Document) documents.Ref {
	return documents.Ref{Collection: messagesOf(s.archiveRef().Path()).Collection, ID: message.ID()}
}

func (s *state) gatherCopies(ctx context.Context, src sweep.Source) error {
	refs := make([]documents.Ref, len(s.messages))
	for i, m := range s.messages {
		refs[i] = s.copyRef(m)
	}
	found, err := src.Get(ctx, refs)
	s.copies = slices.Collect(maps.Values(found))
	return err
}

// copiesOfChanged writes the copies that are not as their messages are. A message has been copied as it is if that was after
// its last change; two commits of the same time tell nothing.
func (s state) copiesOfChanged() (writes []documents.Write) {
	copied := make(map[documents.Ref]time.Time, len(s.copies))
	for _, c := range s.copies {
		copied[c.Ref()] = c.UpdateTime
	}
	for _, m := range s.messages {
		if !copied[s.copyRef(m)].After(m.UpdateTime) {
			writes = append(writes, documents.Write{Op: documents.Set, Ref: s.copyRef(m), Data: m.Data})
		}
	}
	return writes
}

// copyMessages does a part of 1.
func (s state) copyMessages() sweep.Change {
	p := s.at
	if s.complete {
		p.Stage, p.After = decide, ""
	} else {
		var err error
		from, _ := s.places()
		if p.After, err = from.After(s.messages[len(s.messages)-1]); err != nil {
			return sweep.Change{Fail: err, Remember: true}
		}
	}
	return goOn(p, s.copiesOfChanged()...)
}

// gatherNames reads the names of all messages and copies.
func (s *state) gatherNames(ctx context.Context, src sweep.Source) (err error) {
	if err = s.gatherArchive(ctx, src); err != nil {
		return err
	}
	if s.messages, err = names(ctx, src, messagesOf(s.Path)); err != nil {
		return err
	}
	s.copies, err = names(ctx, src, messagesOf(s.archiveRef().Path()))
	return err
}

// decide does 2. If messages have changed since they were copied, their copies and those of deleted ones are deleted, and
// it is back to 1.
func (s state) decide(run sweep.Run) sweep.Change {
	current := map[documents.Ref]bool{} // copies
	for _, m := range s.messages {
		current[s.copyRef(m)] = true
	}
	changed := s.copiesOfChanged()
	for _, w := range changed {
		delete(current, w.Ref)
	}
	stale := slices.DeleteFunc(slices.Clone(s.copies), func(c documents.Document) bool { return current[c.Ref()] })
	switch {
	case len(stale) == 0 && len(changed) == 0:
		return goOn(progress{Stage: finish}, s.archive(map[string]any{inSubcollection: true, archivedAt: run.Now})...)
	case s.at.Round >= copyRounds:
		return s.leave()
	default:
		stale = stale[:min(len(stale), s.Room, documents.MaxBatch)]
		return goOn(progress{Stage: copying, Round: s.at.Round + 1, Moved: s.at.Moved}, deletionsOf(stale)...)
	}
}

// finish does a part of 3, and deletes the images. A message that came or changed after the inquiry was deleted is brought to
// the archive by the commit that deletes it. An inquiry that is there again keeps its messages.
func (s state) finish(run sweep.Run) sweep.Change {
	switch {
	case s.Found:
		return sweep.Change{Fail: sweep.ErrChanged}
	case len(s.messages) == 0:
		return sweep.Change{}
	}
	return s.withImages(goOn(s.at, append(s.copiesOfChanged(), deletionsOf(s.messages)...)...), run)
}
