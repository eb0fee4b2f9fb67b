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

// Limits of one commit, and how many are under way. Firestore takes 10 MiB and 500 writes, its emulator 4 MiB.
const (
	maxDocuments = 400
	maxBytes     = 3 << 20
	atOnce       = 4
)

// room is what a commit holds so far.
type room struct{ documents, bytes int }

// add adds a change, unless the commit would hold too much.
func (r *room) add(of ...undo.Change) (fits bool) {
	all := room{r.documents + len(of), r.bytes}
	for _, c := range of {
		all.bytes += len(c.Path) + proto.Size(&firestorepb.MapValue{Fields: c.Before})
	}
	if fits = *r == (room{}) || all.documents <= maxDocuments && all.bytes <= maxBytes; fits {
		*r = all
	}
	return fits
}

// part is some of an item's documents: all, if one commit can hold them.
type part struct {
	of      *item
	changes []undo.Change
}

// parts returns what commits of the item's documents can hold.
func (i *item) parts() (all []part) {
	var held room
	for _, c := range i.changes {
		if len(all) == 0 || !held.add(c) {
			all, held = append(all, part{of: i}), room{}
			held.add(c)
		}
		last := &all[len(all)-1]
		last.changes = append(last.changes, c)
	}
	return all
}

// documents takes back changes of documents, those of an item in one commit, and of several items where there is room.
func (u *undoing) documents(ctx context.Context, items []*item) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	var some []part
	var held room
	send := func() {
		left, unsure := some, map[string]Outcome{}
		g.Go(func() error {
			return retry.If(ctx, func(error) bool { return len(left) > 0 }, func(ctx context.Context) (err error) {
				left, err = u.commit(ctx, left, unsure)
				return err
			})
		})
		some, held = nil, room{}
	}
	for _, i := range items {
		parts := i.parts()
		for _, p := range parts {
			if len(parts) > 1 { // the last may tell why the first must stay
				if err := u.look(ctx, p); err != nil {
					return errors.Join(err, g.Wait())
				}
			}
		}
		for _, p := range parts {
			if !held.add(p.changes...) {
				send()
				held.add(p.changes...)
			}
			some = append(some, p)
		}
	}
	if len(some) > 0 {
		send()
	}
	return g.Wait()
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

// decide returns what is to be done to documents of an item. If one that the run deleted cannot come back, nothing of the item
// does. If one cannot that the run overwrote, what it created stays: that may be the only copy.
func (u *undoing) decide(p part, now map[string]documents.Original) []Outcome {
	u.telling.Lock()
	defer u.telling.Unlock()
	overwritten := ""
	outcomes := make([]Outcome, len(p.changes))
	for i, c := range p.changes {
		d, found := now[c.Path]
		step, why := c.Decide(d.Fields, found)
		outcomes[i] = Outcome{Target: c.Path, Step: step, Why: why}
		switch {
		case step != undo.Conflict || !c.Found || !c.Whole:
		case c.Exists:
			overwritten = c.Path
		default:
			p.of.stays = cmp.Or(p.of.stays, c.Path)
		}
	}
	for i := range outcomes {
		switch o := &outcomes[i]; {
		case !o.Step.Back():
		case p.of.stays != "":
			o.Step, o.Why = undo.Conflict, onlyWith(p.of.stays)
		case o.Step == undo.Remove && overwritten != "":
			o.Step, o.Why = undo.Conflict, "it may be the only copy of "+overwritten+", which stays as it is"
		}
	}
	return outcomes
}

// commit reads the documents as they are now, takes back what can be taken back, all in one commit or else each part in its own,
// and tells of it. left are the parts to try again, because somebody else wrote to them meanwhile or Firestore could not; after
// any other error there are none. unsure is what commits were to do whose answers were lost, by path.
func (u *undoing) commit(ctx context.Context, parts []part, unsure map[string]Outcome) (left []part, err error) {
	now, err := u.current(ctx, parts)
	if err != nil {
		return nil, err
	}
	var outcomes []Outcome
	var writes []*firestorepb.Write
	for _, p := range parts {
		before := len(writes)
		of := u.decide(p, now)
		for i, c := range p.changes {
			if w := u.writeOf(c, of[i].Step, now[c.Path]); w != nil && u.Apply {
				writes = append(writes, w)
			}
			if wanted, sent := unsure[c.Path]; sent && of[i].Step == undo.Nothing { // the commit took effect
				of[i] = wanted
			}
		}
		if len(writes) > before {
			left, outcomes = append(left, p), append(outcomes, of...)
		} else if err := u.tell(of...); err != nil {
			return nil, err
		}
	}
	if len(writes) == 0 {
		return nil, nil
	}
	if err = u.stillOurs(ctx); err != nil {
		return nil, err
	}
	err = u.DB.Commit(ctx, writes)
	changed, refused := errors.Is(err, documents.ErrChanged), documents.Refused(err)
	switch {
	case err == nil:
		return nil, u.tell(outcomes...)
	case (changed || refused) && len(left) > 1: // one part may stand in the way of the others
		return u.commitEach(ctx, left, unsure)
	case refused:
		return nil, u.refuse(left[0], outcomes, "Firestore refuses it: "+status.Convert(err).Message())
	case changed:
		return left, status.Errorf(codes.Aborted, "%s keeps changing: try again later", outcomes[0].Target)
	case retry.Transient(err):
		for _, o := range outcomes {
			unsure[o.Target] = o
		}
	default:
		left = nil
	}
	return left, fmt.Errorf("write %s and %d documents more: %w", outcomes[0].Target, len(outcomes)-1, err)
}

// commitEach is [undoing.commit] with a commit for each part.
func (u *undoing) commitEach(ctx context.Context, parts []part, unsure map[string]Outcome) (left []part, failed error) {
	for _, p := range parts {
		again, err := u.commit(ctx, []part{p}, unsure)
		if err != nil && len(again) == 0 {
			return nil, err
		}
		left, failed = append(left, again...), cmp.Or(failed, err)
	}
	return left, failed
}

// refuse tells that a part does not come back.
func (u *undoing) refuse(p part, outcomes []Outcome, why string) error {
	for i := range outcomes {
		if o := &outcomes[i]; o.Step.Back() {
			o.Step, o.Why = undo.Conflict, why
		}
	}
	u.telling.Lock()
	p.of.stays = p.changes[0].Path
	u.telling.Unlock()
	return u.tell(outcomes...)
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
