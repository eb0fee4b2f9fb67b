package resolvedinquiries

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/shared/sweep"
	model "github.com/firesweep/firesweep/shared/sweep/sweeptest/modeltest"
)

// canBeID is SPEC's "Fail closed" for ids.
func canBeID(v any) bool {
	id, _ := v.(string)
	return id != "" && len(id) <= 1500 && !strings.Contains(id, "/") && id != "." && id != ".." && (len(id) < 4 || !strings.HasPrefix(id, "__") || !strings.HasSuffix(id, "__"))
}

// afterRun is SPEC's cleanupResolvedInquiries. A user without a document is not told, and the inquiry marked all the same; an
// inquiry whose archive is there already is left to a person, and the run fails.
func afterRun(w model.World, now time.Time, bucket string) (after model.World, failed bool) {
	w = w.Clone()
	for id, inquiry := range w.In("inquiries") {
		resolved, dated := inquiry["resolvedAt"].(time.Time)
		if inquiry["status"] != "resolved" || !dated {
			continue
		}
		if !resolved.After(now.Add(-7 * day)) {
			if w.Documents["archivedInquiries/"+id] != nil {
				failed = true
				continue
			}
			archiveInquiry(w, id, now, bucket)
			continue
		}
		told, isTold := inquiry["deletionWarningNotifiedAt"].(time.Time)
		if resolved.After(now.Add(-6*day)) || isTold && !told.Before(resolved) || !canBeID(inquiry["userId"]) {
			continue
		}
		inquiry["deletionWarningNotifiedAt"] = now
		user := inquiry["userId"].(string)
		if w.Documents["users/"+user] == nil {
			continue
		}
		subject, _ := inquiry["subject"].(string)
		if subject == "" {
			subject = "件名なし"
		}
		w.Add(fmt.Sprintf("notification of %s about %s", user, id), map[string]any{
			"type": "inquiry_deletion_warning", "inquiryId": id, "title": "問い合わせ削除予告", "body": "「" + subject + "」は明日削除されます（ステータス: 解決済み）",
			"isRead": false, "createdAt": now,
		})
	}
	return w, failed
}

// archiveInquiry is what SPEC says is done after seven days.
func archiveInquiry(w model.World, id string, now time.Time, bucket string) {
	path := "inquiries/" + id
	messages := w.In(path + "/messages")
	var order []string
	for m := range messages {
		order = append(order, m)
	}
	slices.SortFunc(order, func(a, b string) int { // what has no createdAt is at the end; else equal ones by id
		at, dated := messages[a]["createdAt"].(time.Time)
		bt, datedToo := messages[b]["createdAt"].(time.Time)
		switch {
		case dated != datedToo && dated:
			return -1
		case dated != datedToo:
			return 1
		case !at.Equal(bt):
			return at.Compare(bt)
		}
		return strings.Compare(a, b)
	})
	list := []any{}
	for _, m := range order {
		list = append(list, messages[m])
		delete(w.Documents, path+"/messages/"+m)
		image, _ := messages[m]["imageUrl"].(string)
		name, ours := strings.CutPrefix(image, "gs://"+bucket+"/")
		if !ours {
			name, ours = strings.CutPrefix(image, "https://storage.googleapis.com/"+bucket+"/")
		}
		if ours && !strings.HasPrefix(name, "posts/") && !strings.HasPrefix(name, "circles/") && !strings.HasPrefix(name, "task_attachments/") {
			delete(w.Objects, name)
		}
	}
	archive := w.Documents[path]
	archive["messages"], archive["archivedAt"] = list, now
	w.Documents["archivedInquiries/"+id] = archive
	delete(w.Documents, path)
}

// announcement names one by whom it tells what.
func announcement(path string, data map[string]any) string {
	parts := strings.Split(path, "/")
	if len(parts) == 4 && parts[0] == "users" && parts[2] == "notifications" {
		return fmt.Sprintf("notification of %s about %s", parts[1], data["inquiryId"])
	}
	return ""
}

func TestModel(t *testing.T) {
	f := newFunction(t)
	model.Check(t, func(rt *rapid.T) {
		f.Now = model.Now(rt)
		w := model.NewWorld()
		var users []any
		for n := range 20 {
			id := model.ID(rt, fmt.Sprint(n))
			users = append(users, id)
			if n%4 > 0 {
				w.Documents["users/"+id] = map[string]any{"displayName": "花子"}
			}
		}
		sixDays, sevenDays := f.Now.Add(-6*day), f.Now.Add(-7*day)
		inquiry := model.Fields{
			"status":                    model.OneOf("resolved", "resolved", "resolved", "resolved", "resolved", "open", "Resolved", nil, model.Missing, true),
			"resolvedAt":                model.Around(sevenDays, sixDays, f.Now),
			"userId":                    rapid.OneOf(model.OneOf(users...), model.OneOf(users...), model.OneOf(users...), model.OneOf(model.BadIDs...)),
			"subject":                   model.OneOf("ログインできない", "", nil, model.Missing, int64(1)),
			"deletionWarningNotifiedAt": model.OneOf(model.Missing, model.Missing, nil, f.Now, sixDays.Add(-tick), sixDays, sevenDays, sevenDays.Add(time.Hour), sevenDays.AddDate(-1, 0, 0)),
			"category":                  model.OneOf("account", model.Missing, []any{map[string]any{"a": int64(1)}}, nil),
		}
		image := rapid.Custom(func(rt *rapid.T) any {
			n := rapid.IntRange(0, 40).Draw(rt, "image")
			form := rapid.SampledFrom([]string{"gs://BUCKET/inquiries/%d.png", "https://storage.googleapis.com/BUCKET/inquiries/%d.png", "gs://BUCKET/posts/%d.png", "gs://BUCKET/circles/%d.png",
				"gs://BUCKET/task_attachments/%d.png", "gs://BUCKETx/inquiries/%d.png", "https://example.com/BUCKET/inquiries/%d.png", "inquiries/%d.png", "gs://BUCKET/postsx/%d.png", "%d"}).Draw(rt, "form")
			return strings.ReplaceAll(fmt.Sprintf(form, n), "BUCKET", f.Bucket)
		})
		for n := range 40 {
			for _, form := range []string{"inquiries/%d.png", "posts/%d.png", "circles/%d.png", "task_attachments/%d.png", "postsx/%d.png"} {
				if rapid.IntRange(0, 2).Draw(rt, "object") > 0 {
					w.Objects[fmt.Sprintf(form, n)] = nil
				}
			}
		}
		message := model.Fields{
			"createdAt": rapid.OneOf(model.OneOf(sixDays, sevenDays), model.Around(sevenDays)),
			"content":   model.OneOf("助けて", nil, model.Missing),
			"imageUrl":  rapid.OneOf(image, image, model.OneOf(model.Missing, nil, "", int64(1))),
		}
		for n := range model.Items {
			id := model.ID(rt, fmt.Sprint(n))
			w.Documents["inquiries/"+id] = inquiry.Draw(rt, "inquiry")
			for m := range rapid.IntRange(0, 4).Draw(rt, "messages") {
				w.Documents["inquiries/"+id+"/messages/"+model.ID(rt, fmt.Sprint(m))] = message.Draw(rt, "message")
			}
			if rapid.IntRange(0, 29).Draw(rt, "archived") == 29 {
				w.Documents["archivedInquiries/"+id] = map[string]any{"status": "resolved", "messages": []any{}}
			}
		}
		w.Load(t, f.Project)
		for _, when := range []string{"first run", "second run", "a day later"} {
			if when == "a day later" {
				f.Now = f.Now.Add(day)
			}
			after, failed := afterRun(w, f.Now, f.Bucket)
			w = after
			got := f.Run(t, "")
			if want := map[bool]sweep.Status{false: sweep.Completed, true: sweep.Failed}[failed]; got.Status != want {
				rt.Fatalf("%s: %s %v, want %s", when, got.Status, got.Failures, want)
			}
			w.Is(rt, when, model.Read(t, f.Project, "messages", "notifications").Renamed(announcement))
		}
	})
}
