package notifications

import (
	"cmp"
	"fmt"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/harmless"
)

// Locale is a language of the texts: "ja" or "en" (NOTIFICATION_LOCALE).
type Locale string

// The locales.
const (
	Japanese Locale = "ja"
	English  Locale = "en"
)

// Text is what a person reads.
type Text struct{ Title, Body string }

// Longest parts of names and of anything that a text repeats, in characters (docs/contributing/spec.md, *Notifications*).
const (
	maxName  = 200
	maxQuote = 500
)

// NameOf returns the name of what a document stands for, as [harmless.Name] leaves it; its id if it has none.
func NameOf(d documents.Document) string {
	name, _ := d.Text("name")
	return cmp.Or(harmless.Name(name, maxName), harmless.Name(d.ID(), maxName))
}

// quote returns what users wrote as a text repeats it. Every text passes it through here, so that none can hold a link.
func quote(written string) string { return harmless.Name(written, maxQuote) }

// choose returns the English text for English, and otherwise the Japanese one, as the original has it.
func (l Locale) choose(ja, en Text) Text {
	if l == English {
		return en
	}
	return ja
}

// InquiryDeletionWarning announces that a resolved inquiry, which may have no subject, is deleted tomorrow.
func (l Locale) InquiryDeletionWarning(subject string) Text {
	if subject = quote(subject); subject == "" {
		subject = l.choose(Text{Title: "件名なし"}, Text{Title: "no subject"}).Title
	}
	return l.choose(
		Text{"問い合わせ削除予告", fmt.Sprintf("「%s」は明日削除されます（ステータス: 解決済み）", subject)},
		Text{"Inquiry will be deleted", fmt.Sprintf("“%s” will be deleted tomorrow (status: resolved)", subject)},
	)
}

// GhostCircleWarning announces that a circle nobody has posted to for 365 days is deleted in a week.
func (l Locale) GhostCircleWarning(circle string) Text {
	circle = quote(circle)
	return l.choose(
		Text{"サークル削除予告", fmt.Sprintf("「%s」は365日以上投稿がないため、1週間後に削除されます。投稿があれば削除されません。", circle)},
		Text{"Circle will be deleted", fmt.Sprintf("Nobody has posted to “%s” for 365 days or more. "+
			"It will be deleted in one week unless someone posts.", circle)},
	)
}

// AbandonedCircleWarning announces that a circle nobody ever posted to is deleted in a week.
func (l Locale) AbandonedCircleWarning(circle string) Text {
	circle = quote(circle)
	return l.choose(
		Text{"サークル削除予告", fmt.Sprintf("「%s」は作成から30日以上たっても投稿がないため、1週間後に削除されます。投稿があれば削除されません。", circle)},
		Text{"Circle will be deleted", fmt.Sprintf("Nobody has posted to “%s” since it was created 30 days ago or more. "+
			"It will be deleted in one week unless someone posts.", circle)},
	)
}

// GhostCircleDeleted tells that a circle has been deleted.
func (l Locale) GhostCircleDeleted(circle string) Text {
	circle = quote(circle)
	return l.choose(
		Text{"サークルが削除されました", fmt.Sprintf("「%s」は投稿がなかったため削除されました。", circle)},
		Text{"Circle deleted", fmt.Sprintf("“%s” was deleted because nobody posted to it.", circle)},
	)
}

// InactiveProjectWarning announces by e-mail that a project nobody works on is deleted on a date. The subject is
// the same in both languages.
func (l Locale) InactiveProjectWarning(project, date string) Text {
	project = quote(project)
	subject := fmt.Sprintf("Action required: Project %s is scheduled to be deleted on %s due to inactivity", project, date)
	return l.choose(
		Text{subject, fmt.Sprintf("プロジェクト「%s」は長期間利用されていないため、%s に削除される予定です。削除を避けるには、それまでにプロジェクトで何らかの操作を行ってください。", project, date)},
		Text{subject, fmt.Sprintf("Nobody has worked on project “%s” for a long time, so it is scheduled to be deleted on %s. "+
			"To keep it, do something in the project before that date.", project, date)},
	)
}
