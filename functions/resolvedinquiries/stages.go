package resolvedinquiries

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/copies"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// An inquiry whose archive does not fit in one document does not fit in one commit either: Firestore counts what a commit
// deletes, index entries included, towards its 10 MiB. So its messages are
//
//  1. copied to archivedInquiries/{id}/messages, while nothing is deleted. The commit that copies the last of them decides: it
//     writes the archive and deletes the inquiry, if it is still due and every message has been copied as it is at that moment;
//  2. then deleted.
//
// Before the decision the copies are only that, and are deleted if the inquiry turns out to stay. After it they are the archive.
//
// An archive may be there already: somebody has restored the inquiry from it, or it was written by another program that was
// interrupted. What it holds goes to archivedInquiries/{id}/earlier/{its archivedAt}: the document in the commit that writes the
// new archive, messages in its subcollection before that, for they may be too many for a commit. Until that commit they wait
// under a document that is not there yet, and are moved back if the inquiry stays.

// stage is what the next commit of an inquiry does. Between two commits the journal remembers it, so that the next run goes on
// from there if this one is killed.
type stage string

const (
	whole   stage = ""       // archives the inquiry, or finds that this takes several commits
	move    stage = "move"   // moves messages of an archive that is there already, or back if the inquiry stays
	copying stage = "copy"   // copies messages to the archive and decides, or deletes the copies if the inquiry stays
	finish  stage = "finish" // deletes messages of the inquiry that is archived
)

// stages are those that the journal may name: these, and those of an earlier version.
var stages = map[stage]stage{
	whole: whole, move: move, copying: copying, finish: finish, "back": move, "decide": copying, "discard": copying,
}

// copyRounds is how often an inquiry's messages are copied; if they changed meanwhile each time, it stays.
const copyRounds = 3

// progress is how far an inquiry has come: what the journal remembers.
type progress struct {
	Stage   stage            `json:"stage,omitempty"`
	Moved   string           `json:"moved,omitempty"`   // the name of the earlier archive that messages are moved to
	Round   int              `json:"round,omitempty"`   // how often messages changed while all were copied
	After   documents.Cursor `json:"after,omitempty"`   // the message that was copied last
	Refused bool             `json:"refused,omitempty"` // the inquiry stays because Firestore takes no archive of it
}

// String returns what [parseProgress] reads.
func (p progress) String() string {
	text, _ := json.Marshal(p) // texts, a number and a bool
	return string(text)
}

func parseProgress(text string) (p progress, err error) {
	text = cmp.Or(text, progress{}.String()) // the beginning
	valid := json.Unmarshal([]byte(text), &p) == nil && p.String() == text
	current, known := stages[p.Stage]
	p.Stage = current
	if valid = valid && known && (documents.ValidID(p.Moved) || p.Moved == "" && p.Stage != move); !valid {
		return progress{}, fmt.Errorf("the journal says to go on from %q, which this program did not write", text)
	}
	return p, nil
}

// state is an inquiry with what the next commit reads.
type state struct {
	sweep.Subject
	at  progress
	due bool // it is to be archived

	old      *documents.Document  // the archive that is there already
	inTheWay bool                 // there are messages below it
	earlier  documents.Ref        // where they go
	from, to string               // the collections that messages are taken from and put into, which is empty if they are deleted
	messages []documents.Document // those that it works on
	next     documents.Cursor     // behind them
	complete bool                 // there are no more
	copied   bool                 // with this commit all messages are
	stale    []documents.Document // copies that are not as the messages are
	changed  []documents.Document // messages that are not as their copies are
}

func (s state) archiveRef() documents.Ref { return documents.Ref{Collection: archives, ID: s.ID()} }

func (s state) earlierRef(name string) documents.Ref {
	return documents.Ref{Collection: s.archiveRef().Path() + "/earlier", ID: name}
}

// archiveRule archives inquiries and deletes them. Nobody sees half of it, and nothing is lost to a crash or to a message
// written meanwhile.
func archiveRule(most int) sweep.Rule[state] {
	return sweep.Rule[state]{
		Name: "inquiry", Group: 1,
		Load: sweep.Each(func(s sweep.Subject) state { return state{Subject: s} }),
		Judge: func(s state, run sweep.Run) sweep.Decision {
			d := judge(s.Document, run.Now, run.Promise)
			if s.From != "" { // it was due, and goes on or back
				d = sweep.Do(archive, "")
			} else if d.Kind == warn {
				d = sweep.Decision{}
			}
			return d
		},
		Gather: func(ctx context.Context, src sweep.Source, due []*state) error {
			for _, s := range due {
				if err := s.gather(ctx, src, most); err != nil {
					return err
				}
			}
			return nil
		},
		Change: func(s state, _ sweep.Decision, run sweep.Run) sweep.Change { return s.change(run) },
	}
}

// gather reads what the stage works on.
func (s *state) gather(ctx context.Context, src sweep.Source, most int) (err error) {
	if s.at, err = parseProgress(s.From); err != nil {
		return err
	}
	run := src.Run()
	s.at.Refused = s.at.Refused || s.Refused
	s.due = !s.at.Refused && s.at.Round < copyRounds && judge(s.Document, run.Now, run.Promise).Kind == archive
	s.from, s.to = messagesOf(s.Ref()), messagesOf(s.archiveRef())
	switch stage := s.at.Stage; {
	case stage == whole && s.due:
		return s.gatherWhole(ctx, src, most)
	case stage == whole:
		return nil
	case stage == move && s.due:
		s.from, s.to = s.to, messagesOf(s.earlierRef(s.at.Moved))
	case stage == move:
		s.from = messagesOf(s.earlierRef(s.at.Moved))
	case stage == copying && !s.due:
		s.from, s.to, s.at.After = s.to, "", ""
	}
	room := min(s.Room, documents.MaxBatch) // fewer if Firestore refused a commit of more
	if s.messages, s.next, s.complete, err = copies.Part(ctx, src, s.from, s.at.After, room, most); err != nil {
		return err
	}
	switch {
	case s.at.Stage == finish:
		s.changed, err = copies.Changed(ctx, src, s.messages, s.to)
	case s.at.Stage == copying && s.due && s.complete:
		if s.copied, s.stale, err = copies.Compare(ctx, src, s.from, s.to, s.messages); err == nil {
			err = s.gatherArchive(ctx, src)
		}
	}
	return err
}

// gatherArchive reads the archive that is there already, and finds where it goes.
func (s *state) gatherArchive(ctx context.Context, src sweep.Source) error {
	found, err := src.Get(ctx, []documents.Ref{s.archiveRef()})
	if err != nil {
		return err
	}
	old, exists := found[s.archiveRef()]
	if exists {
		s.old = &old
	}
	s.earlier = s.earlierRef(s.at.Moved)
	if s.at.Moved != "" || !exists && !s.inTheWay {
		return nil
	}
	s.earlier.ID = "undated"
	if at, ok := old.Time(archivedAt); ok {
		s.earlier.ID = at.UTC().Format(time.RFC3339Nano)
	}
	s.earlier, err = copies.Free(ctx, src, s.earlier, messagesField) // two may be of the same instant
	return err
}

func (s state) change(run sweep.Run) sweep.Change {
	next, writes := s.at, []documents.Write(nil)
	switch stage := s.at.Stage; {
	case stage == finish && s.Found: // it is there again, and keeps its messages
		return sweep.Change{Fail: sweep.ErrChanged}
	case stage == finish && len(s.messages) == 0:
		return sweep.Change{}
	case stage == finish: // what was written after the decision gets to the archive by this commit
		writes = append(copies.Set(s.changed, s.to), sweep.Delete(s.messages...).Writes...)
		return s.withImages(goOn(next, writes...), run)

	case stage == whole && s.due && s.inTheWay:
		next = progress{Stage: move, Moved: s.earlier.ID}
	case stage == whole && s.due && !s.complete:
		next.Stage = copying
	case stage == whole && s.due:
		return s.archiveWhole(run)

	case stage == copying && s.due && !s.complete:
		next.After, writes = s.next, copies.Set(s.messages, s.to)
	case stage == copying && s.due && !s.copied: // all are copied once more
		next.Round, next.After = next.Round+1, ""
		writes = sweep.Delete(s.stale[:min(len(s.stale), s.Room, documents.MaxBatch)]...).Writes
	case stage == copying && s.due: // the decision
		next = progress{Stage: finish}
		writes = append(copies.Set(s.messages, s.to), s.archive(map[string]any{inSubcollection: true, archivedAt: run.Now})...)

	case len(s.messages) > 0:
		writes = copies.Move(s.messages, s.to)
	case stage == move && s.due:
		next.Stage = whole
	case stage != move && s.at.Moved != "": // no copies are left: what was moved is moved back
		next.Stage = move
	case s.at.Refused:
		return sweep.Change{Fail: fmt.Errorf("%s is too large for an archive in Firestore: archive it by hand", s.Path)}
	default:
		return sweep.Change{Fail: sweep.ErrChanged}
	}
	return goOn(next, writes...)
}

// goOn writes, and remembers from where the inquiry goes on.
func goOn(p progress, writes ...documents.Write) sweep.Change {
	return sweep.Change{Writes: writes, Again: archive, From: p.String(), Remember: true}
}
