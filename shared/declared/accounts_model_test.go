package declared_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"firebase.google.com/go/v4/auth"
	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	model "github.com/firesweep/firesweep/shared/engine/enginetest/modeltest"
)

// person describes an account of the model. The account's name holds the description.
type person struct {
	how               string // how it was created
	created, signedIn int64  // in milliseconds; signedIn is 0 for never
}

func (p person) name() string { return fmt.Sprintf("%s %d %d", p.how, p.created, p.signedIn) }

// personOf parses an account's name. An account that the model's test itself has created counts as just created, by an
// administrator.
func personOf(name, somebody string) (p person) {
	if _, err := fmt.Sscanf(name, "%s %d %d", &p.how, &p.created, &p.signedIn); err != nil {
		return person{how: somebody, created: time.Now().UnixMilli()}
	}
	return p
}

// ways are the ways in which accounts of the model are created, with the kinds of rules that are about them.
var ways = map[string][]string{
	"guest": {"anonymous", "all"}, "banned-guest": {"anonymous", "disabled", "all"}, "made": {"all"}, "address": {"all"}, "phone": {"all"}, "google": {"all"},
	"password": {"unverified", "all"}, "banned-password": {"unverified", "disabled", "all"}, "password-google": {"all"}, "verified": {"all"}, "banned": {"disabled", "all"},
}

// user returns the account that a name describes.
func user(uid, name string) *auth.UserToImport {
	p := personOf(name, "")
	u := new(auth.UserToImport).UID(uid).DisplayName(name).Metadata(&auth.UserMetadata{CreationTimestamp: p.created,
		LastLogInTimestamp: p.signedIn})
	u.Disabled(strings.HasPrefix(p.how, "banned"))
	address := fmt.Sprintf("%x@example.com", uid)
	switch strings.TrimPrefix(p.how, "banned-") {
	case "address":
		u.Email(address)
	case "password":
		u.Email(address).PasswordHash([]byte("hash"))
	case "verified", "banned":
		u.Email(address).EmailVerified(true).PasswordHash([]byte("hash"))
		if p.how == "verified" {
			u.CustomClaims(map[string]any{"staff": false})
		}
	case "password-google":
		u.Email(address).PasswordHash([]byte("hash")).ProviderData([]*auth.UserProvider{{ProviderID: "google.com", UID: "g-" + uid}})
	case "google":
		u.ProviderData([]*auth.UserProvider{{ProviderID: "google.com", UID: "g-" + uid}})
	case "phone":
		var n int
		for _, b := range []byte(uid) {
			n = (n*31 + int(b)) % 100_000_000
		}
		u.PhoneNumber(fmt.Sprintf("+8190%08d", n))
	}
	return u
}

// TestModelOfAccounts runs random rules on random accounts. Exactly the accounts that the rule says are deleted.
func TestModelOfAccounts(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	somebody := "made"
	if !p.EmbeddedAuth() {
		somebody = "guest" // the Firebase Emulator Suite gives accounts that an administrator creates a last sign-in
	}
	prove := func(rt *rapid.T) {
		now := model.Now(rt).AddDate(10, 0, 0).Truncate(time.Millisecond) // accounts that the test creates are old
		kind := rapid.SampledFrom([]string{"anonymous", "unverified", "disabled", "all"}).Draw(rt, "accounts")
		field := rapid.SampledFrom([]string{"creationTime", "lastActive"}).Draw(rt, "field")
		age, cutoff := fields{"by": field, "hours": 36}, now.Add(-36*time.Hour)
		if rapid.Bool().Draw(rt, "months") {
			age, cutoff = fields{"by": field, "months": 3}, model.MonthsAgo(now, 3)
		}
		rule := fields{"accounts": kind, "age": age, "maxDuePercent": 100}
		keeps := rapid.Bool().Draw(rt, "unless")
		if keeps {
			rule["unless"] = array{fields{"document": "users/{uid}"}, fields{"document": "teams/main/holds/of-{id}"}}
		}
		claims := rapid.SampledFrom([]string{"", "empty", "not empty"}).Draw(rt, "claims")
		if claims != "" {
			rule["where"] = array{fields{"field": "claims", "is": claims}}
		}
		e := entry(t, rule)
		f := enginetest.On(t, newFunction(t, e), p)
		f.Now = now
		f.Clock = func() time.Time { return now }

		w := model.NewWorld()
		w.User = user
		w.Documents["users/somebody"] = fields{"x": true}
		times := rapid.SampledFrom([]time.Time{
			cutoff, cutoff.Add(time.Millisecond), cutoff.Add(-time.Millisecond), now, now.Add(time.Hour), now.AddDate(-1, 0, 0),
			cutoff.Add(-time.Hour),
		})
		for n := range 120 {
			uid := fmt.Sprintf("u%d", n)
			if n%10 == 0 {
				uid = rapid.SampledFrom([]string{"日本%d", "%d/x", "x.%d", "__%d__"}).Draw(rt, "uid")
				uid = fmt.Sprintf(uid, n)
			}
			q := person{how: rapid.SampledFrom(sortedWays()).Draw(rt, "how"), created: times.Draw(rt, "created").UnixMilli()}
			if q.signedIn = times.Draw(rt, "signed in").UnixMilli(); q.how == "made" {
				q.signedIn = 0
			}
			w.Accounts[uid] = q.name()
			id := strings.NewReplacer("/", "-", "__", "_").Replace(uid) // the uid itself, unless it is no valid id
			switch rapid.IntRange(0, 5).Draw(rt, "document") {
			case 0:
				w.Documents["users/"+id] = fields{"x": true}
			case 1:
				w.Documents["teams/main/holds/of-"+id] = fields{"x": true}
			case 2:
				w.Documents["teams/main/holds/"+id+"x"] = fields{"x": true} // belongs to nobody
			}
		}
		job := model.Job{
			Pair: enginetest.Pair{Function: f},
			After: func(_ *rapid.T, w model.World, held map[string]bool) model.World {
				return afterAccounts(w, somebody, kind, field, claims, cutoff, keeps, held)
			},
		}
		job.Prover(t)(rt, w)
	}
	model.Check(t, func(rt *rapid.T) {
		for range rulesARound {
			prove(rt)
		}
	})
}

func sortedWays() (all []string) {
	return []string{"address", "banned", "banned-guest", "banned-password", "google", "guest", "guest", "guest", "made", "password",
		"password", "password-google", "phone", "verified"}
}

// afterAccounts computes the result of a rule about accounts.
func afterAccounts(w model.World, somebody, kind, field, claims string, cutoff time.Time, keeps bool, held map[string]bool) model.World {
	want := w.Clone()
	for uid, name := range w.Accounts {
		p := personOf(name, somebody)
		at := p.created
		if field == "lastActive" {
			at = max(at, p.signedIn)
		}
		due := at < cutoff.UnixMilli() && !held["account "+uid]
		if claims != "" {
			due = due && (p.how == "verified") == (claims == "not empty")
		}
		concerned := false
		for _, k := range ways[p.how] {
			concerned = concerned || k == kind
		}
		if keeps {
			nameless := strings.Contains(uid, "/") || strings.HasPrefix(uid, "__") && strings.HasSuffix(uid, "__")
			due = due && !nameless && w.Documents["users/"+uid] == nil && w.Documents["teams/main/holds/of-"+uid] == nil
		}
		if due && concerned {
			delete(want.Accounts, uid)
		}
	}
	return want
}
