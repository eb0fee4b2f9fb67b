package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// Limits of one commit, and how many are under way. Firestore takes 10 MiB, its emulator 4.
const (
	maxDocuments = 100
	maxBytes     = 3 << 20
	atOnce       = 4
)

// documents takes back changes of documents, those of an item in one commit, and of several items where there is room.
func (u *undoing) documents(ctx context.Context, parts []part) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	var some []part
	size, n := 0, 0
	send := func() {
		s := &someParts{undoing: u, parts: some, unsure: map[string]Outcome{}}
		g.Go(func() error { return retry.Do(ctx, s.takeBack) })
		some, size, n = nil, 0, 0
	}
	for _, p := range parts {
		fitting := p.fitting()
		if len(fitting) > 1 { // no commit can hold it
			if err := u.look(ctx, p); err != nil {
				return errors.Join(err, g.Wait())
			}
		}
		for _, p := range fitting {
			bytes := p.bytes()
			if n > 0 && (n+len(p.changes) > maxDocuments || size+bytes > maxBytes) {
				send()
			}
			some, size, n = append(some, p), size+bytes, n+len(p.changes)
		}
	}
	if n > 0 {
		send()
	}
	return g.Wait()
}

// bytes returns how much a commit holds at most that takes the part back.
func (p part) bytes() (n int) {
	for _, c := range p.changes {
		n += bytesOf(c)
	}
	return n
}

func bytesOf(c undo.Change) int {
	return len(c.Path) + proto.Size(&firestorepb.MapValue{Fields: c.Before})
}

// fitting returns the part, or smaller ones if a commit would hold too much.
func (p part) fitting() (all []part) {
	const most = 400 // writes, of at most 500
	size := maxBytes
	for _, c := range p.changes {
		bytes := bytesOf(c)
		if size += bytes; len(all) == 0 || size > maxBytes || len(all[len(all)-1].changes) == most {
			all, size = append(all, part{item: p.item}), bytes
		}
		last := &all[len(all)-1]
		last.changes = append(last.changes, c)
	}
	return all
}

// look decides about documents, and notes whether their item must stay.
func (u *undoing) look(ctx context.Context, p part) error {
	now, err := u.current(ctx, []part{p})
	if err == nil {
		u.decide(p, now)
	}
	return err
}

// current returns the documents as they are.
func (u *undoing) current(ctx context.Context, parts []part) (map[string]documents.Original, error) {
	var paths []string
	for _, p := range parts {
		for _, c := range p.changes {
			paths = append(paths, c.Path)
		}
	}
	now := map[string]documents.Original{}
	for d, err := range u.DB.Originals(ctx, paths) {
		if err != nil {
			return nil, fmt.Errorf("read %d documents: %w", len(paths), err)
		}
		now[d.Path] = d
	}
	return now, nil
}

// onlyWith says why something does not come back: a document that was deleted with it does not.
func onlyWith(path string) string {
	return "it comes back only together with " + path + ", which stays as it is"
}

// decide returns what is to be done to the documents of a part. If one that the run deleted cannot come back, nothing of its
// item does. If one cannot that the run overwrote, what it created stays: that may be the only copy.
func (u *undoing) decide(p part, now map[string]documents.Original) []Outcome {
	u.telling.Lock()
	defer u.telling.Unlock()
	stays, overwritten := u.stays[p.item], ""
	outcomes := make([]Outcome, len(p.changes))
	for i, c := range p.changes {
		d, found := now[c.Path]
		o := Outcome{Target: c.Path}
		if o.Step, o.Why = c.Decide(d.Fields, found); o.Step == undo.Conflict && c.Found && c.Whole {
			if c.Exists {
				overwritten = c.Path
			} else {
				stays = cmp.Or(stays, c.Path)
			}
		}
		outcomes[i] = o
	}
	if stays != "" && p.item != "" {
		u.stays[p.item] = stays
	}
	for i := range outcomes {
		switch o := &outcomes[i]; {
		case !o.Step.Back():
		case stays != "":
			o.Step, o.Why = undo.Conflict, onlyWith(stays)
		case o.Step == undo.Remove && overwritten != "":
			o.Step, o.Why = undo.Conflict, "it may be the only copy of "+overwritten+", which stays as it is"
		}
	}
	return outcomes
}

// someParts are documents that are read, and written back, together.
type someParts struct {
	*undoing
	parts  []part             // to take back, or to look at again
	unsure map[string]Outcome // what a commit whose answer was lost was to do, by path
	alone  bool               // each part has a commit to itself, for Firestore has not taken that of all
}

// ready is a part that can be taken back.
type ready struct {
	part
	outcomes []Outcome
	writes   []*firestorepb.Write
}

// takeBack reads the documents as they are now and takes back what can be taken back. What somebody else writes meanwhile, and
// what Firestore could not write, is left to look at again: the error is [retry.Transient] then.
func (s *someParts) takeBack(ctx context.Context) error {
	now, err := s.current(ctx, s.parts)
	if err != nil {
		return err
	}
	var all []ready
	var left []part
	for _, p := range s.parts {
		r := ready{part: p, outcomes: s.decide(p, now)}
		for i, c := range p.changes {
			if w := s.writeOf(c, r.outcomes[i].Step, now[c.Path]); w != nil && s.Apply {
				r.writes = append(r.writes, w)
			}
			if wanted, sent := s.unsure[c.Path]; sent && r.outcomes[i].Step == undo.Nothing { // the commit took effect
				r.outcomes[i] = wanted
			}
		}
		if len(r.writes) > 0 {
			all, left = append(all, r), append(left, p)
		} else if err := s.tell(r.outcomes...); err != nil {
			return err
		}
	}
	s.parts = left
	if !s.alone && len(all) > 1 {
		err := s.commit(ctx, all...)
		if s.alone = errors.Is(err, documents.ErrChanged) || documents.Refused(err); s.alone {
			return s.takeBack(ctx)
		}
		if err == nil {
			s.parts = nil
		}
		return err
	}
	s.parts = nil
	var failed error
	for _, r := range all {
		switch err := s.commit(ctx, r); {
		case err == nil:
		case documents.Refused(err):
			if err := s.refuse(r, "Firestore refuses it: "+status.Convert(err).Message()); err != nil {
				return err
			}
		case errors.Is(err, documents.ErrChanged):
			s.parts, failed = append(s.parts, r.part), status.Errorf(codes.Aborted, "%s keeps changing: try again later", r.changes[0].Path)
		case retry.Transient(err):
			s.parts, failed = append(s.parts, r.part), err
		default:
			return err
		}
	}
	return failed
}

// commit takes parts back, all or none, and tells of it.
func (s *someParts) commit(ctx context.Context, all ...ready) error {
	var writes []*firestorepb.Write
	var outcomes []Outcome
	for _, r := range all {
		writes, outcomes = append(writes, r.writes...), append(outcomes, r.outcomes...)
	}
	err := s.stillOurs(ctx)
	if err == nil {
		err = s.DB.Commit(ctx, writes)
	}
	switch {
	case err == nil:
		return s.tell(outcomes...)
	case retry.Transient(err):
		for _, o := range outcomes {
			s.unsure[o.Target] = o
		}
	}
	return fmt.Errorf("write %s and %d documents more: %w", all[0].changes[0].Path, len(outcomes)-1, err)
}

// refuse tells that a part does not come back.
func (s *someParts) refuse(r ready, why string) error {
	for i := range r.outcomes {
		if o := &r.outcomes[i]; o.Step.Back() {
			o.Step, o.Why = undo.Conflict, why
		}
	}
	if r.item != "" {
		s.telling.Lock()
		s.stays[r.item] = r.changes[0].Path
		s.telling.Unlock()
	}
	return s.tell(r.outcomes...)
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
