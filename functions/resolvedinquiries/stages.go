package resolvedinquiries

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// stage is what the next commit of an inquiry does. Between two commits the journal remembers it, so that the next run goes on
// from there if this one is killed.
type stage string

const (
	whole   stage = ""        // archives the inquiry, or finds that this takes several commits
	move    stage = "move"    // moves messages of an archive that is there already
	copying stage = "copy"    // copies messages to the archive
	decide  stage = "decide"  // writes the archive and deletes the inquiry, if all messages are copied
	finish  stage = "finish"  // deletes messages of the inquiry that is archived
	discard stage = "discard" // deletes copies, for the inquiry stays
	back    stage = "back"    // moves messages of the earlier archive back, for the inquiry stays
)

// progress is how far an inquiry has come: what the journal remembers.
type progress struct {
	Stage   stage            `json:"stage,omitempty"`
	Moved   string           `json:"moved,omitempty"`   // the name of the earlier archive that messages are moved to
	Round   int              `json:"round,omitempty"`   // of copying, from 1 on
	After   documents.Cursor `json:"after,omitempty"`   // the message that was copied last
	Refused bool             `json:"refused,omitempty"` // the inquiry stays because Firestore takes no archive of it
}

// String returns what [parseProgress] reads.
func (p progress) String() string {
	text, _ := json.Marshal(p) // texts, a number and a bool
	return string(text)
}

func parseProgress(text string) (p progress, err error) {
	if text == "" { // the beginning
		return p, nil
	}
	valid := json.Unmarshal([]byte(text), &p) == nil && p.String() == text
	switch p.Stage {
	case whole, copying, decide, finish, discard:
		valid = valid && (p.Moved == "" || documents.ValidID(p.Moved))
	case move, back:
		valid = valid && documents.ValidID(p.Moved)
	default:
		valid = false
	}
	if !valid {
		return progress{}, fmt.Errorf("the journal says to go on from %q, which this program did not write", text)
	}
	return p, nil
}

// state is an inquiry with what the next commit reads.
type state struct {
	sweep.Subject
	at  progress
	err error // where it goes on cannot be read

	old      *documents.Document  // the archive that is there already
	inTheWay bool                 // there are messages below it
	earlier  documents.Ref        // where they go
	messages []documents.Document // what the stage works on
	complete bool                 // there are no more
	copies   []documents.Document // of messages
}

func (s state) archiveRef() documents.Ref { return documents.Ref{Collection: archives, ID: s.ID()} }

// archiveRule archives inquiries and deletes them. Nobody sees half of it, and nothing is lost to a crash or to a message
// written meanwhile.
func archiveRule(most limits) sweep.Rule[state] {
	return sweep.Rule[state]{
		Name: "inquiry", Group: 1,
		Load: func(_ context.Context, _ sweep.Source, subjects []sweep.Subject) ([]state, error) {
			states := make([]state, len(subjects))
			for i, s := range subjects {
				states[i].Subject = s
				states[i].at, states[i].err = parseProgress(s.From)
			}
			return states, nil
		},
		Judge: func(s state, run sweep.Run) sweep.Decision {
			d := judge(s.Document, run.Now, run.Promise)
			switch {
			case s.From != "":
				return sweep.Do(archive, "") // it was due, and goes on or back
			case d.Kind == warn:
				return sweep.Decision{}
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
func (s *state) gather(ctx context.Context, src sweep.Source, most limits) (err error) {
	switch s.at.Stage {
	case whole:
		return s.gatherWhole(ctx, src, most.archive)
	case decide:
		return s.gatherNames(ctx, src)
	case move, copying, finish, discard, back:
	}
	// Documents to copy, move or delete, fewer if Firestore refused a commit of more.
	next := part{from: s.at.After, first: 5, limit: min(s.Room, documents.MaxBatch), bytes: most.batch}
	from, _ := s.places()
	if s.messages, s.complete, err = read(ctx, src, from, next); err != nil {
		return err
	}
	if s.at.Stage == finish || s.at.Stage == copying && s.at.Round > 1 {
		return s.gatherCopies(ctx, src)
	}
	return nil
}

// places returns whence a stage takes messages, and where it puts them.
func (s state) places() (from documents.Query, to string) {
	inquiry, archive := messagesOf(s.Path), messagesOf(s.archiveRef().Path())
	earlier := messagesOf(s.earlierRef(s.at.Moved).Path())
	switch s.at.Stage {
	case move:
		return archive, earlier.Collection
	case back:
		return earlier, archive.Collection
	case discard:
		return namesOf(archive), ""
	default:
		return inquiry, archive.Collection
	}
}

func (s state) change(run sweep.Run) sweep.Change {
	due := !s.Refused && judge(s.Document, run.Now, run.Promise).Kind == archive
	switch stage := s.at.Stage; {
	case s.err != nil:
		return sweep.Change{Fail: s.err, Remember: true}
	case stage == finish:
		return s.finish(run)
	case !due && stage != discard && stage != back:
		return s.leave()
	case stage == whole:
		return s.archiveWhole(run)
	case stage == copying:
		return s.copyMessages()
	case stage == decide:
		return s.decide(run)
	}
	return s.clear()
}

// clear does a part of what frees a place: it moves messages to where they belong, or deletes copies. None is written over.
func (s state) clear() sweep.Change {
	switch {
	case len(s.messages) == 0 && s.at.Stage == move:
		return goOn(progress{Stage: whole, Moved: s.at.Moved})
	case len(s.messages) == 0:
		return s.leave()
	}
	writes := deletionsOf(s.messages)
	if _, to := s.places(); to != "" {
		for _, m := range s.messages {
			writes = append(writes, documents.Write{Op: documents.Create, Ref: documents.Ref{Collection: to, ID: m.ID()}, Data: m.Data})
		}
	}
	return goOn(s.at, writes...)
}

// goOn writes, and remembers from where the inquiry goes on.
func goOn(p progress, writes ...documents.Write) sweep.Change {
	return sweep.Change{Writes: writes, Again: archive, From: p.String(), Remember: true}
}

// leave goes the way back: what was copied is deleted, then what was moved is moved back. The inquiry stays.
func (s state) leave() sweep.Change {
	p := progress{Moved: s.at.Moved, Refused: s.at.Refused || s.Refused}
	switch {
	case s.at.Stage == copying || s.at.Stage == decide:
		p.Stage = discard
	case s.at.Moved != "" && s.at.Stage != back:
		p.Stage = back
	case p.Refused:
		return sweep.Change{Fail: fmt.Errorf("%s fits into no archive that Firestore takes: archive it by hand", s.Path)}
	default:
		return sweep.Change{Fail: sweep.ErrChanged}
	}
	return goOn(p)
}
