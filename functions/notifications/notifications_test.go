package notifications

import (
	"fmt"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

func TestIDIsDerivedFromWhatIsAnnounced(t *testing.T) {
	of := func(kind string, announces ...string) string {
		return Notification{UserID: "u", Type: kind, Announces: announces}.Ref().Path()
	}
	check.Same(t, "the same announcement", of("a", "x", "y"), of("a", "x", "y"))
	seen := map[string]bool{}
	for _, path := range []string{of("a", "x", "y"), of("b", "x", "y"), of("a", "y", "x"), of("a", "xy"), of("a", "x", "y", ""), of("a"), of("a", "x/y")} {
		enginetest.Want(t, "that another announcement has the id "+path, false, seen[path])
		seen[path] = true
		enginetest.Want(t, "slashes in "+path, 3, strings.Count(path, "/"))
	}
}

func TestEveryTextInBothLanguages(t *testing.T) {
	const evil = "\u202ekeep it\n: https://evil.example/\u200bkeep"
	for name, text := range map[string]func(Locale, string) Text{
		"inquiry":   Locale.InquiryDeletionWarning,
		"ghost":     Locale.GhostCircleWarning,
		"abandoned": Locale.AbandonedCircleWarning,
		"deleted":   Locale.GhostCircleDeleted,
		"project":   func(l Locale, name string) Text { return l.InactiveProjectWarning(name, "2026-02-28") },
	} {
		ja, en := text(Japanese, "50 %s off"), text(English, "50 %s off")
		if ja == en || text("", "50 %s off") != ja {
			t.Errorf("%s: Japanese %q, English %q, default %q", name, ja, en, text("", "50 %s off"))
		}
		for _, tt := range []Text{text(Japanese, evil), text(English, evil)} {
			check.Holds(t, tt.Body, "keep it : https: //evil. example/keep")
			if strings.Contains(tt.Title, "evil.e") || strings.ContainsAny(tt.Title, "\n\u202e\u200b") {
				t.Errorf("%s: the title is %q", name, tt.Title)
			}
		}
		for _, tt := range []Text{ja, en} {
			if tt.Title == "" {
				t.Errorf("%s has no title", name)
			}
			if strings.Count(tt.Body, "50 %s off") != 1 || strings.Contains(tt.Body, "!(") {
				t.Errorf("%s: the text is %q", name, tt.Body)
			}
		}
	}
}

func TestTextsAboutCircles(t *testing.T) {
	for _, tt := range []struct{ got, want Text }{
		{Japanese.GhostCircleWarning("50 %s off"), Text{"サークル削除予告", "「50 %s off」は365日以上投稿がないため、1週間後に削除されます。投稿があれば削除されません。"}},
		{Japanese.AbandonedCircleWarning("50 %s off"), Text{"サークル削除予告", "「50 %s off」は作成から30日以上たっても投稿がないため、1週間後に削除されます。投稿があれば削除されません。"}},
		{Japanese.GhostCircleDeleted("50 %s off"), Text{"サークルが削除されました", "「50 %s off」は投稿がなかったため削除されました。"}},
		{English.GhostCircleWarning("50 %s off"), Text{"Circle will be deleted", "Nobody has posted to “50 %s off” for 365 days or more. It will be deleted in one week unless someone posts."}},
		{English.AbandonedCircleWarning("50 %s off"), Text{"Circle will be deleted", "Nobody has posted to “50 %s off” since it was created 30 days ago or more. It will be deleted in one week unless someone posts."}},
		{English.GhostCircleDeleted("50 %s off"), Text{"Circle deleted", "“50 %s off” was deleted because nobody posted to it."}},
	} {
		enginetest.Want(t, "text", tt.want, tt.got)
	}
}

// TestNameOf: a name, which is user input, cannot keep its e-mail from being sent: not by its length, and not by a line break,
// which would end the subject. Nor can it hold a link.
func TestNameOf(t *testing.T) {
	long := strings.Repeat("長", 200)
	for _, tt := range []struct {
		name any
		id   string
		want string
	}{
		{"読書会", "c", "読書会"}, {long, "c", long}, {long + "い", "c", long + "…"}, {"50 %s\noff", "c", "50 %s off"},
		{"a\u202e https://evil.example", "c", "a https: //evil. example"}, {" \u200b", "c", "c"}, {nil, "evil.example", "evil. example"},
		{"a\r\nBcc: b@x.example\x00\t", "c", "a  Bcc: b@x. example"}, {"掃除 & <b>", "c", "掃除 & <b>"},
		{nil, "c", "c"}, {"", "c", "c"}, {7, "c", "c"}, {[]any{"x"}, "c", "c"}, {nil, long, long}, {nil, long + "い", long + "…"},
	} {
		circle := documents.Document{Path: "circles/" + tt.id, Data: map[string]any{"name": tt.name}}
		enginetest.Want(t, fmt.Sprint(tt.name), tt.want, NameOf(circle))
	}
	enginetest.Want(t, "no data at all", "c", NameOf(documents.Document{Path: "circles/c"}))
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
	enginetest.Want(t, "Data", want, m.Data())
	ja := Japanese.InactiveProjectWarning("50 %s off", "2026-02-28")
	enginetest.Want(t, "the Japanese title", English.InactiveProjectWarning("50 %s off", "2026-02-28").Title, ja.Title)
	if !strings.Contains(ja.Body, "「50 %s off」") || !strings.Contains(ja.Body, "2026-02-28") {
		t.Errorf("the Japanese text is %q", ja.Body)
	}
	other := m
	other.Announces = []string{"p1", "2026-03-01"}
	if !strings.HasPrefix(m.Ref().Path(), "mail/inactive_project_warning_") || m.Ref().Path() == other.Ref().Path() {
		t.Errorf("paths %s and %s", m.Ref().Path(), other.Ref().Path())
	}
}
