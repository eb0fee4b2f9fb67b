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
	atOnce       = 32
)

// parts returns what commits of the item's documents can hold: mostly, one commit holds all.
func (w *whole) parts() (all [][]undo.Change) {
	bytes := 0
	for _, c := range w.changes {
		n := len(c.Path) + proto.Size(&firestorepb.MapValue{Fields: c.Before})
		last := len(all) - 1
		if last < 0 || len(all[last]) == maxDocuments || bytes+n > maxBytes {
			all, last, bytes = append(all, nil), last+1, 0
		}
		all[last], bytes = append(all[last], c), bytes+n
	}
	return all
}

// documents takes back changes of the documents of items.
func (u *undoing) documents(ctx context.Context, items []*whole) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(cmp.Or(u.AtOnce, atOnce))
	for _, it := range items {
		g.Go(func() error { return u.documentsOf(ctx, it) })
	}
	return g.Wait()
}

// documentsOf takes back changes of an item's documents.
func (u *undoing) documentsOf(ctx context.Context, it *whole) error {
	parts := it.parts()
	if len(parts) > 1 { // the last may tell why the first must stay
		for _, changes := range parts {
			now, err := u.current(ctx, changes)
			if err != nil {
				return err
			}
			it.decide(changes, now)
		}
	}
	for _, changes := range parts {
		again, sent := true, map[string]Outcome{}
		err := retry.If(ctx, func(error) bool { return again }, func(ctx context.Context) (err error) {
			again, err = u.commit(ctx, it, changes, sent)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// current returns the documents as they are.
func (u *undoing) current(ctx context.Context, changes []undo.Change) (map[string]documents.Original, error) {
	paths := make([]string, len(changes))
	for i, c := range changes {
		paths[i] = c.Path
	}
	return u.DB.Originals(ctx, paths)
}

// onlyWith says why something does not come back: a document that was deleted with it does not.
func onlyWith(path string) string {
	return "it comes back only together with " + path + ", which stays as it is"
}

// decide returns what is to be done to documents of the item. If one that the run deleted cannot come back, nothing of the item
// does. If one cannot that the run overwrote, what it created stays: that may be the only copy.
func (w *whole) decide(changes []undo.Change, now map[string]documents.Original) []Outcome {
	overwritten := ""
	outcomes := make([]Outcome, len(changes))
	for n, c := range changes {
		d, found := now[c.Path]
		step, why := c.Decide(d.Fields, found)
		outcomes[n] = Outcome{Target: c.Path, Step: step, Why: why}
		switch {
		case step != undo.Conflict || !c.Found || !c.Whole:
		case c.Exists:
			overwritten = c.Path
		default:
			w.stays = cmp.Or(w.stays, c.Path)
		}
	}
	for n := range outcomes {
		switch o := &outcomes[n]; {
		case !o.Step.Back():
		case w.stays != "":
			o.Step, o.Why = undo.Conflict, onlyWith(w.stays)
		case o.Step == undo.Remove && overwritten != "":
			o.Step, o.Why = undo.Conflict, "it may be the only copy of "+overwritten+", which stays as it is"
		}
	}
	return outcomes
}

// commit reads documents of an item as they are now, takes back what can be taken back, and tells of it. again says that another
// attempt may do better, because somebody else wrote to them meanwhile or Firestore could not. sent is what commits were to do
// whose answers were lost, by path.
func (u *undoing) commit(ctx context.Context, it *whole, changes []undo.Change, sent map[string]Outcome) (again bool, err error) {
	now, err := u.current(ctx, changes)
	if err != nil {
		return false, err
	}
	outcomes := it.decide(changes, now)
	var writes []*firestorepb.Write
	for n, c := range changes {
		if w := u.writeOf(c, outcomes[n].Step, now[c.Path]); w != nil && u.Apply {
			writes = append(writes, w)
		}
		if wanted, was := sent[c.Path]; was && outcomes[n].Step == undo.Nothing { // the commit took effect
			outcomes[n] = wanted
		}
	}
	if len(writes) == 0 {
		return false, u.tell(outcomes...)
	}
	if err := u.stillOurs(ctx); err != nil {
		return false, err
	}
	err = u.DB.Commit(ctx, writes)
	switch {
	case err == nil:
		return false, u.tell(outcomes...)
	case errors.Is(err, documents.ErrChanged):
		return true, status.Errorf(codes.Aborted, "%s keeps changing: try again later", documents.Shown(outcomes[0].Target))
	case documents.Refused(err):
		it.stays = changes[0].Path
		for n := range outcomes {
			if o := &outcomes[n]; o.Step.Back() {
				o.Step, o.Why = undo.Conflict, "Firestore refuses it: "+status.Convert(err).Message()
			}
		}
		return false, u.tell(outcomes...)
	}
	if again = retry.Transient(err); again {
		for _, o := range outcomes {
			sent[o.Target] = o
		}
	}
	return again, fmt.Errorf("write %s and %d documents more: %w", documents.Shown(outcomes[0].Target), len(outcomes)-1, err)
}

// writeOf returns the write that a step is, on the condition that the document is still as it was decided about; nil for none.
func (u *undoing) writeOf(c undo.Change, step undo.Step, now documents.Original) *firestorepb.Write {
	decided := &firestorepb.Precondition_UpdateTime{UpdateTime: timestamppb.New(now.UpdateTime)}
	same := &firestorepb.Precondition{ConditionType: decided}
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
