package declared_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	model "github.com/firesweep/firesweep/shared/engine/enginetest/modeltest"
)

// prove runs a job on random documents of a collection and its neighbours. Exactly those that are due go.
func prove(
	t *testing.T, job, collection string, neighbours []string,
	draw func(now time.Time) model.Fields, due func(data map[string]any, now time.Time) bool,
) {
	f := newJob(t, job)
	m := model.Job{
		Pair: enginetest.Pair{Function: f},
		After: func(_ *rapid.T, w model.World, _ map[string]bool) model.World {
			w = w.Clone()
			for id, data := range w.In(collection) {
				if due(data, f.Now) {
					delete(w.Documents, collection+"/"+id)
				}
			}
			return w
		},
	}
	m.Check(t, func(rt *rapid.T) model.World {
		f.Now = model.Now(rt)
		w, documents := model.NewWorld(), draw(f.Now)
		paths := append([]string{collection, collection, collection, collection}, neighbours...)
		for n := range model.Items {
			id := model.ID(rt, fmt.Sprint(n))
			if n%20 == 0 {
				id += strings.Repeat("x", 1500-len(id))
			}
			w.Documents[rapid.SampledFrom(paths).Draw(rt, "path")+"/"+id] = documents.Draw(rt, "document")
		}
		for _, id := range []string{model.TooLong, "a\x00b"} {
			w.Documents[collection+"/"+id] = documents.Draw(rt, "document")
		}
		return w
	})
}

// TestInvitesModel is the rule of removeUnacceptedMemberInvites. What is no text, or empty, is no invitation.
func TestInvitesModel(t *testing.T) {
	prove(t, "removeUnacceptedMemberInvites", "members", []string{"members_products", "groups/g/members"},
		func(now time.Time) model.Fields {
			return model.Fields{
				"invite_token": model.OneOf("t1", "t1", "t2", "日本", " ", "~", "a\x00b", "__x__", "a/b", model.LongestAsked, model.TooLong,
					"", nil, model.Missing, int64(7), math.Inf(1), true, []any{"t"}),
				"created_at": model.Around(now.Add(-90*24*time.Hour), model.MonthsAgo(now, 3), now),
				"user_id": model.OneOf(model.Missing, nil, model.Missing, nil, model.Missing, "u1", "", int64(0), int64(7), 7.0, false,
					[]any{}, model.TooLong),
				"name": model.OneOf("花子", model.Missing),
			}
		}, func(member map[string]any, now time.Time) bool {
			token, _ := member["invite_token"].(string)
			created, dated := member["created_at"].(time.Time)
			return token != "" && member["user_id"] == nil && dated && created.Year() > 1970 && created.Before(now.Add(-90*24*time.Hour))
		})
}

// TestReportsModel is the rule of cleanupReports.
func TestReportsModel(t *testing.T) {
	prove(t, "cleanupReports", "reports", []string{"reportsx", "archive/x/reports"},
		func(now time.Time) model.Fields {
			month := model.MonthsAgo(now, 1)
			odd := model.OneOf(math.NaN(), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), []byte{0})
			return model.Fields{
				"status": model.OneOf("reviewed", "dismissed", "pending", "reviewed", "dismissed", "Reviewed", "", nil, model.Missing, int64(1),
					[]any{"reviewed"}),
				"createdAt": rapid.OneOf(odd, model.Around(month, now, now.AddDate(0, 0, -30), now.AddDate(0, -1, 0)), model.Around(month, now)),
				"reason":    model.OneOf("スパム"),
			}
		}, func(report map[string]any, now time.Time) bool {
			created, dated := report["createdAt"].(time.Time)
			settled := report["status"] == "reviewed" || report["status"] == "dismissed"
			return settled && dated && created.Year() > 1970 && created.Before(model.MonthsAgo(now, 1))
		})
}
