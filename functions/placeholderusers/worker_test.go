package placeholderusers

import (
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

const task = `{"placeholder_user_id":"u1"}`

// TestWorkerKeeps users of whom something is so before the worker looks, or between that and its commit.
func TestWorkerKeeps(t *testing.T) {
	for _, tt := range []struct {
		path string // of a document that is set
		data map[string]any
		kept string
		by   string // where it is referred to
	}{
		{"users/u1", map[string]any{"user_type": "human"}, keptNot, ""},
		{"users/u1", map[string]any{"user_type": 15}, keptNoType, ""},
		{"users/u1", nil, keptGone, ""},
		{"posts/p", map[string]any{"userId": "u1"}, keptReferenced, "posts.userId"},
		{"comments/c", map[string]any{"userId": "u1"}, keptReferenced, "comments.userId"},
		{"reactions/r", map[string]any{"userId": "u1"}, keptReferenced, "reactions.userId"},
		{"circles/c", map[string]any{"ownerId": "u1"}, keptReferenced, "circles.ownerId"},
		{"inquiries/i", map[string]any{"userId": "u1"}, keptReferenced, "inquiries.userId"},
		{"projects/p", map[string]any{"owner_ids": []any{"u1"}}, keptReferenced, "projects.owner_ids"},
		{"projects/p", map[string]any{"creator_id": "u1"}, keptReferenced, "projects.creator_id"},
		{"members/m", map[string]any{"user_id": "u1"}, keptReferenced, "members.user_id"},
		{"notes/n", map[string]any{"author_id": "u1"}, keptReferenced, "notes.author_id"},
		{"issues/i/notes/n", map[string]any{"author": map[string]any{"id": "u1"}}, keptReferenced, "group:notes.author.id"},
		{"projects/p", map[string]any{"maintainer_ids": []any{"u0", "u1"}}, keptReferenced, "projects.maintainer_ids"},
		{details + "/d-u1", detail("u1", "namespace_id", "g1"), keptClaimed, ""},
		{details + "/other", detail("u1", "namespace_id", "g1"), keptClaimed, ""},
	} {
		for late, actions := range map[bool]map[string]report.Counts{false: {}, true: {deleteKind: {Planned: 1, Changed: 1}}} {
			t.Run(fmt.Sprintf("%s,%s,late=%v", tt.path, tt.kept, late), func(t *testing.T) {
				w := newWorld(t)
				w.placeholder(t, "u1", true)
				var before left
				change := func() {
					if tt.data == nil {
						w.Delete(t, tt.path)
					} else {
						w.Set(t, tt.path, tt.data)
					}
					before = w.left(t)
				}
				kept, by, named := map[string]int{}, tt.by, ""
				if w.Worker.Hooks.BeforeApply = change; late {
					by = ""
				} else {
					change()
					kept[tt.kept] = 1
				}
				got := w.Worker.Run(t, task)
				enginetest.WantReport(t, got, report.Completed, actions)
				enginetest.Want(t, "kept", kept, got.Kept)
				w.wantLeft(t, before)
				for _, line := range w.Worker.LogLines(t) {
					if line["message"] == "Unable to delete placeholder user because it is still referenced in other tables" && line["severity"] == "WARNING" {
						enginetest.Want(t, "who is named", any("u1"), line["placeholder_user_id"])
						named = line["referenced_in"].(string)
					}
				}
				enginetest.Want(t, "the log's place", by, named)
			})
		}
	}
}

// TestLongIDs: what cannot be asked about is kept. A reference to a user is longer than the user's id.
func TestLongIDs(t *testing.T) {
	w := newWorld(t)
	for n, kept := range map[int]map[string]int{1477: {}, 1478: {keptLong: 1}, 1500: {keptLong: 1}} {
		id := strings.Repeat("x", n)
		w.Set(t, "users/"+id, map[string]any{"user_type": "placeholder"})
		enginetest.Want(t, fmt.Sprint(n), kept, w.Worker.RunQuery(t, "?dryRun=true", fmt.Sprintf(`{"placeholder_user_id":%q}`, id)).Kept)
	}
}

// TestUserOfManyDetails: one beyond those that are looked at might have been taken up by an import.
func TestUserOfManyDetails(t *testing.T) {
	w := newWorld(t)
	w.placeholder(t, "u1", true)
	w.SetMany(t, maxDetails, func(i int) (string, map[string]any) {
		return fmt.Sprintf("%s/e%03d", details, i), detail("u1")
	})
	got := w.Worker.Run(t, task)
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
	enginetest.Want(t, "kept", map[string]int{keptCrowded: 1}, got.Kept)
	w.Delete(t, details+"/e000")
	enginetest.WantReport(t, w.Worker.Run(t, task), report.Completed, enginetest.Done(deleteKind, 1))
	w.wantLeft(t, left{})
}

func TestWorkerLooksWhereItIsTold(t *testing.T) {
	w := newWorld(t)
	w.Worker.Env["PLACEHOLDER_REFERENCES"] = "issues.author_id"
	w.placeholder(t, "u1", false)
	w.Set(t, "posts/p", map[string]any{"userId": "u1"})
	w.Set(t, "issues/i", map[string]any{"author_id": "u1"})
	enginetest.Want(t, "kept", map[string]int{keptReferenced: 1}, w.Worker.Run(t, task).Kept)
	w.Set(t, "issues/i", map[string]any{"author_id": "u12"})
	enginetest.WantReport(t, w.Worker.Run(t, task), report.Completed, enginetest.Done(deleteKind, 1))
	enginetest.Want(t, "kept by the second delivery", map[string]int{keptGone: 1}, w.Worker.Run(t, task).Kept)
}

func TestReferencesThatAreNone(t *testing.T) {
	_, err := config.Load(func(name string) string {
		return map[string]string{"GOOGLE_CLOUD_PROJECT": "p", "PLACEHOLDER_REFERENCES": "posts"}[name]
	}, Worker.Settings, config.Firestore)
	if err == nil || !strings.Contains(err.Error(), `PLACEHOLDER_REFERENCES is "posts": it must be places such as posts.userId, projects.owner.id (id in the map owner) or group:notes.author_id`) {
		t.Errorf("Load: %v", err)
	}
}

// TestAccountThatCannotBeDeleted: the detail stays as long as there is an account, and with it the job's next attempts. A user
// who is there again keeps both.
func TestAccountThatCannotBeDeleted(t *testing.T) {
	for name, restored := range map[string]bool{"until later": false, "until the user is restored": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.placeholder(t, "u1", true)
			w.FailDelete(t, "u1", "INTERNAL_ERROR")
			enginetest.WantReport(t, w.Worker.Run(t, task), report.Failed, map[string]report.Counts{deleteKind: {Planned: 1, Failed: 1}})
			w.wantLeft(t, left{Details: []string{"d-u1"}, Accounts: []string{"u1"}, Unfinished: 1})
			w.FailDelete(t, "u1", "")
			if !restored {
				enginetest.WantReport(t, w.Run(t, ""), report.Completed, enginetest.Done(handKind, 1))
				enginetest.Want(t, "tasks", 1, w.Deliver(t))
				w.wantLeft(t, left{})
				return
			}
			w.Worker.Hooks.BeforeApply = func() { w.Set(t, "users/u1", map[string]any{"user_type": "human"}) }
			got := w.Worker.Run(t, task)
			enginetest.WantReport(t, got, report.Completed, enginetest.Done(finishKind, 1))
			enginetest.Want(t, "kept", map[string]int{"its document was restored since": 1}, got.Kept)
			w.wantLeft(t, left{Users: []string{"u1"}, Details: []string{"d-u1"}, Accounts: []string{"u1"}})
		})
	}
}

// TestDetailThatIsTakenUpWhileTheAccountGoes stays, though the user is gone.
func TestDetailThatIsTakenUpWhileTheAccountGoes(t *testing.T) {
	w := newWorld(t)
	w.placeholder(t, "u1", true)
	w.Set(t, details+"/other", detail("u1"))
	w.Worker.OnCommit(func(n int, _ *firestorepb.CommitRequest, send func() error) error {
		err := send()
		if n == 1 {
			w.Set(t, details+"/other", detail("u1", "namespace_id", "g1"))
		}
		return err
	})
	enginetest.WantReport(t, w.Worker.Run(t, task), report.Completed, enginetest.Done(deleteKind, 1))
	w.wantLeft(t, left{Details: []string{"other"}})
}
