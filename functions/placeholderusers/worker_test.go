package placeholderusers

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

const task = `{"placeholder_user_id":"u1"}`

func TestWorkerDeletesUserAccountAndDetail(t *testing.T) {
	for name, account := range map[string]bool{"with an account": true, "without": false} {
		t.Run(name, func(t *testing.T) { deletesUser(t, account) })
	}
}

func deletesUser(t *testing.T, account bool) {
	t.Helper()
	w := newWorld(t)
	w.placeholder(t, "u1", account)
	w.placeholder(t, "u12", true) // its neighbour
	w.Set(t, "posts/p1", map[string]any{"userId": "u12"})
	sweeptest.WantReport(t, w.worker.Run(t, task), sweep.Completed, sweeptest.Done(deleteKind, 1))
	neighbour := left{Users: []string{"u12"}, Details: []string{"d-u12"}, Accounts: []string{"u12"}}
	w.wantLeft(t, neighbour)
	got := w.worker.Run(t, task) // run twice
	sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{})
	sweeptest.Want(t, "kept", map[string]int{keptGone: 1}, got.Kept)
	w.wantLeft(t, neighbour)
}

func TestWorkerKeeps(t *testing.T) {
	for name, tt := range map[string]struct {
		path string // of a document that is set
		data map[string]any
		kept string
		by   string // where it is referred to
	}{
		"a human":                   {"users/u1", map[string]any{"user_type": "human"}, keptNot, ""},
		"a user of no type":         {"users/u1", map[string]any{}, keptNot, ""},
		"of another type's case":    {"users/u1", map[string]any{"user_type": "Placeholder"}, keptNot, ""},
		"a post's author":           {"posts/p", map[string]any{"userId": "u1"}, keptReferenced, "posts.userId"},
		"a comment's author":        {"comments/c", map[string]any{"userId": "u1"}, keptReferenced, "comments.userId"},
		"one of a project's owners": {"projects/p", map[string]any{"owner_ids": []any{"u0", "u1"}}, keptReferenced, "projects.owner_ids"},
		"one of its maintainers":    {"projects/p", map[string]any{"maintainer_ids": []any{"u1"}}, keptReferenced, "projects.maintainer_ids"},
		"a member":                  {"members/m", map[string]any{"user_id": "u1"}, keptReferenced, "members.user_id"},
		"one of several members":    {"members/m", map[string]any{"user_id": []any{"u1"}}, keptReferenced, "members.user_id"},
		"in a list of one":          {"posts/p", map[string]any{"userId": []any{"u1"}}, keptReferenced, "posts.userId"},
		"claimed by an import":      {details + "/d-u1", detail("u1", "namespace_id", "g1"), keptClaimed, ""},
		"claimed, of two details":   {details + "/other", detail("u1", "namespace_id", "g1"), keptClaimed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.placeholder(t, "u1", true)
			w.Set(t, tt.path, tt.data)
			before := left{w.ids(t, "users"), w.ids(t, details), w.accounts(t), 0}
			got := w.worker.Run(t, task)
			sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{})
			sweeptest.Want(t, "kept", map[string]int{tt.kept: 1}, got.Kept)
			w.wantLeft(t, before)
			var logged []any
			for _, line := range w.worker.LogLines(t) {
				if line["message"] == "Unable to delete placeholder user because it is still referenced in other tables" && line["severity"] == "WARNING" {
					logged = append(logged, line["placeholder_user_id"], line["referenced_in"])
				}
			}
			var wantLogged []any
			if tt.by != "" {
				wantLogged = []any{"u1", tt.by}
			}
			sweeptest.Want(t, "logged", wantLogged, logged)
		})
	}
}

// TestReferencesByNumberOrPath: what refers to users/42 may say 42, and what refers to a user may be a reference.
func TestReferencesByNumberOrPath(t *testing.T) {
	w := newWorld(t)
	w.placeholder(t, "42", true)
	body := `{"placeholder_user_id":"42"}`
	users := func(id string) any { return w.Firestore(t).Doc("users/" + id) }
	long := strings.Repeat("x", 1500)
	for _, tt := range []struct {
		field, reference any
		kept             bool
	}{
		{"owner_ids", []any{int64(7), int64(42)}, true}, {"owner_ids", int64(42), true}, {"owner_ids", "42", true}, {"owner_ids", []any{"42"}, true},
		{"owner_ids", 42.0, true}, {"owner_ids", []any{42.0}, true}, {"owner_ids", users("42"), true}, {"owner_ids", []any{users("42")}, true},
		{"owner_ids", []any{int64(4), int64(2), "042", 42.5, long, users("4"), w.Firestore(t).Doc("members/42")}, false},
	} {
		w.Set(t, "projects/p", map[string]any{tt.field.(string): tt.reference})
		got := w.worker.RunQuery(t, "?dryRun=true", body)
		if kept := got.Kept[keptReferenced] == 1; got.Status != sweep.Completed || kept != tt.kept {
			t.Errorf("%v: %s, kept %v, want %v", tt.reference, got.Status, got.Kept, tt.kept)
		}
	}
	// The last of them is none. The commit asks again.
	w.worker.Hooks.BeforeApply = func() { w.Set(t, "members/m", map[string]any{"user_id": 42}) }
	sweeptest.WantReport(t, w.worker.Run(t, body), sweep.Completed, map[string]sweep.Counts{deleteKind: {Planned: 1, Changed: 1}})
	w.worker.Hooks.BeforeApply = nil
	w.Set(t, "members/m", map[string]any{"user_id": 4})
	sweeptest.WantReport(t, w.worker.Run(t, body), sweep.Completed, sweeptest.Done(deleteKind, 1))
	w.wantLeft(t, left{})
}

// TestLongIDs: what cannot be asked about is kept, and the job does the rest. A reference to a user is longer than the user's
// id, so the worker knows of some that the job has handed over.
func TestLongIDs(t *testing.T) {
	w := newWorld(t)
	id := func(n int) string { return strings.Repeat("x", n) }
	for _, n := range []int{1477, 1478, 1499, 1500} {
		w.Set(t, "users/"+id(n), map[string]any{"user_type": "placeholder"})
		w.Set(t, fmt.Sprint(details, "/d", n), detail(id(n)))
	}
	w.placeholder(t, "u1", true)
	got := w.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, sweeptest.Done(handKind, 4))
	sweeptest.Want(t, "kept", map[string]int{keptLongUser: 1}, got.Kept)
	if n := w.deliver(t); n != 4 {
		t.Errorf("%d tasks, want 4", n)
	}
	w.wantLeft(t, left{Users: []string{id(1478), id(1499), id(1500)}, Details: []string{"d1478", "d1499", "d1500"}})
	for _, n := range []int{1478, 1499, 1500} {
		got := w.worker.Run(t, fmt.Sprintf(`{"placeholder_user_id":%q}`, id(n)))
		sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{})
		sweeptest.Want(t, "kept", map[string]int{keptLong: 1}, got.Kept)
	}
}

// TestUserOfManyDetails: one beyond those that are looked at might have been taken up by an import.
func TestUserOfManyDetails(t *testing.T) {
	w := newWorld(t)
	w.placeholder(t, "u1", true)
	w.SetMany(t, maxDetails, func(i int) (string, map[string]any) {
		return fmt.Sprintf("%s/e%03d", details, i), detail("u1")
	})
	got := w.worker.Run(t, task)
	sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{})
	sweeptest.Want(t, "kept", map[string]int{keptCrowded: 1}, got.Kept)
	if _, err := w.Firestore(t).Doc(details + "/e000").Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	sweeptest.WantReport(t, w.worker.Run(t, task), sweep.Completed, sweeptest.Done(deleteKind, 1))
	w.wantLeft(t, left{})
}

func TestWorkerLooksWhereItIsTold(t *testing.T) {
	w := newWorld(t)
	w.worker.Env["PLACEHOLDER_REFERENCES"] = "issues.author_id"
	w.placeholder(t, "u1", false)
	w.Set(t, "posts/p", map[string]any{"userId": "u1"})
	w.Set(t, "issues/i", map[string]any{"author_id": "u1"})
	sweeptest.Want(t, "kept", map[string]int{keptReferenced: 1}, w.worker.Run(t, task).Kept)
	w.Set(t, "issues/i", map[string]any{"author_id": "u12"})
	sweeptest.WantReport(t, w.worker.Run(t, task), sweep.Completed, sweeptest.Done(deleteKind, 1))
}

func TestChangedBeforeTheWorkersCommit(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, w world){
		"became human":    func(t *testing.T, w world) { w.Set(t, "users/u1", map[string]any{"user_type": "human"}) },
		"was referred to": func(t *testing.T, w world) { w.Set(t, "posts/p", map[string]any{"userId": "u1"}) },
		"was claimed":     func(t *testing.T, w world) { w.Set(t, details+"/d-u1", detail("u1", "namespace_id", "g1")) },
		"was deleted by somebody else": func(t *testing.T, w world) {
			if _, err := w.Firestore(t).Doc("users/u1").Delete(t.Context()); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.placeholder(t, "u1", true)
			w.worker.Hooks.BeforeApply = func() { change(t, w) }
			sweeptest.WantReport(t, w.worker.Run(t, task), sweep.Completed, map[string]sweep.Counts{deleteKind: {Planned: 1, Changed: 1}})
			sweeptest.Want(t, "accounts", []string{"u1"}, w.accounts(t))
			sweeptest.Want(t, "details", []string{"d-u1"}, w.ids(t, details))
		})
	}
}

func TestAccountThatCannotBeDeleted(t *testing.T) {
	w := newWorld(t)
	w.placeholder(t, "u1", true)
	w.FailDelete(t, "u1", "INTERNAL_ERROR")
	got := w.worker.Run(t, task)
	sweeptest.WantReport(t, got, sweep.Failed, map[string]sweep.Counts{deleteKind: {Planned: 1, Failed: 1}})
	w.wantLeft(t, left{Details: []string{"d-u1"}, Accounts: []string{"u1"}, Unfinished: 1})
	// Cloud Tasks tries again; so would the job's next attempt, for the detail is still there.
	sweeptest.WantReport(t, w.worker.Run(t, task), sweep.Failed, map[string]sweep.Counts{finishKind: {Planned: 1, Failed: 1}})
	w.FailDelete(t, "u1", "")
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(handKind, 1))
	if n := w.deliver(t); n != 1 {
		t.Errorf("%d tasks", n)
	}
	w.wantLeft(t, left{})
}

func TestUserWhoIsThereAgainKeepsTheAccount(t *testing.T) {
	w := newWorld(t)
	w.placeholder(t, "u1", true)
	w.FailDelete(t, "u1", "INTERNAL_ERROR")
	w.worker.Run(t, task)
	w.FailDelete(t, "u1", "")
	w.worker.Hooks.BeforeApply = func() { w.Set(t, "users/u1", map[string]any{"user_type": "human"}) }
	got := w.worker.Run(t, task)
	sweeptest.WantReport(t, got, sweep.Completed, sweeptest.Done(finishKind, 1))
	sweeptest.Want(t, "kept", map[string]int{"its document was restored since": 1}, got.Kept)
	w.wantLeft(t, left{Users: []string{"u1"}, Details: []string{"d-u1"}, Accounts: []string{"u1"}})
}

// TestDetailThatIsTakenUpWhileTheAccountGoes stays, though the user is gone.
func TestDetailThatIsTakenUpWhileTheAccountGoes(t *testing.T) {
	w := newWorld(t)
	w.placeholder(t, "u1", true)
	w.Set(t, details+"/other", detail("u1"))
	w.worker.OnCommit(func(n int, _ *firestorepb.CommitRequest, send func() error) error {
		err := send()
		if n == 1 {
			w.Set(t, details+"/other", detail("u1", "namespace_id", "g1"))
		}
		return err
	})
	sweeptest.WantReport(t, w.worker.Run(t, task), sweep.Completed, sweeptest.Done(deleteKind, 1))
	w.wantLeft(t, left{Details: []string{"other"}})
}

// TestRecordsOfEarlierVersions are of users whose document they deleted, and whose account and details are left.
func TestRecordsOfEarlierVersions(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"u1", "u12", "u2"} {
		w.placeholder(t, id, true)
		w.Set(t, earlier.Collection+"/"+id, map[string]any{"at": now})
	}
	for _, id := range []string{"u1", "u12"} {
		if _, err := w.Firestore(t).Doc("users/" + id).Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.Set(t, "posts/p", map[string]any{"userId": "u2"})
	sweeptest.WantReport(t, w.worker.Run(t, task), sweep.Completed, sweeptest.Done(finishKind, 1))
	others := left{Users: []string{"u2"}, Details: []string{"d-u12", "d-u2"}, Accounts: []string{"u12", "u2"}, Unfinished: 2}
	w.wantLeft(t, others)
	// u2 is there again: nothing of it goes.
	sweeptest.WantReport(t, w.worker.Run(t, `{"placeholder_user_id":"u2"}`), sweep.Completed, sweeptest.Done(finishKind, 1))
	others.Unfinished = 1
	w.wantLeft(t, others)

	w.Set(t, earlier.Collection+"/u12", map[string]any{"note": "somebody else's"})
	got := w.worker.Run(t, `{"placeholder_user_id":"u12"}`)
	sweeptest.WantReport(t, got, sweep.Failed, map[string]sweep.Counts{finishKind: {Planned: 1, Failed: 1}})
	w.wantLeft(t, others)
}

func TestWorkerPreviews(t *testing.T) {
	w := newWorld(t)
	w.placeholder(t, "u1", true)
	got := w.worker.RunQuery(t, "?dryRun=true", task)
	sweeptest.Want(t, "plan", []sweep.Planned{{Target: "users/u1", Action: deleteKind, Reason: "a placeholder, and nothing refers to it",
		Writes: []string{"delete users/u1", "delete account u1", "delete " + details + "/d-u1"}}}, got.Plan)
	w.wantLeft(t, left{Users: []string{"u1"}, Details: []string{"d-u1"}, Accounts: []string{"u1"}})
}

func TestWorkerRefusesWrongTasks(t *testing.T) {
	w := newWorld(t)
	for body, say := range map[string]string{
		`{"placeholder_user_id":"a/b"}`: "cannot be a document's id",
		`{"placeholder_user_id":".."}`:  "cannot be a document's id",
		`{"placeholder_user_id":7}`:     "must be a string",
		`{}`:                            "missing or empty",
	} {
		if got := w.worker.Post(t, body); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), say) {
			t.Errorf("%s: %d %s", body, got.Code, got.Body)
		}
	}
}
