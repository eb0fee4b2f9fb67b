package placeholderusers

import (
	"strings"
	"testing"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

func TestAttemptThatCannotBeEnqueuedDoesNotCount(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"u1", "u2", "u3"} {
		w.placeholder(t, id, false)
	}
	w.Tasks().FailCreates(func(task *cloudtaskspb.Task) error {
		if strings.Contains(string(task.GetHttpRequest().GetBody()), "u2") {
			return status.Error(codes.PermissionDenied, "no role")
		}
		return nil
	})
	got := w.Run(t, "")
	enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{handKind: {Planned: 3, Done: 2, Failed: 1}})
	enginetest.Want(t, "the detail that failed", detail("u2"), w.Documents(t, details)["d-u2"])
	w.Tasks().FailCreates(nil)
	enginetest.WantReport(t, w.Run(t, ""), report.Completed, enginetest.Done(handKind, 1))
}

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
	enginetest.WantReport(t, got, report.Completed, enginetest.Done(handKind, 3))
	enginetest.Want(t, "kept", map[string]int{keptBadUser: 2}, got.Kept)
	enginetest.Want(t, "the detail", detail("number"), w.Documents(t, details)["d-number"])
	got = w.Worker.Run(t, `{"placeholder_user_id":"number"}`)
	enginetest.Want(t, "kept by the worker", map[string]int{keptNoType: 1}, got.Kept)
}

// TestDetailRefersToItsUser by a reference, which must be to users.
func TestDetailRefersToItsUser(t *testing.T) {
	w := newWorld(t)
	w.placeholder(t, "u1", false, "placeholder_user_id", w.Firestore(t).Doc("users/u1"))
	w.Set(t, details+"/other", detail(w.Firestore(t).Doc("members/u1")))
	got := w.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done(handKind, 1))
	enginetest.Want(t, "kept", map[string]int{keptNoUser: 1}, got.Kept)
	enginetest.Want(t, "tasks", 1, w.Deliver(t))
	w.wantLeft(t, left{Details: []string{"other"}})
}
