package ghostcircles

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/functions/notifications"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	model "github.com/firesweep/firesweep/shared/engine/enginetest/modeltest"
)

// afterRun is checkGhostCircles, by its rules. A circle with a field that decides and is of a wrong type is kept, and so is one with
// a warning from the future.
func afterRun(w model.World, now time.Time, bucket string) model.World {
	w = w.Clone()
	for id, circle := range w.In("circles") {
		path := "circles/" + id
		if id == "undefined" || id == " c" || len(id) == 1500 { // mistaken, or no query asks for its posts
			continue
		}
		if circle["isDeleted"] == true {
			if circle["deletedBy"] == "checkGhostCircles" {
				removeCircle(w, id, now, bucket)
			}
			continue
		}
		if circle["isDeleted"] != nil && circle["isDeleted"] != false {
			continue
		}
		warned, isWarned := circle["ghostWarningNotifiedAt"].(time.Time)
		posted, isPosted := circle["lastHumanPostAt"].(time.Time)
		created, isCreated := circle["createdAt"].(time.Time)
		if circle["ghostWarningNotifiedAt"] != nil && !isWarned || circle["lastHumanPostAt"] != nil && !isPosted || !isPosted && !isCreated {
			continue
		}
		if early(posted, isPosted) || early(warned, isWarned) || !isPosted && early(created, true) {
			continue
		}
		since, text := created.Add(30*day), notifications.Japanese.AbandonedCircleWarning
		if isPosted {
			since, text = posted.Add(365*day), notifications.Japanese.GhostCircleWarning
		}
		switch {
		case since.After(now):
			if isWarned {
				delete(w.Documents[path], "ghostWarningNotifiedAt")
			}
		case w.Documents["users/"+model.IDIn("users", circle["ownerId"])] == nil: // nobody can be told
		case isWarned && warned.After(now):
		case !isWarned || warned.Before(since):
			w.Documents[path]["ghostWarningNotifiedAt"] = now
			notify(w, circle, id, now, map[string]any{"type": "circle_ghost_warning", "circleId": id}, text)
		case !warned.After(now.Add(-7 * day)):
			removeCircle(w, id, now, bucket)
		}
	}
	return w
}

// early says whether a time is too early to be one.
func early(at time.Time, isTime bool) bool { return isTime && at.Year() < 1971 }

// notify tells the owner of a circle, if there is one.
func notify(w model.World, circle map[string]any, id string, now time.Time, data map[string]any, text func(string) notifications.Text) {
	owner := model.IDIn("users", circle["ownerId"])
	if w.Documents["users/"+owner] == nil {
		return
	}
	name, _ := circle["name"].(string)
	if name == "" {
		name = id
	}
	if len(name) == 1500 { // the id of one of the model's longest, in ASCII
		name = name[:200] + "…"
	}
	data["circleName"], data["isRead"], data["createdAt"] = name, false, now
	data["title"], data["body"] = text(name).Title, text(name).Body
	told := fmt.Sprint("notification of ", owner, data["type"], name, " at ")
	if data["type"] == "circle_ghost_warning" || circle["isDeleted"] == true { // told of the same occasion before, by a run that was taken back
		maps.DeleteFunc(w.Documents, func(path string, _ map[string]any) bool { return strings.HasPrefix(path, told) })
	}
	w.Documents[fmt.Sprint(told, now, " (1)")] = data
}

// removeCircle deletes a circle with all that belongs to it.
func removeCircle(w model.World, id string, now time.Time, bucket string) {
	for post, data := range w.In("posts") {
		if data["circleId"] != id {
			continue
		}
		delete(w.Documents, "posts/"+post)
		for _, collection := range []string{"comments", "reactions"} {
			for child, data := range w.In(collection) {
				if data["postId"] == post {
					delete(w.Documents, collection+"/"+child)
				}
			}
		}
		items, _ := data["mediaItems"].([]any)
		for _, item := range items {
			link, _ := item.(map[string]any)["url"].(string)
			name, ours := strings.CutPrefix(link, "gs://"+bucket+"/")
			if of, named := w.Objects[name]["postId"]; ours && strings.HasPrefix(name, "posts/") && (of == post || !named && strings.HasPrefix(name, fmt.Sprintf("posts/%v/", data["userId"]))) {
				delete(w.Objects, name)
			}
		}
	}
	for name := range w.Objects {
		if strings.HasPrefix(name, "circles/"+id+"/") {
			delete(w.Objects, name)
		}
	}
	circle := w.Documents["circles/"+id]
	delete(w.Documents, "circles/"+id)
	notify(w, circle, id, now, map[string]any{"type": "circle_ghost_deleted"}, notifications.Japanese.GhostCircleDeleted)
}

// announcement names one by whom it tells what, and when.
func announcement(path string, data map[string]any) string {
	parts := strings.Split(path, "/")
	if len(parts) == 4 && parts[0] == "users" && parts[2] == "notifications" {
		return fmt.Sprint("notification of ", parts[1], data["type"], data["circleName"], " at ", data["createdAt"])
	}
	return ""
}

func TestModel(t *testing.T) {
	t.Parallel()
	f := enginetest.New(t, functions.New(Job))
	f.Clock = func() time.Time { return f.Now } // promises count from the wall clock
	job := model.Job{
		Pair: enginetest.Pair{Function: f}, Steps: []time.Duration{0, 0, 7 * day}, Name: announcement,
		After: func(_ *rapid.T, w model.World, _ map[string]bool) model.World { return afterRun(w, f.Now, f.Bucket) },
	}
	job.Check(t, func(rt *rapid.T) model.World {
		f.Now = model.Now(rt)
		ago := func(days int) time.Time { return f.Now.Add(-time.Duration(days) * day) }
		w := model.NewWorld()
		var users []any
		for n := range 20 {
			id := model.ID(rt, fmt.Sprint(n))
			users = append(users, id)
			if n%4 > 0 {
				w.Documents["users/"+id] = map[string]any{"displayName": "花子"}
			}
		}
		odd := []any{math.NaN(), math.Inf(1), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), []byte{0}}
		circle := model.Fields{
			"isDeleted":              model.OneOf(false, false, false, model.Missing, model.Missing, nil, true, "true", int64(1)),
			"lastHumanPostAt":        rapid.OneOf(model.OneOf(model.Missing, nil), model.Around(ago(365), ago(372), f.Now), model.Around(ago(365), ago(372), f.Now), model.OneOf(odd...)),
			"createdAt":              rapid.OneOf(model.Around(ago(30), ago(365), ago(37), f.Now), model.Around(ago(30), ago(365), ago(37), f.Now), model.OneOf(odd...)),
			"ghostWarningNotifiedAt": rapid.OneOf(model.OneOf(model.Missing), model.OneOf(ago(7), ago(7), ago(7).Add(-tick)), model.Around(ago(7), f.Now, ago(1), ago(335))),
			"ownerId":                rapid.OneOf(model.OneOf(users...), model.OneOf(users...), model.References(f.Firestore(t), "users", users...), model.OneOf(model.BadIDs...)),
		}
		var circles []any
		for n := range model.Items / 2 {
			id := model.ID(rt, fmt.Sprint(n))
			if n%10 == 0 {
				id = strings.Repeat("x", 1500-len(id)) + id
			} else if n < 3 {
				id = []string{"", "undefined", " c"}[n]
			}
			circles = append(circles, id)
			data := circle.Draw(rt, "circle")
			if rapid.IntRange(0, 4).Draw(rt, "named") > 0 {
				data["name"] = fmt.Sprint("読書会", n)
			}
			if data["isDeleted"] == true { // by an interrupted run, or by somebody else
				data["deletedBy"] = rapid.SampledFrom([]any{"checkGhostCircles", "checkGhostCircles", "u1", nil}).Draw(rt, "deletedBy")
				data["deletedAt"] = ago(1)
			}
			w.Documents["circles/"+id], w.Documents["archive/x/circles/"+id] = data, data
			for _, form := range []string{"circles/%s/icon/a.png", "circles/%sx/a.png", "circles/%s"} {
				if rapid.IntRange(0, 2).Draw(rt, "file") == 0 && len(id) < 500 { // an object's name has 1,024 bytes at most
					w.Objects[fmt.Sprintf(form, id)] = nil
				}
			}
		}
		for n := range model.Items / 2 {
			id := model.ID(rt, fmt.Sprint(n))
			if n%10 == 0 {
				id = strings.Repeat("x", 1499-len(id)) + id // and one byte more names another
			}
			post := map[string]any{"text": "こんにちは", "userId": rapid.SampledFrom([]any{"u1", "u1", int64(1), "u12", nil}).Draw(rt, "userId")}
			if of := rapid.OneOf(model.OneOf(circles...), model.OneOf(circles...), model.OneOf(circles...), model.OneOf(model.BadIDs[:len(model.BadIDs)-1]...)).Draw(rt, "circleId"); of != model.Missing {
				post["circleId"] = of
			}
			name := fmt.Sprintf(rapid.SampledFrom([]string{"posts/u1/%d.png", "posts/1/%d.png", "posts/%d.png", "circles/%d.png", "postsx/%d.png"}).Draw(rt, "file"), n)
			switch rapid.IntRange(0, 3).Draw(rt, "whose") {
			case 0:
				w.Objects[name] = map[string]string{"postId": id}
			case 1:
				w.Objects[name] = nil
			case 2:
				w.Objects[name] = map[string]string{"postId": id + "x"}
			}
			bucket := rapid.SampledFrom([]string{f.Bucket, f.Bucket, f.Bucket, f.Bucket + "x"}).Draw(rt, "bucket")
			w.Documents["users/u/posts/"+id] = post
			post["mediaItems"] = []any{map[string]any{"url": "gs://" + bucket + "/" + name}, map[string]any{"type": "text"}}
			w.Documents["posts/"+id] = post
			for m := range rapid.IntRange(0, 2).Draw(rt, "children") {
				collection := rapid.SampledFrom([]string{"comments", "reactions", "likes"}).Draw(rt, "collection")
				w.Documents[fmt.Sprintf("%s/%d-%d", collection, n, m)] = map[string]any{"postId": rapid.SampledFrom([]any{id, id, id, id + "x", nil}).Draw(rt, "postId")}
			}
		}
		return w
	})
}
