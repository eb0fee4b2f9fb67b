package placeholderusers

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"pgregory.net/rapid"

	model "github.com/firesweep/firesweep/shared/engine/enginetest/modeltest"
)

// referred are the default places where users are referred to, collection and field.
var referred = [][2]string{{"posts", "userId"}, {"comments", "userId"}, {"projects", "owner_ids"}, {"projects", "maintainer_ids"}, {"members", "user_id"}}

// afterRun is the rule of cleanupPlaceholderUsers and deletePlaceholderUser: what is there when the run's tasks have been delivered.
// It returns the users who were handed over for the last time. A user is kept that also has a detail with a namespace.
// So is what is held, also a detail that only the worker had deleted.
func afterRun(w model.World, now time.Time, held map[string]bool) (after model.World, final []string) {
	w = w.Clone()
	var handed []string
	for d, detail := range w.In("import_placeholder_user_details") {
		id := model.IDIn("users", detail["placeholder_user_id"])
		var attempts int64
		switch v := detail["deletion_attempts"].(type) {
		case nil:
		case int64:
			attempts = v
		case float64:
			if attempts = int64(v); float64(attempts) != v {
				continue
			}
		default:
			continue
		}
		last, dated := detail["last_deletion_attempt_at"].(time.Time)
		if held["import_placeholder_user_details/"+d] || detail["namespace_id"] != nil || attempts < 0 || attempts >= 15 || id == "" || len(id) >= 1500 || detail["last_deletion_attempt_at"] != nil && !dated || dated && !last.Before(now.Add(-48*time.Hour)) {
			continue
		}
		if user, there := w.Documents["users/"+id]; there {
			if _, isText := user["user_type"].(string); !isText {
				continue
			}
		}
		detail["deletion_attempts"], detail["last_deletion_attempt_at"] = attempts+1, now
		handed = append(handed, id)
		if attempts == 14 {
			final = append(final, id)
		}
	}
	for _, id := range handed {
		if held["users/"+id] || w.Documents["users/"+id]["user_type"] != "placeholder" || needed(w, id) {
			continue
		}
		delete(w.Documents, "users/"+id)
		delete(w.Accounts, id)
		for d, detail := range w.In("import_placeholder_user_details") {
			if isOf(detail, id) {
				delete(w.Documents, "import_placeholder_user_details/"+d)
			}
		}
	}
	return w, final
}

// needed says whether anything refers to a user, or an import has taken it up.
func needed(w model.World, id string) bool {
	if len("users/"+id) > 1483 {
		return true // perhaps: a reference to it is too long to be asked for
	}
	for _, place := range referred {
		collection, field := place[0], place[1]
		for _, data := range w.In(collection) {
			list, _ := data[field].([]any)
			for _, value := range append(list, data[field]) {
				if ref, ok := value.(*firestore.DocumentRef); ok && ref.Parent.ID == "users" && ref.ID == id {
					return true
				}
			}
			for _, text := range []string{id, "users/" + id, "/users/" + id, "users/" + id + "/", id + " ", " users/" + id} {
				if model.Refers(data[field], text) {
					return true
				}
			}
		}
	}
	for _, detail := range w.In("import_placeholder_user_details") {
		if isOf(detail, id) && detail["namespace_id"] != nil {
			return true
		}
	}
	return false
}

// isOf reports whether a detail names a user.
func isOf(detail map[string]any, id string) bool {
	_, isList := detail["placeholder_user_id"].([]any)
	return !isList && (model.Refers(detail["placeholder_user_id"], id) || model.IDIn("users", detail["placeholder_user_id"]) == id)
}

func TestModel(t *testing.T) {
	p := newWorld(t)
	ref := func(id any) any { return p.Firestore(t).Doc(fmt.Sprint("users/", id)) }
	asReal := func(id any) any {
		if n, ok := id.(int64); ok && n < 1<<53 {
			return float64(n)
		}
		return id
	}
	logged := 0 // final attempts
	job := model.Job{
		Pair: p.Pair, Steps: []time.Duration{0, 48 * time.Hour, time.Microsecond}, HoldsSome: true,
		After: func(rt *rapid.T, w model.World, held map[string]bool) model.World {
			before := logged
			logged = 0
			for _, line := range p.LogLines(t) {
				if line["message"] == "Maximum deletion attempts (15) reached for deletion of placeholder user. Making final deletion attempt." {
					logged++
				}
			}
			w, final := afterRun(w, p.Now, held)
			if n := logged - before; n != len(final) {
				rt.Fatalf("%s: %d final attempts logged, want %d: %v", p.Now, n, len(final), final)
			}
			return w
		},
	}
	job.Check(t, func(rt *rapid.T) model.World {
		p.Now = model.Now(rt)
		w := model.NewWorld()
		for _, place := range referred {
			w.Documents[place[0]+"/nobody"] = map[string]any{}
		}
		for _, place := range referred {
			w.Documents[place[0]+"/nobody"][place[1]] = nil
		}
		user := model.Fields{"user_type": model.OneOf("placeholder", "placeholder", "placeholder", "placeholder", "placeholder", "human", "Placeholder", nil, model.Missing, []any{"placeholder"}), "name": model.OneOf("Placeholder")}
		var ids []any
		names := []string{strings.Repeat("x", 1477), model.LongestAsked, model.TooLong, "a\x00b", "007", "0", "9223372036854775807"}
		for n := range model.Items / 3 {
			names = append(names, model.ID(rt, fmt.Sprint(n)))
		}
		for n, id := range names {
			ids = append(ids, id)
			if n%10 > 0 {
				w.Documents["users/"+id] = user.Draw(rt, "user")
			}
			if n%3 > 0 && len(id) <= 128 {
				w.Accounts[id] = "花子"
			}
		}
		// Users who have numbers and are due, so that it depends on what refers to them.
		for n := range model.Items / 5 {
			id := fmt.Sprint(1000 + n)
			ids = append(ids, id)
			w.Documents["users/"+id] = map[string]any{"user_type": "placeholder"}
			w.Documents["import_placeholder_user_details/of-"+id] = map[string]any{"placeholder_user_id": model.Named(id).Draw(rt, "name")}
		}
		namespaces := []any{nil, nil, nil, nil, nil, "g1", int64(7), "", false}
		if rapid.Bool().Draw(rt, "namespaces may be missing") {
			namespaces = append(namespaces, model.Missing, model.Missing, model.Missing)
		}
		detail := model.Fields{
			"placeholder_user_id":      rapid.OneOf(model.Named(ids...), model.Named(ids...), model.Named(ids...), model.References(p.Firestore(t), "users", ids...), model.OneOf(model.BadIDs...), model.OneOf(model.OddNames...)),
			"namespace_id":             model.OneOf(namespaces...),
			"deletion_attempts":        model.OneOf(int64(0), nil, model.Missing, int64(1), int64(13), int64(14), int64(14), int64(15), int64(16), 14.0, 15.0, 0.5, int64(-1), "1", true, math.Inf(1), -0.5),
			"last_deletion_attempt_at": rapid.OneOf(model.OneOf(nil, model.Missing), model.Around(p.Now.Add(-48*time.Hour), p.Now)),
		}
		for n := range model.Items / 3 {
			w.Documents["import_placeholder_user_details/"+model.ID(rt, fmt.Sprint(n))] = detail.Draw(rt, "detail")
		}
		for _, id := range []string{model.TooLong, "a\x00b"} {
			w.Documents["import_placeholder_user_details/"+id] = detail.Draw(rt, "detail")
		}
		for n := range model.Items / 3 {
			place := rapid.SampledFrom(referred).Draw(rt, "place")
			collection := rapid.SampledFrom([]string{place[0], place[0], place[0], "likes", "archive/x/posts"}).Draw(rt, "collection")
			field := rapid.SampledFrom([]string{place[1], place[1], place[1], "user_id"}).Draw(rt, "field")
			id := model.Named(ids...).Draw(rt, "user")
			w.Documents[fmt.Sprintf("%s/%d", collection, n)] = map[string]any{field: rapid.SampledFrom([]any{id, id, []any{"x", id}, ref(id), []any{ref(id)}, asReal(id), []any{asReal(id)}, fmt.Sprint("users/", id), []any{fmt.Sprint("/users/", id)}, fmt.Sprint("users/", id, "/"), fmt.Sprint(id, " "), []any{fmt.Sprint(" users/", id)}, fmt.Sprint(id, "x"), nil, map[string]any{"id": id}}).Draw(rt, "reference")}
		}
		return w
	})
}
