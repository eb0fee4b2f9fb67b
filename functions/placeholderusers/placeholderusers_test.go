package placeholderusers

import (
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// TestPlacesThatNobodyWrote: a misspelt place, in which nothing ever refers to anybody, is named; if all are, nothing is done,
// and no attempt counts.
func TestPlacesThatNobodyWrote(t *testing.T) {
	w := newWorld(t)
	w.placeholder(t, "u1", true)
	w.Env["PLACEHOLDER_REFERENCES"] = "posts.userID,projects.owner_ids,comments.user.id"
	want := []string{
		"no document has the field posts.userID of PLACEHOLDER_REFERENCES: is it spelt as your application writes it?",
		"no document has the field comments.user.id of PLACEHOLDER_REFERENCES: is it spelt as your application writes it?",
	}
	got := w.Run(t, `{"dryRun":true}`)
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{handKind: {Planned: 1}})
	enginetest.Want(t, "warnings", want, got.Warnings)

	w.Env["PLACEHOLDER_REFERENCES"] = "posts.userID,comments.user.id"
	w.Worker.Env["PLACEHOLDER_REFERENCES"] = w.Env["PLACEHOLDER_REFERENCES"]
	const problem = "PLACEHOLDER_REFERENCES: no document has any of the fields posts.userID, comments.user.id: make sure that they are spelt"
	for name, got := range map[string]*report.Report{"the job": w.Run(t, ""), "the worker": w.Worker.Run(t, task)} {
		planned := map[string]report.Counts{}
		if name == "the worker" {
			planned[deleteKind] = report.Counts{Planned: 1}
		}
		enginetest.WantReport(t, got, report.Aborted, planned)
		if len(got.Failures) != 1 || !strings.Contains(got.Failures[0].Error, problem) {
			t.Errorf("%s: failures %v", name, got.Failures)
		}
	}
	w.wantLeft(t, left{Users: []string{"u1"}, Details: []string{"d-u1"}, Accounts: []string{"u1"}})
	enginetest.Want(t, "the detail", detail("u1"), w.Documents(t, details)["d-u1"])
	enginetest.WantReport(t, w.Worker.Run(t, `{"placeholder_user_id":"gone"}`), report.Completed, map[string]report.Counts{}) // nothing to do
	// As soon as one is written, even as null or deep in a map, it is a place again.
	w.Set(t, "comments/c", map[string]any{"user": map[string]any{"id": "u1"}})
	enginetest.Want(t, "kept", map[string]int{keptReferenced: 1}, w.Worker.Run(t, task).Kept)
	w.Set(t, "comments/c", map[string]any{"user": map[string]any{"id": nil}})
	w.Now = now.Add(tick) // an aborted run is not made again for the same time
	got = w.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done(handKind, 1))
	enginetest.Want(t, "warnings", want[:1], got.Warnings)
	enginetest.WantReport(t, w.Worker.Run(t, task), report.Completed, enginetest.Done(deleteKind, 1))
}

// TestUserTypeThatIsNoText: no attempt is used up for a user whom the worker cannot judge.
func TestUserTypeThatIsNoText(t *testing.T) {
	w := newWorld(t)
	for id, kind := range map[string]any{"number": 15, "unset": nil, "human": "human", "real": "placeholder"} {
		w.placeholder(t, id, false)
		w.Set(t, "users/"+id, map[string]any{"user_type": kind})
	}
	w.placeholder(t, "gone", false)
	w.Delete(t, "users/gone")
	got := w.Run(t, "")
	enginetest.WantKept(t, got, report.Completed, enginetest.Done(handKind, 3), map[string]int{keptBadUser: 2})
	enginetest.Want(t, "the detail", detail("number"), w.Documents(t, details)["d-number"])
	got = w.Worker.Run(t, `{"placeholder_user_id":"number"}`)
	enginetest.Want(t, "kept by the worker", map[string]int{keptNoType: 1}, got.Kept)
}

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
func (w world) placeholder(t *testing.T, id string, account bool) {
	t.Helper()
	w.Set(t, "users/"+id, map[string]any{"user_type": "placeholder", "name": "Placeholder " + id})
	w.Set(t, details+"/d-"+id, detail(id))
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
	check.Same(t, "left", l, w.left(t), cmpopts.EquateEmpty())
}

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
				enginetest.WantKept(t, w.Worker.Run(t, task), report.Completed, actions, kept)
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

// TestWorkerUnderWayIsHeld: Cloud Tasks delivers a task twice, and an undo takes back what one call did before the other, which
// began earlier, comes to its commit. That call does nothing, nor is an account deleted by one that is held once its commit is
// done.
func TestWorkerUnderWayIsHeld(t *testing.T) {
	w := newWorld(t)
	w.placeholder(t, "u1", true)
	before := w.left(t)
	w.Worker.Env["UNDO_DAYS"] = "7"
	earlier := enginetest.On(t, functions.New(Worker), w.Project)
	earlier.Now = now
	earlier.Hooks.BeforeApply = func() {
		deleted := w.Worker.Run(t, task)
		enginetest.WantReport(t, deleted, report.Completed, enginetest.Done(deleteKind, 1))
		err := w.Worker.Restorer(t, nil).Undo(t.Context(), deleted.RunID, restore.Options{Apply: true, WithoutReport: true},
			func(restore.Outcome) error { return nil })
		check.OK(t, err)
	}
	failed := map[string]report.Counts{deleteKind: {Planned: 1, Failed: 1}}
	enginetest.WantReport(t, earlier.Run(t, task), report.Failed, failed)
	w.wantLeft(t, before)
	enginetest.Want(t, "a later call", report.Skipped, earlier.Run(t, task).Status)

	held := w.Documents(t, "cleanupJobs")[Worker.Name]
	w.Delete(t, "cleanupJobs/"+Worker.Name)
	earlier = enginetest.On(t, functions.New(Worker), w.Project)
	earlier.Now = now
	earlier.AfterCommits(func(int, *firestorepb.CommitRequest) { w.Set(t, "cleanupJobs/"+Worker.Name, held) })
	enginetest.WantReport(t, earlier.Run(t, task), report.Failed, failed)
	before.Users, before.Unfinished = nil, 1
	w.wantLeft(t, before)
}

// TestUserOfManyDetails: one beyond those that are looked at might have been taken up by an import.
func TestUserOfManyDetails(t *testing.T) {
	w := newWorld(t)
	w.placeholder(t, "u1", true)
	w.SetAlike(t, maxDetails, details+"/e%03d", detail("u1"))
	enginetest.WantKept(t, w.Worker.Run(t, task), report.Completed, map[string]report.Counts{}, map[string]int{keptCrowded: 1})
	w.Delete(t, details+"/e000")
	enginetest.WantReport(t, w.Worker.Run(t, task), report.Completed, enginetest.Done(deleteKind, 1))
	w.wantLeft(t, left{})
}

func TestReferencesThatAreNone(t *testing.T) {
	_, err := config.Load(func(name string) string {
		return map[string]string{"GOOGLE_CLOUD_PROJECT": "p", "PLACEHOLDER_REFERENCES": "posts"}[name]
	}, Worker.Settings, config.Firestore)
	check.Fails(t, err, `PLACEHOLDER_REFERENCES is "posts": it must be places such as posts.userId, projects.owner.id (id in the map owner) or group:notes.author_id`)
}

// TestDetailThatIsTakenUpWhileTheAccountGoes stays, though the user is gone.
func TestDetailThatIsTakenUpWhileTheAccountGoes(t *testing.T) {
	w := newWorld(t)
	w.placeholder(t, "u1", true)
	w.Set(t, details+"/other", detail("u1"))
	w.Worker.AfterCommits(func(n int, _ *firestorepb.CommitRequest) {
		if n == 1 {
			w.Set(t, details+"/other", detail("u1", "namespace_id", "g1"))
		}
	})
	enginetest.WantReport(t, w.Worker.Run(t, task), report.Completed, enginetest.Done(deleteKind, 1))
	w.wantLeft(t, left{Details: []string{"other"}})
}
