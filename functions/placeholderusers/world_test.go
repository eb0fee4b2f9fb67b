package placeholderusers

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"firebase.google.com/go/v4/auth"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/iterator"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// world is the job and its worker on a project of their own.
type world struct {
	*sweeptest.Function
	worker *sweeptest.Function
}

func newWorld(t *testing.T) world {
	t.Helper()
	t.Parallel()
	f := sweeptest.New(t, functions.New(Job))
	if f.Tasks() == nil {
		t.Skip("only the embedded Cloud Tasks can be told to deliver")
	}
	w := world{Function: f, worker: sweeptest.On(t, functions.New(Worker), f.Project)}
	f.Now = now
	f.Env["TASKS_TARGET_URL"] = w.worker.Serve(t)
	return w
}

// placeholder adds a placeholder user with its detail and, if asked for, an account.
func (w world) placeholder(t *testing.T, id string, account bool, pairs ...any) {
	t.Helper()
	w.Set(t, "users/"+id, map[string]any{"user_type": "placeholder", "name": "Placeholder " + id})
	w.Set(t, details+"/d-"+id, detail(id, pairs...))
	if account {
		if _, err := w.Auth(t).CreateUser(t.Context(), (&auth.UserToCreate{}).UID(id)); err != nil {
			t.Fatal(err)
		}
	}
}

func (w world) remove(t *testing.T, path string) {
	t.Helper()
	if _, err := w.Firestore(t).Doc(path).Delete(t.Context()); err != nil {
		t.Error(err)
	}
}

func (w world) ids(t *testing.T, collection string) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(w.Documents(t, collection)))
}

func (w world) accounts(t *testing.T) []string {
	t.Helper()
	var uids []string
	for all := w.Auth(t).Users(t.Context(), ""); ; {
		u, err := all.Next()
		if errors.Is(err, iterator.Done) {
			slices.Sort(uids)
			return uids
		}
		if err != nil {
			t.Fatal(err)
		}
		uids = append(uids, u.UID)
	}
}

// left is what a test expects to be left. Nil means none.
type left struct {
	Users, Details, Accounts []string
	Unfinished               int // users whose account is yet to be deleted
}

func (w world) wantLeft(t *testing.T, l left) {
	t.Helper()
	got := left{w.ids(t, "users"), w.ids(t, details), w.accounts(t), len(w.ids(t, earlier.Collection))}
	for _, entry := range w.Documents(t, "cleanupJobs/deletePlaceholderUser/journal") {
		if entry["open"] == true {
			got.Unfinished++
		}
	}
	if diff := cmp.Diff(l, got); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// deliver delivers all tasks and returns how many.
func (w world) deliver(t *testing.T) int {
	t.Helper()
	n, err := w.Tasks().Deliver(t.Context(), time.Now().Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const finishKind = "finish interrupted action"
