package resolvedinquiries

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/notifications"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// notification returns the only notification of user u1, and its id.
func notification(t *testing.T, f *sweeptest.Function) (id string, data map[string]any) {
	t.Helper()
	all := f.Documents(t, "users/u1/notifications")
	if len(all) != 1 {
		t.Fatalf("%d notifications, want 1: %v", len(all), all)
	}
	for id, data = range all {
	}
	return id, data
}

func TestUserIsToldOnce(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "users/u1", map[string]any{})
	f.Set(t, "inquiries/i1", inquiry(6*day))
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, sweeptest.Done("warn user", 1))
	id, got := notification(t, f)
	want := map[string]any{
		"type": "inquiry_deletion_warning", "title": "問い合わせ削除予告", "body": "「ログインできない」は明日削除されます（ステータス: 解決済み）",
		"isRead": false, "createdAt": now, "inquiryId": "i1",
	}
	sweeptest.Want(t, "notification", want, got)

	want["isRead"] = true
	f.Set(t, "users/u1/notifications/"+id, want)
	f.Now = now.Add(day - tick)
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
	if _, got := notification(t, f); cmp.Diff(want, got) != "" {
		t.Errorf("a read notification became %v", got)
	}

	// Not even where the mark is lost.
	f.Set(t, "inquiries/i1", inquiry(6*day))
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, sweeptest.Done("warn user", 1))
	if _, got := notification(t, f); cmp.Diff(want, got) != "" {
		t.Errorf("a read notification became %v", got)
	}

	// One that the user deleted does not come back.
	if _, err := f.Firestore(t).Doc("users/u1/notifications/" + id).Delete(context.Background()); err != nil {
		t.Fatal(err)
	}
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
	if all := f.Documents(t, "users/u1/notifications"); len(all) != 0 {
		t.Errorf("told again: %v", all)
	}
	f.Now = now.Add(day)
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, sweeptest.Done("archive and delete inquiry", 1))
	if got := f.Documents(t, "archivedInquiries")["i1"]["deletionWarningNotifiedAt"]; got == nil {
		t.Error("the archive does not tell that the user was told")
	}
}

func TestResolvedAnewIsToldAnew(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "users/u1", map[string]any{})
	f.Set(t, "inquiries/i1", inquiry(6*day))
	f.Run(t, "")
	first, _ := notification(t, f)

	// The application changes two fields and knows nothing of the mark.
	anew := now.Add(time.Hour)
	marked := f.Documents(t, "inquiries")["i1"]
	reopened := maps.Clone(marked)
	reopened["status"] = "open"
	f.Set(t, "inquiries/i1", reopened)
	f.Now = now.Add(day)
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
	marked["resolvedAt"] = anew
	f.Set(t, "inquiries/i1", marked)
	for _, at := range []time.Time{now.Add(2 * day), anew.Add(6*day - tick)} {
		f.Now = at
		sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
	}
	f.Now = anew.Add(6 * day)
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, sweeptest.Done("warn user", 1))
	all := f.Documents(t, "users/u1/notifications")
	if len(all) != 2 || all[first] == nil {
		t.Errorf("notifications %v, want a second one", ids(all))
	}
	f.Now = anew.Add(7*day - tick)
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
	wantIDs(t, f, "inquiries", "i1")
	f.Now = anew.Add(7 * day)
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, sweeptest.Done("archive and delete inquiry", 1))
	if n := len(f.Documents(t, "users/u1/notifications")); n != 2 {
		t.Errorf("%d notifications, want 2", n)
	}
}

func TestEnglish(t *testing.T) {
	f := newFunction(t)
	f.Env["NOTIFICATION_LOCALE"] = "en"
	f.Set(t, "users/u1", map[string]any{})
	f.Set(t, "inquiries/i1", inquiry(6*day))
	f.Run(t, "")
	if _, got := notification(t, f); got["title"] != "Inquiry will be deleted" ||
		got["body"] != "“ログインできない” will be deleted tomorrow (status: resolved)" {
		t.Errorf("notification %v", got)
	}
}

func TestSubjects(t *testing.T) {
	long := strings.Repeat("長", maxSubject)
	for _, tt := range []struct {
		subject any
		locale  notifications.Locale
		want    string
	}{
		{"50 %s off", "ja", "「50 %s off」は明日削除されます（ステータス: 解決済み）"},
		{nil, "ja", "「件名なし」は明日削除されます（ステータス: 解決済み）"},
		{"", "ja", "「件名なし」は明日削除されます（ステータス: 解決済み）"},
		{int64(5), "ja", "「件名なし」は明日削除されます（ステータス: 解決済み）"},
		{[]any{"x"}, "en", "“no subject” will be deleted tomorrow (status: resolved)"},
		{long, "ja", "「" + long + "」は明日削除されます（ステータス: 解決済み）"},
		{long + "い", "ja", "「" + long + "…」は明日削除されます（ステータス: 解決済み）"},
	} {
		data := inquiry(6 * day)
		data["subject"] = tt.subject
		if got := warning(documents.Document{Path: "inquiries/i1", Data: data}, tt.locale).Text.Body; got != tt.want {
			t.Errorf("subject %v: %q, want %q", tt.subject, got, tt.want)
		}
	}
}

func TestUserWithoutDocument(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "inquiries/i1", inquiry(6*day))
	f.Set(t, "users/u12", map[string]any{})
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, sweeptest.Done("warn user", 1))
	wantIDs(t, f, "users/u1/notifications")
	wantIDs(t, f, "users/u12/notifications")
	if got := f.Documents(t, "inquiries")["i1"]["deletionWarningNotifiedAt"]; got == nil {
		t.Error("the inquiry is not marked")
	}
	said := false
	for _, line := range f.LogLines(t) {
		said = said || line["severity"] == "WARNING" && strings.Contains(line["message"].(string), "inquiries/i1: nobody was told")
		if strings.Contains(line["message"].(string), "ログイン") {
			t.Errorf("the log holds a subject: %v", line)
		}
	}
	if !said {
		t.Error("the log does not say that nobody was told")
	}
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
}

func TestChangedBetweenPlanAndTelling(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "users/u1", map[string]any{})
	for _, id := range []string{"reopened", "resolved-anew", "deleted", "told", "left"} {
		f.Set(t, "inquiries/"+id, inquiry(6*day))
	}
	told := inquiry(6 * day)
	told[notifiedAt] = now.Add(-time.Hour)
	f.Hooks.BeforeApply = func() {
		f.Set(t, "inquiries/reopened", map[string]any{"status": "open", "userId": "u1"})
		f.Set(t, "inquiries/resolved-anew", inquiry(time.Minute))
		f.Set(t, "inquiries/told", told)
		if _, err := f.Firestore(t).Doc("inquiries/deleted").Delete(context.Background()); err != nil {
			t.Error(err)
		}
	}
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"warn user": {Planned: 5, Done: 1, Changed: 4}})
	if _, got := notification(t, f); got["inquiryId"] != "left" {
		t.Errorf("told of %v", got["inquiryId"])
	}
	wantIDs(t, f, "inquiries", "reopened", "resolved-anew", "told", "left")
	sweeptest.Want(t, "the reopened inquiry", map[string]any{"status": "open", "userId": "u1"}, f.Documents(t, "inquiries")["reopened"])
}

// TestOldScheduleTimeShortensNoGrace has a run of a day ago tell the user by today's clock: "tomorrow" is the day after.
func TestOldScheduleTimeShortensNoGrace(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "users/u1", map[string]any{})
	f.Set(t, "inquiries/i1", inquiry(6*day))
	wall := now.Add(30 * time.Hour)
	f.Clock = func() time.Time { return wall }
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, sweeptest.Done("warn user", 1))
	if _, got := notification(t, f); got["createdAt"] != wall {
		t.Errorf("told at %v, want %v", got["createdAt"], wall)
	}
	f.Now, wall = wall.Add(time.Hour), wall.Add(time.Hour)
	if got := f.Run(t, ""); got.Kept[keptPromised] != 1 || len(got.Actions) != 0 {
		t.Errorf("an hour later: %v, kept %v", got.Actions, got.Kept)
	}
	f.Now, wall = now.Add(30*time.Hour+day), now.Add(30*time.Hour+day)
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, archivedOnce)
}
