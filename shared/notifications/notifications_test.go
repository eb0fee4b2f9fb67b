package notifications

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNotification(t *testing.T) {
	now := time.Date(2026, 1, 10, 18, 0, 0, 0, time.UTC)
	n := Notification{
		UserID: "u1", Type: "inquiry_deletion_warning", Text: Japanese.InquiryDeletionWarning("ログインできない"),
		Fields: map[string]any{"inquiryId": "i1"}, Announces: []string{"i1", "2026-01-04T00:00:00Z"},
	}
	want := map[string]any{
		"type": "inquiry_deletion_warning", "title": "問い合わせ削除予告",
		"body":   "「ログインできない」は明日削除されます（ステータス: 解決済み）",
		"isRead": false, "createdAt": now, "inquiryId": "i1",
	}
	if diff := cmp.Diff(want, n.Data(now)); diff != "" {
		t.Errorf("Data (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(n.Path(), "users/u1/notifications/inquiry_deletion_warning_") {
		t.Errorf("Path = %s", n.Path())
	}
}

func TestIDIsDerivedFromWhatIsAnnounced(t *testing.T) {
	of := func(kind string, announces ...string) string {
		return Notification{UserID: "u", Type: kind, Announces: announces}.Path()
	}
	if first, again := of("a", "x", "y"), of("a", "x", "y"); first != again {
		t.Error("the same announcement has two ids")
	}
	seen := map[string]bool{}
	for _, path := range []string{of("a", "x", "y"), of("b", "x", "y"), of("a", "y", "x"), of("a", "xy"), of("a", "x", "y", ""), of("a"), of("a", "x/y")} {
		if seen[path] {
			t.Errorf("two announcements have the id %s", path)
		}
		seen[path] = true
		if strings.Count(path, "/") != 3 {
			t.Errorf("%s is not a document's path", path)
		}
	}
}

func TestEveryTextInBothLanguages(t *testing.T) {
	for name, text := range map[string]func(Locale) Text{
		"inquiry":   func(l Locale) Text { return l.InquiryDeletionWarning("50 %s off") },
		"ghost":     func(l Locale) Text { return l.GhostCircleWarning("50 %s off") },
		"abandoned": func(l Locale) Text { return l.AbandonedCircleWarning("50 %s off") },
		"deleted":   func(l Locale) Text { return l.GhostCircleDeleted("50 %s off") },
	} {
		ja, en := text(Japanese), text(English)
		if ja == en || text("") != ja {
			t.Errorf("%s: Japanese %q, English %q, default %q", name, ja, en, text(""))
		}
		for _, tt := range []Text{ja, en} {
			if tt.Title == "" || strings.Count(tt.Body, "50 %s off") != 1 || strings.Contains(tt.Body, "!(") {
				t.Errorf("%s: %q", name, tt)
			}
		}
	}
}

func TestMail(t *testing.T) {
	m := Mail{ToUserIDs: []string{"u1", "u2"}, Type: "inactive_project_warning", Text: English.InactiveProjectWarning("50 %s off", "2026-02-28"), Announces: []string{"p1", "2026-02-28"}}
	want := map[string]any{
		"toUids": []string{"u1", "u2"},
		"message": map[string]any{
			"subject": "Action required: Project 50 %s off is scheduled to be deleted on 2026-02-28 due to inactivity",
			"text":    "Nobody has worked on project “50 %s off” for a long time, so it is scheduled to be deleted on 2026-02-28. To keep it, do something in the project before that date.",
		},
	}
	if diff := cmp.Diff(want, m.Data()); diff != "" {
		t.Errorf("Data (-want +got):\n%s", diff)
	}
	ja := Japanese.InactiveProjectWarning("50 %s off", "2026-02-28")
	if ja.Title != English.InactiveProjectWarning("50 %s off", "2026-02-28").Title || !strings.Contains(ja.Body, "「50 %s off」") || !strings.Contains(ja.Body, "2026-02-28") {
		t.Errorf("Japanese: %q", ja)
	}
	other := m
	other.Announces = []string{"p1", "2026-03-01"}
	if !strings.HasPrefix(m.Path(), "mail/inactive_project_warning_") || m.Path() == other.Path() {
		t.Errorf("paths %s and %s", m.Path(), other.Path())
	}
}
