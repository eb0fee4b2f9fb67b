package expiredcomped

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	model "github.com/firesweep/firesweep/shared/engine/enginetest/modeltest"
)

// afterRun is the rule of cleanExpiredComped. A row whose expiry cannot be told is kept and keeps its member comped, and so does one
// that expired today: it goes tomorrow, and the member with it. A row that names its member by a real number is kept, too, and
// the rows of an id or of a reference that is too long to be asked for.
func afterRun(w model.World, now time.Time) model.World {
	w = w.Clone()
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	expired := map[string][]any{} // by member, what the rows call the member, in the rows' order
	var left []any                // what the others call theirs
	rows := w.In("members_products")
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		row := rows[id]
		member := model.IDIn("members", row["member_id"])
		_, byReference := row["member_id"].(*firestore.DocumentRef)
		tooLong := len(member) >= 1500 || byReference && len("members/"+member) > 1483
		expiry, dated := row["expiry_at"].(time.Time)
		if member != "" && dated && expiry.Year() >= 1971 && expiry.Before(today) && !tooLong {
			expired[member] = append(expired[member], row["member_id"])
			delete(w.Documents, "members_products/"+id)
		} else {
			left = append(left, row["member_id"])
		}
	}
	for id, names := range expired {
		member := w.Documents["members/"+id]
		stays := func(name any) bool {
			_, isList := name.([]any)
			return !isList && (model.Refers(name, id) || model.IDIn("members", name) == id)
		}
		if member["status"] != "comped" || slices.ContainsFunc(left, stays) {
			continue
		}
		member["status"], member["updated_at"] = "free", now
		w.Add("event of "+id, map[string]any{"member_id": names[0], "from_status": "comped", "to_status": "free", "created_at": now})
	}
	return w
}

var objectID = regexp.MustCompile(`^members_status_events/[0-9a-f]{24}$`)

// event names the events that the job may have written by their members.
func event(path string, data map[string]any) string {
	if objectID.MatchString(path) {
		return "event of " + model.IDIn("members", data["member_id"])
	}
	return ""
}

func TestModel(t *testing.T) {
	t.Parallel()
	f := enginetest.New(t, functions.New(Job))
	job := model.Job{
		Pair: enginetest.Pair{Function: f}, Steps: []time.Duration{0, 0, 24 * time.Hour}, Name: event,
		After: func(_ *rapid.T, w model.World, _ map[string]bool) model.World { return afterRun(w, f.Now) },
	}
	job.Check(t, func(rt *rapid.T) model.World {
		f.Now = model.Now(rt)
		today := f.Now.Truncate(24 * time.Hour)
		w := model.NewWorld()
		member := model.Fields{
			"status":     model.OneOf("comped", "comped", "comped", "paid", "free", "Comped", nil, model.Missing, int64(1)),
			"updated_at": model.OneOf(model.Missing, nil, today.AddDate(-1, 0, 0)),
		}
		var ids []any
		names := []string{model.LongestAsked, model.TooLong, "a\x00b", "007"}
		for n := range model.Items {
			names = append(names, model.ID(rt, fmt.Sprint(n)))
		}
		for _, id := range names {
			ids = append(ids, id)
			if rapid.IntRange(0, 9).Draw(rt, "exists") > 0 {
				w.Documents["members/"+id] = member.Draw(rt, "member")
			}
		}
		row := model.Fields{
			"member_id": rapid.OneOf(model.Named(ids...), model.Named(ids...), model.References(f.Firestore(t), "members", ids...), model.OneOf(model.BadIDs...), model.OneOf(model.OddNames...)),
			"expiry_at": rapid.OneOf(model.Around(today, f.Now), model.Around(today), model.OneOf(nil, model.Missing, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(0, 0).UTC())),
		}
		for n := range 2 * model.Items {
			path := rapid.SampledFrom([]string{"members_products/", "members_products/", "members_products/", "members_products/", "old/x/members_products/"}).Draw(rt, "path")
			w.Documents[path+model.ID(rt, fmt.Sprint(n))] = row.Draw(rt, "row")
		}
		return w
	})
}
