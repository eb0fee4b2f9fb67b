package bannedusers

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	model "github.com/firesweep/firesweep/shared/engine/enginetest/modeltest"
)

// stuck is the beginning of the uids of accounts that cannot be deleted. Neither can those of 128 characters and more bytes.
const stuck = "stuck"

// afterRun is the model of cleanupBannedUsers. An id longer than a uid has no account. If an account is to be deleted and its
// user document exists again, the account and its note are kept. So is what is held.
func afterRun(w model.World, now time.Time, maxUsers int, held map[string]bool) model.World {
	before := w.Clone()
	w = w.Clone()
	var due []string
	scheduled := func(id string) time.Time {
		return w.Documents["users/"+id]["permanentBanScheduledDeletionAt"].(time.Time)
	}
	for id, user := range w.In("users") {
		at, dated := user["permanentBanScheduledDeletionAt"].(time.Time)
		if user["banStatus"] == "permanent" && dated && at.Year() >= 1971 && !at.After(now) && !held["users/"+id] {
			due = append(due, id)
		}
	}
	slices.SortFunc(due, func(a, b string) int { return cmp.Or(scheduled(a).Compare(scheduled(b)), cmp.Compare(a, b)) })
	deleteAccount := func(uid string) {
		note := "authDeletionRetries/" + uid
		if strings.HasPrefix(uid, stuck) && before.Accounts[uid] != "" || len(uid) > 128 && utf8.RuneCountInString(uid) <= 128 {
			data := maps.Clone(w.Documents[note])
			attempts, _ := data["attempts"].(int64)
			data["attempts"] = max(0, attempts) + 1
			w.Documents[note] = data
			return
		}
		delete(w.Accounts, uid)
		delete(w.Documents, note)
	}
	for _, id := range due[:min(maxUsers, len(due))] {
		delete(w.Documents, "users/"+id)
		w.Documents["authDeletionRetries/"+id] = map[string]any{"addedAt": now, "attempts": int64(0)}
		deleteAccount(id)
	}
	for uid := range before.In("authDeletionRetries") {
		if before.Documents["users/"+uid] == nil && !held["authDeletionRetries/"+uid] {
			deleteAccount(uid)
		}
	}
	return w
}

func TestModel(t *testing.T) {
	f := newFunction(t)
	if !f.EmbeddedAuth() {
		t.Skip("the Firebase Emulator Suite cannot be made to fail")
	}
	var maxUsers int
	job := model.Job{
		Pair: enginetest.Pair{Function: f.Function}, HoldsSome: true,
		After: func(_ *rapid.T, w model.World, held map[string]bool) model.World {
			return afterRun(w, f.Now, maxUsers, held)
		},
		Loaded: func(w model.World) {
			for uid := range w.Accounts {
				if strings.HasPrefix(uid, stuck) {
					f.FailDelete(t, uid, "INTERNAL_ERROR")
				}
			}
		},
	}
	job.Check(t, func(rt *rapid.T) model.World {
		f.Now = model.Now(rt)
		maxUsers = rapid.SampledFrom([]int{7, 20, 1000}).Draw(rt, "MAX_USERS")
		f.Env["MAX_USERS"] = fmt.Sprint(maxUsers)
		w := model.NewWorld()
		user := model.Fields{
			"banStatus": model.OneOf("permanent", "permanent", "permanent", "permanent", "temporary", "none", "Permanent", nil, model.Missing, true),
			"permanentBanScheduledDeletionAt": rapid.OneOf(model.Around(f.Now, f.Now.AddDate(0, 0, -180)), model.Around(f.Now, f.Now.AddDate(0, 0, -180)),
				model.OneOf(math.NaN(), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC),
					documents.Earliest, documents.Earliest.Add(-time.Microsecond), time.Unix(0, 0).UTC(), []byte{0})),
			"displayName": model.OneOf("花子"),
		}
		note := model.Fields{"addedAt": model.OneOf(f.Now.AddDate(0, 0, -1), model.Missing),
			"attempts": model.OneOf(int64(0), int64(3), int64(-1), 2.5, "x", model.Missing)}
		for n := range model.Items {
			id := model.ID(rt, fmt.Sprint(n))
			switch rapid.IntRange(0, 9).Draw(rt, "kind of id") {
			case 0:
				id = stuck + id
			case 1:
				id = strings.Repeat("長", 43) + id // of more than 128 bytes
			case 2:
				id = strings.Repeat("長", 128) + id // longer than a uid can be
			case 3:
				id = strings.Repeat("x", 1500-len(id)) + id
			}
			kind := rapid.IntRange(0, 19).Draw(rt, "kind")
			if kind > 1 {
				w.Documents["users/"+id] = user.Draw(rt, "user")
			}
			if kind < 3 && len(id) <= 128 {
				w.Documents["authDeletionRetries/"+id] = note.Draw(rt, "note")
			}
			if rapid.IntRange(0, 4).Draw(rt, "account") > 0 && len(id) <= 128 {
				w.Accounts[id] = "花子"
			}
			w.Documents["posts/"+id] = map[string]any{"userId": id}
			w.Documents["archive/x/users/"+id] = user.Draw(rt, "archived")
		}
		return w
	})
}
