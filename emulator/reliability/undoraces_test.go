package reliability

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/storage"
	"firebase.google.com/go/v4/auth"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/googleapi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// edit is what a user does to a thing that an undo is to bring back.
type edit struct {
	target string
	fields map[string]any // of a document: what the user writes into it; all of one that is gone
	spares bool           // they are none that the run wrote, so the others are brought back all the same

	wrote  bool // the user did
	inTime bool // before it was brought back
}

// byUser is what users write.
const byUser = "by a user"

// edits chooses something of each kind that an undo is to bring back: outcomes is what it says that it would do.
func edits(outcomes []restore.Outcome, before, after map[string]any, at int) (all []*edit) {
	slices.SortFunc(outcomes, func(a, b restore.Outcome) int { return strings.Compare(a.Target, b.Target) })
	some := map[string]int{}
	for _, o := range outcomes {
		kind := string(o.Step)
		if isObject, isAccount := strings.HasPrefix(o.Target, "gs://"), strings.HasPrefix(o.Target, "account "); isObject || isAccount {
			kind += o.Target[:2]
		}
		e := &edit{target: o.Target, fields: map[string]any{"written": byUser}}
		most := 1
		switch o.Step {
		case undo.Nothing, undo.Stays, undo.Conflict, undo.Lost:
			continue
		case undo.Revert:
			most = 2
			if e.spares = (some[kind]+at)%2 == 0; !e.spares {
				e.fields = map[string]any{changedField(before[o.Target], after[o.Target]): byUser}
			}
		case undo.Recreate, undo.Replace, undo.Remove:
		}
		if some[kind]++; some[kind] <= most {
			all = append(all, e)
		}
	}
	return all
}

// changedField returns the first field that is not the same in two states of a document.
func changedField(before, after any) string {
	was, _ := before.(map[string]any)
	is, _ := after.(map[string]any)
	return slices.Min(slices.Collect(maps.Keys(enginetest.Changes(was, is))))
}

// do does it, unless it is too late to: a document that is gone is created anew, one that is there is updated, an object is
// uploaded again, and an account is made for the same id.
func (e *edit) do(ctx context.Context, w *world, after map[string]any) error {
	if name, isObject := strings.CutPrefix(e.target, "gs://"+w.Bucket+"/"); isObject {
		upload := w.content.Bucket.Object(name).If(storage.Conditions{DoesNotExist: true}).NewWriter(ctx)
		upload.ChunkSize, upload.Metadata = 0, map[string]string{"written": byUser}
		_, err := upload.Write([]byte(byUser))
		err = errors.Join(err, upload.Close())
		var refusal *googleapi.Error
		if errors.As(err, &refusal) && refusal.Code == http.StatusPreconditionFailed {
			return nil
		}
		e.wrote, e.inTime = err == nil, err == nil
		return err
	}
	if uid, isAccount := strings.CutPrefix(e.target, "account "); isAccount {
		_, err := w.content.Auth.CreateUser(ctx, new(auth.UserToCreate).UID(uid).DisplayName(byUser))
		if auth.IsUIDAlreadyExists(err) {
			return nil
		}
		e.wrote, e.inTime = err == nil, err == nil
		return err
	}
	return e.write(ctx, w.content.Firestore.Doc(e.target), after[e.target])
}

// write writes to a document, which the run left as after, nil for gone.
func (e *edit) write(ctx context.Context, ref *firestore.DocumentRef, after any) error {
	for range attempts {
		d, err := ref.Get(ctx)
		switch {
		case err != nil && !missing(err):
			return err
		case d.Exists() != (after != nil): // it is back already, or gone already
			return nil
		case after == nil:
			_, err = ref.Create(ctx, e.fields)
		default:
			var updates []firestore.Update
			for field, value := range e.fields {
				updates = append(updates, firestore.Update{Path: field, Value: value})
			}
			_, err = ref.Update(ctx, updates, firestore.LastUpdateTime(d.UpdateTime))
		}
		switch status.Code(err) {
		case codes.OK:
			e.wrote, e.inTime = true, after == nil || cmp.Equal(any(d.Data()), after)
			return nil
		case codes.FailedPrecondition, codes.NotFound, codes.AlreadyExists: // look again
		default:
			return err
		}
	}
	return fmt.Errorf("write to %s: it changes all the time", e.target)
}

// expect says what must be there in the end: what the user wrote, in a document that the undo has left as the run did, or has
// brought back. Each line names something wrong with what the undo says.
func (e *edit) expect(want, after map[string]any, outcomes []restore.Outcome) (lines []string) {
	if !e.wrote {
		return nil
	}
	conflict, blocked := e.isConflict(outcomes)
	if must := e.inTime && !e.spares; conflict != must && !blocked {
		lines = append(lines, fmt.Sprintf("%s: the user wrote in time: %v; that this is a conflict, says the undo: %v", e.target,
			e.inTime, conflict))
	}
	switch left := want[e.target]; {
	case strings.HasPrefix(e.target, "gs://"):
		want[e.target] = map[string]string{"written": byUser}
	case strings.HasPrefix(e.target, "account "):
		want[e.target] = byUser
	default:
		if conflict {
			left = after[e.target]
		}
		fields, _ := left.(map[string]any)
		document := maps.Clone(e.fields)
		for field, value := range fields {
			if _, written := document[field]; !written {
				document[field] = value
			}
		}
		want[e.target] = document
	}
	return lines
}

func (e *edit) isConflict(outcomes []restore.Outcome) (conflict, blocked bool) {
	for _, o := range outcomes {
		if o.Target == e.target && (o.Step == undo.Conflict || o.Step == undo.Lost) {
			conflict, blocked = true, blocked || staysWith(o) != ""
		}
	}
	return conflict, blocked
}

// tryUndoRace takes a run back while users write to what is to come back.
func tryUndoRace(t *testing.T, s subject, _ *expected, p point) (lines []string, steps *Steps) {
	t.Helper()
	w := newWorld(t, s)
	before := w.state(t)
	w.run(t, Undisturbed())
	after, runs := w.state(t), enginetest.LoggedRuns(t, w.content.Firestore)
	foretold, _, err := w.undo(t, Undisturbed(), runs, restore.Options{})
	ok(t, err)
	users := edits(foretold, before, after, p.at)
	steps = At(p.at, Fault{first: func() {
		for _, e := range users {
			if err := e.do(t.Context(), w, after); err != nil {
				t.Errorf("%s: %v", e.target, err)
			}
		}
	}})
	outcomes, _, err := w.undo(t, steps, runs, apply)
	if err != nil {
		lines = append(lines, err.Error())
	}
	want := maps.Clone(before)
	for _, o := range outcomes { // with what a user has written to, the rest of its item stays
		path := staysWith(o)
		if path == "" || !slices.ContainsFunc(users, func(e *edit) bool { return e.wrote && e.target == path }) {
			continue
		}
		if delete(want, o.Target); after[o.Target] != nil {
			want[o.Target] = after[o.Target]
		}
	}
	for _, e := range users {
		if p.at == 1 && !e.inTime {
			t.Errorf("%s: before the first call nobody is too late", e.target)
		}
		lines = append(lines, e.expect(want, after, outcomes)...)
	}
	if lines = append(lines, w.notBack(t, want, after)...); len(lines) > 0 {
		var all []string
		for _, e := range users {
			all = append(all, fmt.Sprintf("%s (wrote %v, in time %v)", e.target, e.wrote, e.inTime))
		}
		t.Logf("before call %d users wrote to: %s", p.at, strings.Join(all, ", "))
	}
	return lines, steps
}

// staysWith returns the document because of which a thing stays as it is; empty if none.
func staysWith(o restore.Outcome) string {
	for _, text := range []string{"it comes back only together with ", "it may be the only copy of "} {
		if path, is := strings.CutPrefix(o.Why, text); is {
			return strings.TrimSuffix(path, ", which stays as it is")
		}
	}
	return ""
}
