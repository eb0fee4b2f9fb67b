package sampledata

import (
	"time"

	"github.com/firesweep/firesweep/functions/notifications"
	"github.com/firesweep/firesweep/shared/retention"
)

const images = "https://firebasestorage.googleapis.com/v0/b/my-app.appspot.com/o/inquiries%2F"

var resolvedInquiriesPart = part{
	job: "cleanupResolvedInquiries", of: resolvedInquiries,
	clients: map[string]Client{
		"inquiries": {
			Path: "inquiries/i", Creates: true, Private: true,
			Fields: map[string]any{"userId": Me, "status": "open", "subject": "…", "createdAt": RequestTime{}},
			Edits:  map[string]any{"subject": "?"},
			Harmless: map[string]string{
				"subject":   "people are shown it",
				"category":  "people are shown it",
				"createdAt": "only messages are ordered by it",
			},
		},
		"inquiries/messages": {
			Path: "inquiries/of-ken/messages/m", Creates: true, Private: true,
			Fields: map[string]any{
				"content": "…", "createdAt": RequestTime{}, "imageUrl": images + Me + "%2Fscreen.png?alt=media&token=t",
			},
			Wrong:    map[string]any{"imageUrl": images + Stranger + "%2Fscreen.png?alt=media"},
			Harmless: map[string]string{"content": "people are shown it", "senderType": "people are shown it"},
		},
	},
}

// resolvedInquiries is the part of cleanupResolvedInquiries: an inquiry of each decision, with its messages, and both sides of
// the sixth and of the seventh day.
func resolvedInquiries(now time.Time, bucket string) Sample {
	const sakura, mark = "user-sakura", "deletionWarningNotifiedAt"
	daysAgo := func(n int) time.Time { return retention.DaysBefore(now, n) }
	inquiry := func(subject string, resolvedAt any, fields map[string]any) map[string]any {
		return with(map[string]any{
			"userId": sakura, "subject": subject, "category": "account", "status": "resolved",
			"createdAt": daysAgo(30), "resolvedAt": resolvedAt,
		}, fields)
	}
	message := func(from, text string, days int, fields map[string]any) map[string]any {
		return with(map[string]any{"senderType": from, "content": text, "createdAt": daysAgo(days)}, fields)
	}
	notice := func(id, subject string, resolvedAt time.Time) notifications.Notification {
		return notifications.Notification{
			UserID: sakura, Type: "inquiry_deletion_warning", Text: notifications.Japanese.InquiryDeletionWarning(subject),
			Fields: map[string]any{"inquiryId": id}, Announces: []string{id, resolvedAt.UTC().Format(time.RFC3339Nano)},
		}
	}
	login := inquiry("ログインできない", daysAgo(7), nil)
	hello := message("user", "ログインできません", 20, map[string]any{"imageUrl": "gs://" + bucket + "/inquiries/inquiry-login/screen.png"})
	answer := message("admin", "パスワードを再設定してください", 19, map[string]any{
		"imageUrl": "https://firebasestorage.googleapis.com/v0/b/" + bucket + "/o/inquiries%2Finquiry-login%2Fhelp.png?alt=media",
	})
	thanks := message("user", "できました", 18, map[string]any{"imageUrl": "https://example.com/thanks.png"})
	// Somebody else's file, named to have it deleted: it stays.
	avatar := message("user", "ついでに", 17, map[string]any{"imageUrl": "gs://" + bucket + "/avatars/user-sakura.png"})
	restored := inquiry("もう一度開いた", daysAgo(8), nil)
	again := message("user", "また同じ問題です", 10, map[string]any{"imageUrl": "gs://" + bucket + "/inquiries/inquiry-restored/again.png"})
	same := message("admin", "確認します", 9, map[string]any{"imageUrl": again["imageUrl"]}) // two messages show one image
	firstArchive := inquiry("もう一度開いた", daysAgo(90), map[string]any{"archivedAt": daysAgo(83),
		"messages": []any{message("user", "最初の質問", 95, nil)}})
	dueTomorrow := notice("inquiry-due-tomorrow", "通知が届かない", daysAgo(6))
	warnedAnew := notice("inquiry-resolved-anew", "もう一度", daysAgo(7).Add(time.Second))
	silent := inquiry("返信なし", daysAgo(40), map[string]any{"userId": nil})
	due := inquiry("通知が届かない", daysAgo(6), nil)
	anew := inquiry("もう一度", daysAgo(7).Add(time.Second), map[string]any{mark: daysAgo(20)})
	told := inquiry("知らせ済み", daysAgo(6).Add(-time.Hour), map[string]any{mark: daysAgo(0).Add(-time.Hour)})

	documents := []Document{
		kept("users/"+sakura, map[string]any{"displayName": "桜"}),

		deleted("inquiries/inquiry-login", login),
		deleted("inquiries/inquiry-login/messages/m2-hello", hello),
		deleted("inquiries/inquiry-login/messages/m1-answer", answer),
		deleted("inquiries/inquiry-login/messages/m3-thanks", thanks),
		deleted("inquiries/inquiry-login/messages/m4-avatar", avatar),
		created("archivedInquiries/inquiry-login", with(login, map[string]any{
			"archivedAt": now, "messages": []any{hello, answer, thanks, avatar}})),
		deleted("inquiries/inquiry-restored", restored), // it was restored from the archive that exists
		deleted("inquiries/inquiry-restored/messages/m1-again", again),
		deleted("inquiries/inquiry-restored/messages/m2-same", same),
		changed("archivedInquiries/inquiry-restored", firstArchive,
			with(restored, map[string]any{"archivedAt": now, "messages": []any{again, same}})),
		created("archivedInquiries/inquiry-restored/earlier/"+daysAgo(83).UTC().Format(time.RFC3339Nano), firstArchive),
		deleted("inquiries/inquiry-silent", silent),
		created("archivedInquiries/inquiry-silent", with(silent, map[string]any{"archivedAt": now, "messages": []any{}})),
		kept("archivedInquiries/inquiry-of-last-year", inquiry("昨年", daysAgo(300), map[string]any{
			"archivedAt": daysAgo(293), "messages": []any{message("user", "昨年の質問", 310, nil)}})),

		marked("inquiries/inquiry-due-tomorrow", due, map[string]any{mark: now}),
		kept("inquiries/inquiry-due-tomorrow/messages/m1", message("user", "届きません", 25, nil)),
		created(dueTomorrow.Ref().Path(), dueTomorrow.Data(now)),
		marked("inquiries/inquiry-resolved-anew", anew, map[string]any{mark: now}),
		created(warnedAnew.Ref().Path(), warnedAnew.Data(now)),
		kept("inquiries/inquiry-told", told),

		kept("inquiries/inquiry-resolved-this-week", inquiry("今週", daysAgo(6).Add(time.Second), nil)),
		kept("inquiries/inquiry-resolved-this-week/messages/m1", message("user", "ありがとう", 6, nil)),
		kept("inquiries/inquiry-open", inquiry("未解決", nil, map[string]any{"status": "open"})),
		kept("inquiries/inquiry-open/messages/m1", message("user", "まだですか", 100, nil)),
		kept("inquiries/inquiry-reopened", inquiry("再開", daysAgo(50), map[string]any{"status": "in_progress"})),
		kept("inquiries/inquiry-date-as-text", inquiry("読めない日付", "2024-01-01", nil)),
	}
	objects := []Object{
		{Name: "inquiries/inquiry-login/screen.png"},
		{Name: "inquiries/inquiry-login/help.png"},
		{Name: "inquiries/inquiry-restored/again.png"},
		{Name: "inquiries/inquiry-due-tomorrow/screen.png", Kept: true},
		{Name: "avatars/user-sakura.png", Kept: true},
	}
	return Sample{Documents: documents, Objects: objects}
}
