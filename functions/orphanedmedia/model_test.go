package orphanedmedia

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	model "github.com/firesweep/firesweep/shared/engine/enginetest/modeltest"
)

// canBeID reports whether a string is a valid id.
func canBeID(id string) bool { return model.IDOf(id) != "" }

// orphaned reports whether an object is due by its metadata or path. All objects were created at about the same time.
func orphaned(w model.World, name string, created, now time.Time) bool {
	metadata := w.Objects[name]
	missing := func(collection, id string) bool { return canBeID(id) && w.Documents[collection+"/"+id] == nil }
	old := !created.After(now.Add(-24 * time.Hour))
	parts := strings.Split(name, "/")
	switch {
	case parts[0] == "posts" && len(parts) > 1:
		if text, has := metadata["uploadedAt"]; has {
			ms, err := strconv.ParseInt(text, 10, 64)
			old = old && err == nil && !time.UnixMilli(ms).After(now.Add(-24*time.Hour)) // later ones are young, or in the future
		}
		return old && (metadata["postId"] == "PENDING" || missing("posts", metadata["postId"]))
	case parts[0] == "circles" && len(parts) > 2:
		return old && missing("circles", parts[1])
	case parts[0] == "task_attachments" && len(parts) > 3:
		return old && canBeID(parts[1]) && missing("tasks", parts[2])
	}
	return false
}

// afterRun is the model of cleanupOrphanedMedia. Objects are judged by the documents that existed when the run began.
func afterRun(w model.World, created, now time.Time, bucket string) model.World {
	before := w
	w = w.Clone()
	for name := range before.Objects {
		if orphaned(before, name, created, now) {
			delete(w.Objects, name)
		}
	}
	for id, post := range before.In("posts") {
		circle, _ := post["circleId"].(string)
		if !canBeID(circle) || before.Documents["circles/"+circle] != nil || len(id) == 1500 { // no query asks for what names it
			continue
		}
		delete(w.Documents, "posts/"+id)
		for _, collection := range []string{"comments", "reactions"} {
			for child, data := range w.In(collection) {
				if data["postId"] == id {
					delete(w.Documents, collection+"/"+child)
				}
			}
		}
		items, _ := post["mediaItems"].([]any)
		for _, item := range items {
			fields, _ := item.(map[string]any)
			link, _ := fields["url"].(string)
			for name, metadata := range before.Objects {
				of, named := metadata["postId"]
				if strings.HasPrefix(name, "posts/") && (of == id || !named && strings.HasPrefix(name, fmt.Sprintf("posts/%v/", post["userId"]))) && names(link, bucket, name) {
					delete(w.Objects, name)
				}
			}
		}
	}
	return w
}

// names reports whether a URL names an object of the bucket: it writes the object's URL in every form that the job
// understands.
func names(link, bucket, name string) bool {
	whole := url.PathEscape(name)
	for _, form := range []string{
		"https://firebasestorage.googleapis.com/v0/b/" + bucket + "/o/" + whole, "https://storage.googleapis.com/" + bucket + "/" + strings.ReplaceAll(whole, "%2F", "/"),
		"https://" + bucket + ".storage.googleapis.com/" + strings.ReplaceAll(whole, "%2F", "/"), "gs://" + bucket + "/" + name,
	} {
		if link == form || strings.HasPrefix(link, form+"?alt=media") {
			return true
		}
	}
	return false
}

func TestModel(t *testing.T) {
	t.Parallel()
	f := enginetest.New(t, functions.New(Job))
	f.Env["MAX_DUE_PERCENT"] = "100"
	var created time.Time
	job := model.Job{
		Pair: enginetest.Pair{Function: f}, Steps: []time.Duration{0, 0, 0},
		After: func(_ *rapid.T, w model.World, _ map[string]bool) model.World {
			return afterRun(w, created, f.Now, f.Bucket)
		},
	}
	job.Check(t, func(rt *rapid.T) model.World {
		// Objects are created by the test; what decides is whether that is a day before the run's now.
		created = time.Now()
		f.Now = time.Date(2040, 1, 10, 18, 0, 0, 0, time.UTC)
		if rapid.IntRange(0, 3).Draw(rt, "young") == 3 {
			f.Now = time.Date(2020, 1, 10, 18, 0, 0, 0, time.UTC)
		}
		w := model.NewWorld()
		var ids []string // of posts, circles and tasks; some of each exist
		for n := range model.Items {
			id := model.ID(rt, fmt.Sprint(n))
			switch n % 10 { // as long as an id can be, one byte shorter, and with unusual characters
			case 0:
				id += strings.Repeat("x", 1500-len(id))
			case 1:
				id = strings.Repeat("x", 1499-len(id)) + id
			case 2:
				id += "\x00\ny"
			}
			ids = append(ids, id)
			for _, collection := range []string{"circles", "tasks"} {
				if rapid.IntRange(0, 1).Draw(rt, collection) == 0 {
					w.Documents[collection+"/"+id] = map[string]any{"name": "x"}
				}
			}
		}
		anyID := rapid.OneOf(rapid.SampledFrom(ids), rapid.SampledFrom(ids), rapid.SampledFrom(ids),
			rapid.SampledFrom([]string{"", ".", "..", "__x__", "PENDING", "pending", "undefined", "[object Object]", " x", "x ", strings.Repeat("x", 1500),
				strings.Repeat("x", 1501)}))
		edge := f.Now.Add(-24 * time.Hour).UnixMilli()
		uploadedAt := rapid.SampledFrom([]string{"-", "-", fmt.Sprint(edge), fmt.Sprint(edge - 1), fmt.Sprint(edge + 1), "0", "-5", "x",
			"", fmt.Sprint(edge) + ".0", fmt.Sprint(edge) + "000", "99999999999999999999"})
		var objects []string
		for n := range model.Items {
			var name string
			metadata := map[string]string{}
			switch rapid.IntRange(0, 5).Draw(rt, "kind") {
			case 0, 1, 2:
				name = fmt.Sprintf(rapid.SampledFrom([]string{"posts/u1/%d.png", "posts/%d", "posts/u 1/a/日本+%d#.png", "postsx/%d",
					"posts/100%%%d.png"}).Draw(rt, "name"), n)
			case 3:
				name = fmt.Sprintf(rapid.SampledFrom([]string{"circles/%s/icon/%d.png", "circles/%s/%d", "circles/%s%d", "circles/%sx/%d", "circlesx/%s/%d",
					"Circles/%s/%d"}).Draw(rt, "name"), anyID.Draw(rt, "circle"), n)
			default:
				name = fmt.Sprintf(rapid.SampledFrom([]string{"task_attachments/u1/%s/%d.pdf", "task_attachments/u1/%s/a/b/%d",
					"task_attachments/../%s/%d", "task_attachments/%s/%d", "task_attachments//%s/%d", "task_attachmentsx/u1/%s/%d"}).Draw(rt, "name"), anyID.Draw(rt, "task"),
					n)
			}
			if len(name) > 1024 || strings.ContainsAny(name, "\x00\n") { // no object has such a name
				name = fmt.Sprintf("posts/%d-%s", n, strings.Repeat("x", 1000))
			}
			if of := anyID.Draw(rt, "postId"); rapid.IntRange(0, 3).Draw(rt, "named") > 0 {
				metadata["postId"] = of
			}
			if at := uploadedAt.Draw(rt, "uploadedAt"); at != "-" {
				metadata["uploadedAt"] = at
			}
			w.Objects[name] = metadata
			objects = append(objects, name)
		}
		link := rapid.Custom(func(rt *rapid.T) any {
			name := rapid.SampledFrom(objects).Draw(rt, "object")
			whole := url.PathEscape(name)
			form := rapid.SampledFrom([]string{
				"https://firebasestorage.googleapis.com/v0/b/BUCKET/o/" + whole + "?alt=media&token=t", "https://storage.googleapis.com/BUCKET/" + strings.ReplaceAll(whole, "%2F", "/"), "gs://BUCKET/" + name,
				"https://BUCKET.storage.googleapis.com/" + strings.ReplaceAll(whole, "%2F", "/"), "https://example.com/v0/b/BUCKET/o/" + whole, "gs://BUCKETx/" + name, "gs://other/BUCKET/" + name, name, ""}).Draw(rt, "form")
			return map[string]any{"type": "image", "url": strings.ReplaceAll(form, "BUCKET", f.Bucket)}
		})
		for _, id := range ids {
			if rapid.IntRange(0, 2).Draw(rt, "post") == 0 {
				continue
			}
			post := map[string]any{"text": "こんにちは", "userId": rapid.SampledFrom([]any{"u1", "u1", "u 1", "u", nil}).Draw(rt, "userId")}
			circle := rapid.OneOf(rapid.Map(anyID, func(id string) any { return id }),
				rapid.Map(anyID, func(id string) any { return id }), model.OneOf(model.BadIDs...),
				model.OneOf(math.NaN(), 2.5, f.Now, []byte("x"), map[string]any{"id": "x"})).Draw(rt, "circleId")
			if circle != model.Missing {
				post["circleId"] = circle
			}
			huge := map[string]any{"url": "gs://" + f.Bucket + "/posts/" + strings.Repeat("x", 100_000)}
			media := rapid.OneOf(model.OneOf(model.Missing, nil, "x", int64(1), math.NaN(), map[string]any{"url": "x"},
				[]any{"x", nil, map[string]any{"url": int64(1)}, huge}),
				rapid.Map(rapid.SliceOfN(link, 1, 3), func(items []any) any { return items })).Draw(rt, "mediaItems")
			if media != model.Missing {
				post["mediaItems"] = media
			}
			w.Documents["posts/"+id] = post
			// an object that certainly belongs to the post
			if rapid.IntRange(0, 3).Draw(rt, "own media") == 0 && len(id) < 1000 && !strings.Contains(id, "\n") {
				name := "posts/own/" + id
				w.Objects[name] = map[string]string{"postId": id}
				post["mediaItems"] = []any{map[string]any{"url": "gs://" + f.Bucket + "/" + name}}
			}
		}
		child := model.Fields{"postId": rapid.OneOf(rapid.Map(anyID, func(id string) any { return id }),
			model.OneOf(model.Missing, nil, int64(1))), "text": model.OneOf("!")}
		for n := range model.Items {
			collection := rapid.SampledFrom([]string{"comments/", "reactions/", "likes/"}).Draw(rt, "collection")
			w.Documents[collection+fmt.Sprint(n)] = child.Draw(rt, "child")
		}
		return w
	})
}
