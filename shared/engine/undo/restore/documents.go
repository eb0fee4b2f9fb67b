package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/retry"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// Limits of one request to Firestore, and how many are under way.
const (
	maxDocuments = 100
	maxBytes     = 4 << 20
	atOnce       = 4
)

// documents takes back changes of documents, each once.
func (u *undoing) documents(ctx context.Context, changes []undo.Change) error {
	changes = slices.DeleteFunc(changes, func(c undo.Change) bool {
		if u.chosen(c.Path) {
			return false
		}
		u.settle(c.Path, false)
		return true
	})
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for len(changes) > 0 {
		n, size := 0, 0
		for n < len(changes) && n < maxDocuments && (n == 0 || size < maxBytes) {
			for _, v := range changes[n].Before {
				size += proto.Size(v)
			}
			n++
		}
		some := someDocuments{undoing: u, left: changes[:n:n], unsure: map[string]Outcome{}}
		g.Go(func() error { return retry.Do(ctx, some.takeBack) })
		changes = changes[n:]
	}
	return g.Wait()
}

// someDocuments are documents that are read, and written back, together.
type someDocuments struct {
	*undoing
	left   []undo.Change      // to take back, or to look at again
	unsure map[string]Outcome // what a write whose answer was lost was to do, by path
}

// takeBack reads the documents as they are now and takes back what can be taken back. What somebody else writes meanwhile, and what
// Firestore could not write, is left to look at again: the error is [retry.Transient] then. What Firestore refuses because of what one
// document holds is halved down to that, lest it keep the others from coming back.
func (s *someDocuments) takeBack(ctx context.Context) error {
	now, err := s.current(ctx)
	if err != nil {
		return err
	}
	var writes []*firestorepb.Write
	var written []undo.Change
	var outcomes []Outcome
	for _, c := range s.left {
		d, found := now[c.Path]
		outcome := Outcome{Target: c.Path}
		outcome.Step, outcome.Why = c.Decide(d.Fields, found)
		if (outcome.Step == undo.Remove || outcome.Step == undo.Replace) && !s.needless(c, now) {
			outcome.Step, outcome.Why = undo.Conflict, "it is the only copy: "+c.CopyOf+" is not back as it was"
		}
		if w := s.writeOf(c, outcome.Step, d); w != nil && s.Apply {
			writes, written, outcomes = append(writes, w), append(written, c), append(outcomes, outcome)
			continue
		}
		if wanted, sent := s.unsure[c.Path]; sent && outcome.Step == undo.Nothing { // the write took effect
			outcome = wanted
		}
		if err := s.became(c, outcome); err != nil {
			return err
		}
	}
	s.left = nil
	if len(writes) == 0 {
		return nil
	}
	if err := s.stillOurs(ctx); err != nil {
		s.left = written
		return err
	}
	var refused []undo.Change
	var failed error
	note := func(err error) {
		if err != nil && (failed == nil || retry.Transient(failed)) { // what will not get better counts
			failed = err
		}
	}
	for i, err := range s.DB.BatchWrite(ctx, writes) {
		switch {
		case documents.Refused(err) && len(writes) > 1:
			refused, err = append(refused, written[i]), nil
		case documents.Refused(err):
			outcomes[i].Step, outcomes[i].Why = undo.Conflict, "Firestore refuses it: "+status.Convert(err).Message()
			err = s.became(written[i], outcomes[i])
		case err == nil:
			err = s.became(written[i], outcomes[i])
		case errors.Is(err, documents.ErrChanged):
			s.left = append(s.left, written[i])
			err = status.Errorf(codes.Aborted, "%s keeps changing: try again later", outcomes[i].Target)
		case retry.Transient(err):
			s.left, s.unsure[outcomes[i].Target] = append(s.left, written[i]), outcomes[i]
			err = fmt.Errorf("write %s: %w", outcomes[i].Target, err)
		default:
			err = fmt.Errorf("write %s: %w", outcomes[i].Target, err)
		}
		note(err)
	}
	for some := range slices.Chunk(refused, max(1, (len(refused)+1)/2)) {
		half := someDocuments{undoing: s.undoing, left: some, unsure: s.unsure}
		note(half.takeBack(ctx))
		s.left = append(s.left, half.left...)
	}
	return failed
}

// needless reports whether nothing is lost with what the run left: it is no copy, or its original is there. Of what the run did
// to the original, an earlier turn says what became; of any other, the copy must say what it says now.
func (s *someDocuments) needless(c undo.Change, now map[string]documents.Original) bool {
	if c.CopyOf == "" || s.writes[c.CopyOf] == 0 {
		original, found := now[c.CopyOf]
		return c.CopyOf == "" || found && c.Left(original.Fields)
	}
	s.telling.Lock()
	defer s.telling.Unlock()
	return s.whole[c.CopyOf]
}

// became tells what became of a document. One that there was not before is no original.
func (s *someDocuments) became(c undo.Change, o Outcome) error {
	if lost := o.Step == undo.Conflict; lost || c.Found && o.Step != undo.Stays {
		s.settle(c.Path, !lost)
	}
	return s.tell(o)
}

// current returns the documents as they are, and the originals of copies, of which the log does not tell.
func (s *someDocuments) current(ctx context.Context) (map[string]documents.Original, error) {
	var paths []string
	for _, c := range s.left {
		if paths = append(paths, c.Path); c.CopyOf != "" && s.writes[c.CopyOf] == 0 {
			paths = append(paths, c.CopyOf)
		}
	}
	now := map[string]documents.Original{}
	for d, err := range s.DB.Originals(ctx, paths) {
		if err != nil {
			return nil, fmt.Errorf("read %d documents: %w", len(paths), err)
		}
		now[d.Path] = d
	}
	return now, nil
}

// writeOf returns the write that a step is, on the condition that the document is still as it was decided about; nil for none.
func (u *undoing) writeOf(c undo.Change, step undo.Step, now documents.Original) *firestorepb.Write {
	same := &firestorepb.Precondition{ConditionType: &firestorepb.Precondition_UpdateTime{UpdateTime: timestamppb.New(now.UpdateTime)}}
	whole := &firestorepb.Document{Name: u.DB.Name(c.Path), Fields: c.Before}
	switch step {
	case undo.Recreate:
		missing := &firestorepb.Precondition{ConditionType: &firestorepb.Precondition_Exists{Exists: false}}
		return &firestorepb.Write{Operation: &firestorepb.Write_Update{Update: whole}, CurrentDocument: missing}
	case undo.Replace:
		return &firestorepb.Write{Operation: &firestorepb.Write_Update{Update: whole}, CurrentDocument: same}
	case undo.Remove:
		return &firestorepb.Write{Operation: &firestorepb.Write_Delete{Delete: whole.GetName()}, CurrentDocument: same}
	case undo.Revert:
		mask := &firestorepb.DocumentMask{}
		part := &firestorepb.Document{Name: whole.GetName(), Fields: undo.Fields{}}
		for _, field := range c.Wrote() {
			mask.FieldPaths = append(mask.FieldPaths, fieldPath(field)) // without a value: removed
			if v := c.Before[field]; v != nil {
				part.Fields[field] = v
			}
		}
		return &firestorepb.Write{Operation: &firestorepb.Write_Update{Update: part}, UpdateMask: mask, CurrentDocument: same}
	case undo.Nothing, undo.Conflict, undo.Lost, undo.Stays:
	}
	return nil
}

// fieldPath returns a top-level field's name as a path has it.
func fieldPath(field string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(field) + "`"
}
