package resolvedinquiries

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	model "github.com/firesweep/firesweep/shared/engine/enginetest/modeltest"
)

// afterRun is the model of cleanupResolvedInquiries. If a user has no document, nobody is told, but the inquiry is marked.
func afterRun(w model.World, now time.Time, bucket string) model.World {
	w = w.Clone()
	for id, inquiry := range w.In("inquiries") {
		resolved, dated := inquiry["resolvedAt"].(time.Time)
		if inquiry["status"] != "resolved" || !dated || resolved.Year() < 1971 {
			continue
		}
		if !resolved.After(now.Add(-7 * day)) {
			// A user who was told when it was due already has a day.
			told, isTold := inquiry["deletionWarningNotifiedAt"].(time.Time)
			if isTold && !told.Before(resolved.Add(7*day)) && !told.After(now) && told.Add(day).After(now) {
				continue
			}
			moveArchive(w, id)
			archiveInquiry(w, id, now, bucket)
			continue
		}
		user := model.IDIn("users", inquiry["userId"])
		told, isTold := inquiry["deletionWarningNotifiedAt"].(time.Time)
		if resolved.After(now.Add(-6*day)) || isTold && !told.Before(resolved) && !told.After(now) || user == "" {
			continue
		}
		inquiry["deletionWarningNotifiedAt"] = now
		if w.Documents["users/"+user] == nil {
			continue
		}
		subject, _ := inquiry["subject"].(string)
		if subject == "" {
			subject = "件名なし"
		}
		note := fmt.Sprintf("notification of %s about %s", user, id)
		if w.Documents[note+" (1)"] != nil {
			continue // told of this resolution
		}
		w.Add(note, map[string]any{
			"type": "inquiry_deletion_warning", "inquiryId": id, "title": "問い合わせ削除予告", "body": "「" + subject + "」は明日削除されます（ステータス: 解決済み）",
			"isRead": false, "createdAt": now,
		})
	}
	return w
}

// moveArchive makes room for an archive: one that exists already moves to earlier/.
func moveArchive(w model.World, id string) {
	path := "archivedInquiries/" + id
	old := w.Documents[path]
	if old == nil {
		return
	}
	name := "undated"
	if at, dated := old["archivedAt"].(time.Time); dated {
		name = at.Format(time.RFC3339Nano)
	}
	to := path + "/earlier/" + name
	for n := 2; w.Documents[to] != nil; n++ {
		to = fmt.Sprintf("%s/earlier/%s-%d", path, name, n)
	}
	w.Documents[to] = old
}

// archiveInquiry is the model of archiving, after seven days.
func archiveInquiry(w model.World, id string, now time.Time, bucket string) {
	path := "inquiries/" + id
	messages := w.In(path + "/messages")
	var order []string
	for m := range messages {
		order = append(order, m)
	}
	slices.SortFunc(order, func(a, b string) int { // messages without createdAt are last; equal ones come in the order of their ids
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
		if ours && strings.HasPrefix(name, "inquiries/") {
			delete(w.Objects, name)
		}
	}
	archive := w.Documents[path]
	archive["messages"], archive["archivedAt"] = list, now
	w.Documents["archivedInquiries/"+id] = archive
	delete(w.Documents, path)
}

// announcement names a notification by its user and what it announces.
func announcement(path string, data map[string]any) string {
	parts := strings.Split(path, "/")
	if len(parts) == 4 && parts[0] == "users" && parts[2] == "notifications" {
		return fmt.Sprintf("notification of %s about %s", parts[1], data["inquiryId"])
	}
	return ""
}

func TestModel(t *testing.T) {
	f := newFunction(t)
	job := model.Job{
		Pair: enginetest.Pair{Function: f}, Steps: []time.Duration{0, 0, day},
		Name:  announcement,
		After: func(_ *rapid.T, w model.World, _ map[string]bool) model.World { return afterRun(w, f.Now, f.Bucket) },
	}
	job.Check(t, func(rt *rapid.T) model.World {
		f.Now = model.Now(rt)
		w := model.NewWorld()
		var users []any
		for n := range 20 {
			id := model.ID(rt, fmt.Sprint(n))
			if n == 1 {
				id += strings.Repeat("x", 1500-len(id))
			}
			users = append(users, id)
			if n%4 > 0 {
				w.Documents["users/"+id] = map[string]any{"displayName": "花子"}
			}
		}
		sixDays, sevenDays := f.Now.Add(-6*day), f.Now.Add(-7*day)
		inquiry := model.Fields{
			"status":                    model.OneOf("resolved", "resolved", "resolved", "resolved", "resolved", "open", "Resolved", nil, model.Missing, true),
			"resolvedAt":                rapid.OneOf(model.Around(sevenDays, sixDays, f.Now), model.OneOf(f.Now.Add(-8*day), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), math.NaN())),
			"userId":                    rapid.OneOf(model.OneOf(users...), model.OneOf(users...), model.References(f.Firestore(t), "users", users...), model.OneOf(model.BadIDs...)),
			"subject":                   model.OneOf("ログインできない", "", nil, model.Missing, int64(1)),
			"deletionWarningNotifiedAt": model.OneOf(model.Missing, model.Missing, nil, f.Now, f.Now.Add(tick), f.Now.Add(-day), f.Now.Add(tick-day), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), math.NaN(), sixDays.Add(-tick), sixDays, sevenDays, sevenDays.Add(time.Hour), sevenDays.AddDate(-1, 0, 0)),
			"category":                  model.OneOf("account", model.Missing, []any{map[string]any{"a": int64(1)}}, nil),
		}
		odd := []any{model.Missing, nil, "", int64(1), math.NaN(), []any{}, strings.Repeat("i", 2000),
			"gs://" + f.Bucket + "/inquiries/", "gs://" + f.Bucket + "/inquiries/../posts/1.png", "gs://" + f.Bucket + "/inquiries/\x00"}
		image := rapid.Custom(func(rt *rapid.T) any {
			n := rapid.IntRange(0, 40).Draw(rt, "image")
			form := rapid.SampledFrom([]string{"gs://BUCKET/inquiries/%d.png", "https://storage.googleapis.com/BUCKET/inquiries/%d.png",
				"gs://BUCKET/posts/%d.png", "gs://BUCKET/circles/%d.png",
				"gs://BUCKET/task_attachments/%d.png", "gs://BUCKETx/inquiries/%d.png", "https://example.com/BUCKET/inquiries/%d.png", "inquiries/%d.png", "gs://BUCKET/postsx/%d.png", "%d"}).Draw(rt, "form")
			return strings.ReplaceAll(fmt.Sprintf(form, n), "BUCKET", f.Bucket)
		})
		for n := range 40 {
			for _, form := range []string{"inquiries/%d.png", "posts/%d.png", "circles/%d.png", "task_attachments/%d.png",
				"postsx/%d.png"} {
				if rapid.IntRange(0, 2).Draw(rt, "object") > 0 {
					w.Objects[fmt.Sprintf(form, n)] = nil
				}
			}
		}
		message := model.Fields{
			"createdAt": rapid.OneOf(model.OneOf(sixDays, sevenDays), model.Around(sevenDays)),
			"content":   model.OneOf("助けて", nil, model.Missing),
			"imageUrl":  rapid.OneOf(image, image, model.OneOf(odd...)),
		}
		archived := model.Fields{
			"archivedAt": model.OneOf(sevenDays.AddDate(-1, 0, 0), f.Now, model.Missing, nil, "2025", int64(1)),
			"messages":   model.OneOf(model.Missing, []any{}),
		}
		for n := range model.Items {
			id, ofMessages := model.ID(rt, fmt.Sprint(n)), ""
			if n%20 == 0 {
				id += strings.Repeat("x", 1500-len(id))
				ofMessages = strings.Repeat("x", 1400)
			}
			w.Documents["inquiries/"+id] = inquiry.Draw(rt, "inquiry")
			w.Documents["inquiries_old/"+id], w.Documents["users/u1/inquiries/"+id] = inquiry.Draw(rt, "old"), inquiry.Draw(rt, "a user's")
			for m := range rapid.IntRange(0, 4).Draw(rt, "messages") {
				w.Documents["inquiries/"+id+"/messages/"+model.ID(rt, fmt.Sprint(m))+ofMessages] = message.Draw(rt, "message")
			}
			if rapid.IntRange(0, 4).Draw(rt, "archived") == 4 {
				old := archived.Draw(rt, "archive")
				earlier := "archivedInquiries/" + id + "/earlier/undated"
				if at, dated := old["archivedAt"].(time.Time); dated {
					earlier = "archivedInquiries/" + id + "/earlier/" + at.Format(time.RFC3339Nano)
				}
				for _, number := range []string{"", "-2"}[:rapid.IntRange(0, 2).Draw(rt, "earlier ones")] {
					w.Documents[earlier+number] = map[string]any{"status": "resolved"}
				}
				w.Documents["archivedInquiries/"+id] = old
			}
		}
		return w
	})
}
