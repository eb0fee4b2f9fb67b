package resolvedinquiries

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions/notifications"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// notification returns the only notification of user u1, and its id.
func notification(t *testing.T, f *enginetest.Function) (id string, data map[string]any) {
	t.Helper()
	all := f.Documents(t, "users/u1/notifications")
	if len(all) != 1 {
		t.Fatalf("%d notifications, want 1: %v", len(all), all)
	}
	for id, data = range all {
	}
	return id, data
}

// TestUserIsToldOnceOfEachResolution: not again if the mark is lost, nor if the user read or deleted the notification.
func TestUserIsToldOnceOfEachResolution(t *testing.T) {
	f := newFunction(t)
	f.Env["NOTIFICATION_LOCALE"] = "en"
	f.Set(t, "users/u1", map[string]any{})
	f.Set(t, "inquiries/i1", inquiry(6*day))
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("warn user", 1))
	id, got := notification(t, f)
	want := map[string]any{
		"type": "inquiry_deletion_warning", "title": "Inquiry will be deleted", "body": "“ログインできない” will be deleted tomorrow (status: resolved)",
		"isRead": false, "createdAt": now, "inquiryId": "i1",
	}
	enginetest.Want(t, "notification", want, got)

	want["isRead"] = true
	f.Set(t, "users/u1/notifications/"+id, want)
	f.Set(t, "inquiries/i1", inquiry(6*day)) // without the mark
	f.Now = now.Add(time.Hour)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("warn user", 1))
	_, got = notification(t, f)
	enginetest.Want(t, "a notification that was read", want, got)
	f.Delete(t, "users/u1/notifications/"+id)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{})
	wantIDs(t, f, "users/u1/notifications")

	// An application that does not know the mark resolves it again.
	f.Set(t, "users/u1/notifications/"+id, want)
	marked := f.Documents(t, "inquiries")["i1"]
	anew := now.Add(2 * time.Hour)
	marked["resolvedAt"] = anew
	f.Set(t, "inquiries/i1", marked)
	for _, step := range []struct {
		at      time.Time
		actions map[string]report.Counts
	}{
		{anew.Add(6*day - tick), map[string]report.Counts{}}, {anew.Add(6 * day), enginetest.Done("warn user", 1)},
		{anew.Add(7*day - tick), map[string]report.Counts{}}, {anew.Add(7 * day), archivedOnce},
	} {
		f.Now = step.at
		enginetest.WantReport(t, f.Run(t, ""), report.Completed, step.actions)
	}
	if all := f.Documents(t, "users/u1/notifications"); len(all) != 2 || all[id] == nil {
		t.Errorf("notifications %v, want a second one", ids(all))
	}
	enginetest.Want(t, "the archive's mark", any(anew.Add(6*day)), f.Documents(t, "archivedInquiries")["i1"][notifiedAt])
}

func TestSubjects(t *testing.T) {
	long := strings.Repeat("長", 500) // as much as a text repeats
	for _, tt := range []struct {
		subject any
		want    string
	}{{"50 %s off", "50 %s off"}, {nil, "件名なし"}, {"", "件名なし"}, {int64(5), "件名なし"}, {long, long}, {long + "い", long + "…"}} {
		data := inquiry(6 * day)
		data["subject"] = tt.subject
		got := warning(documents.Document{Path: "inquiries/i1", Data: data}, notifications.Japanese).Text.Body
		enginetest.Want(t, fmt.Sprint(tt.subject), "「"+tt.want+"」は明日削除されます（ステータス: 解決済み）", got)
	}
}

// TestUserByReference tells the user whom a reference or a number names, and nobody by a reference to something else.
func TestUserByReference(t *testing.T) {
	f := newFunction(t)
	for _, path := range []string{"users/u1", "users/42", "people/u1"} {
		f.Set(t, path, map[string]any{})
	}
	for id, user := range map[string]any{
		"reference": f.Firestore(t).Doc("users/u1"), "number": int64(42), "else": f.Firestore(t).Doc("people/u1"), "below": f.Firestore(t).Doc("users/u1/users/u1"),
	} {
		data := inquiry(6 * day)
		data["userId"] = user
		f.Set(t, "inquiries/"+id, data)
	}
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("warn user", 2))
	enginetest.Want(t, "kept", map[string]int{keptUntold: 2}, got.Kept)
	if _, told := notification(t, f); told["inquiryId"] != "reference" || len(f.Documents(t, "users/42/notifications")) != 1 {
		t.Errorf("u1 is told of %v", told)
	}
}

func TestUserWithoutDocument(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "inquiries/i1", inquiry(6*day))
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("warn user", 1))
	wantIDs(t, f, "users/u1/notifications")
	enginetest.Want(t, "mark", any(now), f.Documents(t, "inquiries")["i1"][notifiedAt])
	if !strings.Contains(fmt.Sprint(f.Warnings(t)["inquiries/i1"]), "inquiries/i1: nobody was notified") {
		t.Error("the log says nothing")
	}
}

// TestOldScheduleTimeShortensNoGrace: a run with a schedule time of a day ago tells the user by today's clock, so "tomorrow"
// is the day after today.
func TestOldScheduleTimeShortensNoGrace(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "users/u1", map[string]any{})
	f.Set(t, "inquiries/i1", inquiry(6*day))
	wall := now.Add(30 * time.Hour)
	f.Clock = func() time.Time { return wall }
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("warn user", 1))
	if _, got := notification(t, f); got["createdAt"] != wall {
		t.Errorf("told at %v, want %v", got["createdAt"], wall)
	}
	f.Now, wall = wall.Add(time.Hour), wall.Add(time.Hour)
	if got := f.Run(t, ""); got.Kept[keptPromised] != 1 || len(got.Actions) != 0 {
		t.Errorf("an hour later: %v, kept %v", got.Actions, got.Kept)
	}
	f.Now, wall = now.Add(30*time.Hour+day), now.Add(30*time.Hour+day)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, archivedOnce)
}
