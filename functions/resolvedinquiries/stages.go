package resolvedinquiries

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/functions/resolvedinquiries/copies"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/pace"
)

// An inquiry whose archive does not fit in one document does not fit in one commit either: Firestore counts what a commit
// deletes, index entries included, towards its 10 MiB. So its messages are
//
//  1. copied to archivedInquiries/{id}/messages, while nothing is deleted. The commit that copies the last of them decides:
//     it writes the archive and deletes the inquiry, if the inquiry is still due and every message has a current copy;
//  2. then deleted.
//
// Before the decision the copies are only copies, and are deleted if the inquiry stays. After it they are the archive.
//
// An archive may exist already: somebody restored the inquiry from it, or another program that was interrupted wrote it. It
// is moved to archivedInquiries/{id}/earlier/{its archivedAt}: the document in the commit that writes the new archive, and
// the messages of its subcollection before that, because they may be too many for a commit. Until that commit these messages
// lie below a document that does not exist. They are moved back if the inquiry stays.

// stage is what the next commit of an inquiry does. Between two commits a Todo remembers it, so that the next run
// continues from there if this one is killed.
type stage string

const (
	whole   stage = ""       // archives the inquiry, or finds that this takes several commits
	move    stage = "move"   // moves messages of an archive that exists already, or moves them back if the inquiry stays
	copying stage = "copy"   // copies messages to the archive and decides, or deletes the copies if the inquiry stays
	finish  stage = "finish" // deletes the messages of an inquiry that is archived
)

// copyRounds is how often an inquiry's messages are copied. If they change each time meanwhile, the inquiry stays.
const copyRounds = 3

// progress is how far an inquiry has come, as a Todo remembers it.
type progress struct {
	Stage   stage            `json:"stage,omitempty"`
	Moved   string           `json:"moved,omitempty"`   // the id of the earlier archive, to which messages are moved
	Round   int              `json:"round,omitempty"`   // how often messages changed while all were copied
	After   documents.Cursor `json:"after,omitempty"`   // behind the message that was copied last
	Refused bool             `json:"refused,omitempty"` // the inquiry stays because Firestore refuses its archive
}

// String returns the progress as a text for [parseProgress].
func (p progress) String() string {
	text, _ := json.Marshal(p) // its fields cannot fail
	return string(text)
}

func parseProgress(text string) (p progress, err error) {
	text = cmp.Or(text, progress{}.String()) // the beginning
	valid := json.Unmarshal([]byte(text), &p) == nil && p.String() == text
	known := slices.Contains([]stage{whole, move, copying, finish}, p.Stage)
	if valid = valid && known && (documents.ValidID(p.Moved) || p.Moved == "" && p.Stage != move); !valid {
		return progress{}, fmt.Errorf("what is left to do is to continue from %q, which this program did not write", text)
	}
	return p, nil
}

// state is an inquiry with what the next commit reads.
type state struct {
	cleanup.Subject
	at  progress
	due bool // to be archived

	old      *documents.Document  // the archive that exists already
	inTheWay bool                 // that archive has messages in its subcollection
	earlier  documents.Ref        // where that archive is moved
	from, to string               // the collections from which and to which messages are copied or moved; to is empty to delete them
	messages []documents.Document // the messages of this commit
	next     documents.Cursor     // behind these messages
	complete bool                 // there are no more messages
	copied   bool                 // after this commit all messages have current copies
	stale    []documents.Document // copies that are not current
	changed  []documents.Document // messages without a current copy
}

func (s state) archiveRef() documents.Ref { return documents.Ref{Collection: archives, ID: s.ID()} }

func (s state) earlierRef(name string) documents.Ref {
	return documents.Ref{Collection: s.archiveRef().Path() + "/earlier", ID: name}
}

// reach is what archiveRule does at most.
var reach = cleanup.Reach{
	Items:   inquiries,
	Deletes: []string{inquiries, inquiries + "/*/messages", archives + "/*/messages", archives + "/*/earlier/*/messages"},
	Writes:  []string{archives, archives + "/*/messages", archives + "/*/earlier", archives + "/*/earlier/*/messages"},
	Objects: []cleanup.Files{{Setting: settings.In}},
}

// archiveRule archives inquiries and deletes them. Nobody sees a half, and neither a crash nor a message that is written
// meanwhile loses anything.
func archiveRule(most int) cleanup.Rule[state] {
	return cleanup.Rule[state]{
		Name: "inquiry", Group: 1, Reach: reach,
		Load: cleanup.Each(func(s cleanup.Subject) state { return state{Subject: s} }),
		Judge: func(s state, run cleanup.Run) cleanup.Decision {
			d := judge(s.Document, run.Now, run.Promise)
			if s.From != "" { // it was due, and its stage continues or is taken back
				d = cleanup.Do(archive, "")
			} else if d.Kind == warn {
				d = cleanup.Decision{}
			}
			return d
		},
		Gather: func(ctx context.Context, src cleanup.Source, due []*state) error {
			for _, s := range due {
				if err := s.gather(ctx, src, most); err != nil {
					return err
				}
			}
			return nil
		},
		Change: func(s state, _ cleanup.Decision, run cleanup.Run) cleanup.Change { return s.change(run) },
	}
}

// gather reads what the stage needs.
func (s *state) gather(ctx context.Context, src cleanup.Source, most int) (err error) {
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
		if err := s.onlyCopies(ctx, src, most); err != nil {
			return err
		}
		s.from, s.to, s.at.After = s.to, "", ""
	}
	room := min(s.Room, pace.MaxBatch) // the room is smaller after Firestore refused a commit
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

// onlyCopies returns an error if the messages below the archive are not copies that this inquiry left, but the archive's own:
// then a Todo asks for what no run wrote, for a run moves these before it copies any.
func (s *state) onlyCopies(ctx context.Context, src cleanup.Source, most int) error {
	found, err := src.Get(ctx, []documents.Ref{s.archiveRef()})
	if err != nil || found[s.archiveRef()].Data[inSubcollection] != true {
		return err
	}
	if s.at.Moved != "" {
		moved, _, _, err := copies.Part(ctx, src, messagesOf(s.earlierRef(s.at.Moved)), "", 1, most)
		if err != nil || len(moved) > 0 {
			return err
		}
	}
	return fmt.Errorf("%s: its messages are the archive's and no copies: %w", s.archiveRef().Path(), cleanup.ErrForeign)
}

// gatherArchive reads the archive that exists already, and finds where to move it.
func (s *state) gatherArchive(ctx context.Context, src cleanup.Source) error {
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
	s.earlier, err = copies.Free(ctx, src, s.earlier, messagesField) // two archives may have the same time
	return err
}

func (s state) change(run cleanup.Run) cleanup.Change {
	next, writes := s.at, []documents.Write(nil)
	switch stage := s.at.Stage; {
	case stage == finish && s.Found: // the inquiry exists again, and keeps its messages
		return cleanup.Change{Fail: documents.ErrChanged}
	case stage == finish && len(s.messages) == 0:
		return cleanup.Change{}
	case stage == finish: // this commit also archives what was written after the decision
		writes = append(copies.Set(s.changed, s.to), cleanup.Delete(s.messages...).Writes...)
		return s.withImages(continued(next, writes...), run)

	case stage == whole && s.due && s.inTheWay:
		next = progress{Stage: move, Moved: s.earlier.ID}
	case stage == whole && s.due && !s.complete:
		next.Stage = copying
	case stage == whole && s.due:
		return s.archiveWhole(run)

	case stage == copying && s.due && !s.complete:
		next.After, writes = s.next, copies.Set(s.messages, s.to)
	case stage == copying && s.due && !s.copied: // some changed: copy all again
		next.Round, next.After = next.Round+1, ""
		writes = cleanup.Delete(s.stale[:min(len(s.stale), s.Room, pace.MaxBatch)]...).Writes
	case stage == copying && s.due: // the decision
		next = progress{Stage: finish}
		writes = append(copies.Set(s.messages, s.to), s.archive(map[string]any{inSubcollection: true, archivedAt: run.Now})...)

	case len(s.messages) > 0:
		writes = copies.Move(s.messages, s.to)
	case stage == move && s.due:
		next.Stage = whole
	case stage != move && s.at.Moved != "": // no copies are left: move back what was moved
		next.Stage = move
	case s.at.Refused:
		return cleanup.Change{Fail: fmt.Errorf("%s is too large for an archive in Firestore: archive it by hand", s.Path)}
	default:
		return cleanup.Change{Fail: documents.ErrChanged}
	}
	return continued(next, writes...)
}

// continued returns a change that writes, and after which the inquiry continues from a stage.
func continued(p progress, writes ...documents.Write) cleanup.Change {
	return cleanup.Change{Writes: writes, Again: archive, From: p.String()}
}
