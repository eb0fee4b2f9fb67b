package placeholderusers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// world is the job and its worker on a project of their own.
type world struct{ enginetest.Pair }

func newWorld(t *testing.T) world {
	t.Helper()
	t.Parallel()
	w := world{enginetest.NewPair(t, functions.New(Job), functions.New(Worker))}
	w.Now = now
	w.writePlaces(t)
	return w
}

// writePlaces has every place written by somebody: else nothing is done.
func (w world) writePlaces(t *testing.T) {
	t.Helper()
	w.Set(t, "posts/other", map[string]any{"userId": "other"})
	w.Set(t, "comments/other", map[string]any{"userId": "other"})
	w.Set(t, "reactions/other", map[string]any{"userId": "other"})
	w.Set(t, "circles/other", map[string]any{"ownerId": "other"})
	w.Set(t, "inquiries/other", map[string]any{"userId": "other"})
	w.Set(t, "projects/other", map[string]any{"owner_ids": []any{"other"}, "maintainer_ids": []any{}, "creator_id": "other"})
	w.Set(t, "members/other", map[string]any{"user_id": nil})
	w.Set(t, "notes/other", map[string]any{"author_id": "other", "author": map[string]any{"id": "other"}})
}

// detail is one that is due; pairs of fields and values change it.
func detail(userID any, pairs ...any) map[string]any {
	return enginetest.With(map[string]any{
		"placeholder_user_id": userID, "namespace_id": nil, "deletion_attempts": int64(0), "last_deletion_attempt_at": nil,
	}, pairs...)
}

// placeholder adds a placeholder user with its detail and, if asked for, an account.
func (w world) placeholder(t *testing.T, id string, account bool, pairs ...any) {
	t.Helper()
	w.Set(t, "users/"+id, map[string]any{"user_type": "placeholder", "name": "Placeholder " + id})
	w.Set(t, details+"/d-"+id, detail(id, pairs...))
	if account {
		w.SignUp(t, id)
	}
}

// left is what is left, or expected to be.
type left struct {
	Users, Details, Accounts []string
	Unfinished               int // users whose account is yet to be deleted
}

func (w world) left(t *testing.T) left {
	t.Helper()
	l := left{w.IDs(t, "users"), w.IDs(t, details), w.Accounts(t), 0}
	l.Unfinished = len(w.Documents(t, "cleanupJobs/deletePlaceholderUser/cleanupTodo"))
	return l
}

func (w world) wantLeft(t *testing.T, l left) {
	t.Helper()
	if diff := cmp.Diff(l, w.left(t), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

const finishKind = "finish interrupted action"
