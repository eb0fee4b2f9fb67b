package declared_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	model "github.com/firesweep/firesweep/shared/engine/enginetest/modeltest"
)

// invitesAfterRun is the rule of removeUnacceptedMemberInvites. What is no text, or empty, is no invitation.
func invitesAfterRun(w model.World, now time.Time) model.World {
	w = w.Clone()
	for id, member := range w.In("members") {
		token, _ := member["invite_token"].(string)
		created, dated := member["created_at"].(time.Time)
		if token != "" && member["user_id"] == nil && dated && created.Year() > 1970 && created.Before(now.Add(-90*24*time.Hour)) {
			delete(w.Documents, "members/"+id)
		}
	}
	return w
}

func TestInvitesModel(t *testing.T) {
	t.Parallel()
	f := enginetest.New(t, functions.New(functions.Registered()["removeUnacceptedMemberInvites"]))
	job := model.Job{
		Pair:  enginetest.Pair{Function: f},
		After: func(_ *rapid.T, w model.World, _ map[string]bool) model.World { return invitesAfterRun(w, f.Now) },
	}
	job.Check(t, func(rt *rapid.T) model.World {
		f.Now = model.Now(rt)
		w := model.NewWorld()
		member := model.Fields{
			"invite_token": model.OneOf("t1", "t1", "t2", "日本", " ", "~", "a\x00b", "__x__", "a/b", model.LongestAsked, model.TooLong, "", nil, model.Missing, int64(7), math.Inf(1), true, []any{"t"}),
			"created_at":   model.Around(f.Now.Add(-90*24*time.Hour), model.MonthsAgo(f.Now, 3), f.Now),
			"user_id":      model.OneOf(model.Missing, nil, model.Missing, nil, model.Missing, "u1", "", int64(0), int64(7), 7.0, false, []any{}, model.TooLong),
			"name":         model.OneOf("花子", model.Missing),
		}
		for n := range model.Items {
			path := rapid.SampledFrom([]string{"members/", "members/", "members/", "members/", "members_products/", "groups/g/members/"}).Draw(rt, "path")
			w.Documents[path+model.ID(rt, fmt.Sprint(n))] = member.Draw(rt, "member")
		}
		for _, id := range []string{model.TooLong, "a\x00b"} {
			w.Documents["members/"+id] = member.Draw(rt, "member")
		}
		return w
	})
}
