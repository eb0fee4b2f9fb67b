package declared_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"firebase.google.com/go/v4/auth"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	model "github.com/firesweep/firesweep/shared/engine/enginetest/modeltest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// guests is a rule about anonymous accounts.
func guests(more fields) fields {
	return with(fields{"accounts": "anonymous", "age": fields{"by": "lastActive", "days": 30}, "maxDuePercent": 100}, more)
}

var keptByUser = fields{"unless": array{fields{"document": "users/{uid}"}}}

// signedIn returns an anonymous account that signed in at that time, and never since.
func signedIn(uid string, at time.Time) *auth.UserToImport {
	return new(auth.UserToImport).UID(uid).Metadata(&auth.UserMetadata{CreationTimestamp: at.UnixMilli(),
		LastLogInTimestamp: at.UnixMilli()})
}

// someGuests creates so many anonymous accounts in a project, all of them old.
func someGuests(t *testing.T, f *enginetest.Function, n int) (uids []string) {
	t.Helper()
	var users []*auth.UserToImport
	for i := range n {
		uids = append(uids, fmt.Sprintf("guest-%04d", i))
		users = append(users, signedIn(uids[i], old))
	}
	f.Import(t, users...)
	return uids
}

// guest returns what the job of a rule about guests decides about an account by itself.
func guest(t *testing.T, more fields, a accounts.Account) cleanup.Decision {
	t.Helper()
	return declared.Job("guests", *entry(t, guests(more)).Rule).AccountRule.Judge(a, cleanup.Run{Now: now})
}

// TestWhichAccountsAreDue: each boundary one millisecond either side, and look-alikes.
func TestWhichAccountsAreDue(t *testing.T) {
	const day = 24 * time.Hour
	cutoff := now.Add(-30 * day)
	at := func(t time.Time) int64 { return t.UnixMilli() }
	const tick = time.Millisecond
	since := old.Format(time.RFC3339) + ", older than 30 days"
	due, young, invalid := "do", "not older than 30 days", "the time when it was last active is unknown"
	for name, tt := range map[string]struct {
		rule    fields
		account accounts.Account
		want    string // "do", with why, or why it is kept
	}{
		"why": {nil, accounts.Account{UID: "u", Created: at(old), LastLogin: at(old)}, "do: anonymous, last active " + since},
		"why, by creation": {fields{"accounts": "all", "age": fields{"by": "creationTime", "days": 30}},
			accounts.Account{UID: "u", Created: at(old)}, "do: created " + since},
		"just old enough":           {nil, accounts.Account{UID: "u", Created: 1, LastLogin: at(cutoff.Add(-tick))}, due},
		"exactly as old":            {nil, accounts.Account{UID: "u", Created: 1, LastLogin: at(cutoff)}, young},
		"signed in, then refreshed": {nil, accounts.Account{UID: "u", Created: 1, LastLogin: 1, LastRefresh: at(cutoff)}, young},
		"refreshed a tick earlier":  {nil, accounts.Account{UID: "u", Created: 1, LastLogin: 1, LastRefresh: at(cutoff.Add(-tick))}, due},
		"made since":                {nil, accounts.Account{UID: "u", Created: at(cutoff), LastLogin: 1}, young},
		"in the future":             {nil, accounts.Account{UID: "u", Created: 1, LastLogin: at(now.Add(day))}, young},
		"created in the future":     {nil, accounts.Account{UID: "u", Created: at(now.Add(day)), LastLogin: 1}, young},
		"no creation":               {nil, accounts.Account{UID: "u", LastLogin: 1}, invalid},
		"unreadable refresh":        {nil, accounts.Account{UID: "u", Created: 1, LastLogin: 1, LastRefresh: accounts.Unreadable}, invalid},
		"by creation, old": {fields{"age": fields{"by": "creationTime", "days": 30}}, accounts.Account{
			UID: "u", Created: at(cutoff.Add(-tick)), LastLogin: at(now), LastRefresh: accounts.Unreadable,
		}, due},
		"by creation, as old":  {fields{"age": fields{"by": "creationTime", "days": 30}}, accounts.Account{UID: "u", Created: at(cutoff), LastLogin: 1}, young},
		"by creation, none":    {fields{"age": fields{"by": "creationTime", "days": 30}}, accounts.Account{UID: "u", LastLogin: 1}, "the time when it was created is unknown"},
		"never signed in":      {nil, accounts.Account{UID: "u", Created: 1}, "not anonymous"},
		"all, never signed in": {fields{"accounts": "all"}, accounts.Account{UID: "u", Created: 1}, due},
		"all, with an address": {fields{"accounts": "all"}, accounts.Account{UID: "u", Created: 1, LastLogin: 1, Email: "a@b.c"}, due},
		"disabled":             {fields{"accounts": "disabled"}, accounts.Account{UID: "u", Created: 1, Disabled: true}, due},
		"not disabled":         {fields{"accounts": "disabled"}, accounts.Account{UID: "u", Created: 1}, "not disabled"},
		"unverified":           {fields{"accounts": "unverified"}, accounts.Account{UID: "u", Created: 1, Email: "a@b.c", Password: true}, due},
		"verified":             {fields{"accounts": "unverified"}, accounts.Account{UID: "u", Created: 1, Email: "a@b.c", Password: true, EmailVerified: true}, "not unverified"},
		"a claim keeps": {fields{"accounts": "disabled", "unless": array{fields{"field": "claims.admin", "==": true}}}, accounts.Account{
			UID: "u", Created: 1, Disabled: true, Claims: map[string]json.RawMessage{"admin": json.RawMessage("true")},
		}, "claims.admin is true"},
		"a uid that is too long":  {nil, accounts.Account{UID: strings.Repeat("花", 43), Created: 1, LastLogin: 1}, "its uid is longer than 128 bytes, so only the Firebase console can delete it"},
		"a uid of 128 bytes":      {nil, accounts.Account{UID: strings.Repeat("u", 128), Created: 1, LastLogin: 1}, due},
		"a uid that is no id":     {keptByUser, accounts.Account{UID: "a/b/c", Created: 1, LastLogin: 1}, "its uid makes users/{uid} an invalid path"},
		"a uid that is none":      {keptByUser, accounts.Account{UID: "..", Created: 1, LastLogin: 1}, "its uid makes users/{uid} an invalid path"},
		"the same, nothing keeps": {nil, accounts.Account{UID: "a/b/c", Created: 1, LastLogin: 1}, due},
	} {
		d := guest(t, tt.rule, tt.account)
		want := cleanup.Decision{Reason: tt.want, Invalid: strings.HasPrefix(tt.want, "its ") || strings.HasPrefix(tt.want, "the time")}
		if why, told := strings.CutPrefix(tt.want, "do: "); told {
			want = cleanup.Do("delete account", why)
		} else if tt.want == due {
			want = cleanup.Do("delete account", d.Reason)
		}
		enginetest.Want(t, name, want, d)
	}
}

// TestTooManyAccountsAreDue: half of all accounts may be due; one more aborts the run.
func TestTooManyAccountsAreDue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		due, young, percent int
		aborted             bool
	}{{20, 20, 0, false}, {21, 19, 0, true}, {19, 0, 0, false}, {20, 0, 0, true}, {24, 16, 60, false}, {25, 15, 60, true},
		{30, 0, 100, false}} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			rule := guests(nil)
			if delete(rule, "maxDuePercent"); tt.percent != 0 {
				rule["maxDuePercent"] = tt.percent
			}
			f := start(t, rule)
			someGuests(t, f, tt.due)
			for i := range tt.young {
				f.SignUp(t, fmt.Sprintf("user-%d", i))
			}
			got := f.Run(t, "")
			enginetest.Want(t, "left", tt.young+map[bool]int{true: tt.due}[tt.aborted], len(f.Accounts(t)))
			if tt.aborted {
				enginetest.WantAborted(t, got, fmt.Sprintf("maxDuePercent: %d of %d accounts are due", tt.due, tt.due+tt.young))
			} else {
				enginetest.Want(t, "status", report.Completed, got.Status)
			}
		})
	}
}

// TestAnEmptyDatabaseDeletesNoAccount: a document that nobody wrote looks like one in another database, or like one in a
// collection whose name is misspelt.
func TestAnEmptyDatabaseDeletesNoAccount(t *testing.T) {
	t.Parallel()
	two := fields{"unless": array{fields{"document": "users/{uid}"}, fields{"document": "holds/{uid}"}}}
	for name, tt := range map[string]struct {
		rule     fields
		document string
		aborted  bool
	}{
		"empty":                 {keptByUser, "", true},
		"another collection":    {keptByUser, "things/guest-0000", true},
		"others have one":       {keptByUser, "users/somebody", false},
		"two, empty":            {two, "", true},
		"two, one is not empty": {two, "holds/somebody", true},
		"nothing to look for":   {nil, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, guests(tt.rule))
			uids := someGuests(t, f, 3)
			if tt.document != "" {
				f.Set(t, tt.document, fields{"x": true})
			}
			got := f.Run(t, "")
			if !tt.aborted {
				enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete account", 3))
				return
			}
			enginetest.WantAborted(t, got, "empty collection: ")
			enginetest.WantAborted(t, f.Run(t, `{"force":true}`))
			enginetest.Want(t, "accounts", uids, f.Accounts(t))
			f.Set(t, "users/somebody", fields{"x": true})
			f.Set(t, "holds/somebody", fields{"x": true})
			enginetest.WantReport(t, f.Run(t, `{"force":true}`), report.Completed, enginetest.Done("delete account", 3))
		})
	}
}

// api stands between a run and Authentication.
type api struct {
	mu            sync.Mutex
	before, after func(method string) error // called before and after each call; an error is the call's answer
}

func (a *api) call(method string, _ []string, send func() error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.before(method); err != nil {
		return err
	}
	return errors.Join(send(), a.after(method))
}

// watch puts an api between a function and Authentication.
func watch(f *enginetest.Function) *api {
	nothing := func(string) error { return nil }
	a := &api{before: nothing, after: nothing}
	f.Hooks.Accounts = a.call
	return a
}

// fails is the answer of a method that fails, and of no other.
func fails(failing string) func(method string) error {
	return func(method string) error {
		if method == failing {
			return errors.New("the connection broke")
		}
		return nil
	}
}

// TestDeletionsAreLogged: those whose answer is lost count as done, and the log says that this is not certain.
func TestDeletionsAreLogged(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprint("lost: ", lost), func(t *testing.T) {
			f := start(t, guests(nil))
			someGuests(t, f, 3)
			if lost {
				watch(f).after = fails("DeleteUsers")
			}
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete account", 3))
			enginetest.Want(t, "accounts", []string{}, f.Accounts(t))
			var wrote []any
			for _, line := range f.LogLines(t) {
				writes, _ := line["writes"].([]any)
				for _, w := range writes {
					if reason, _ := w.(fields)["reason"].(string); !strings.HasPrefix(reason, "anonymous, ") {
						t.Errorf("%v says no reason", w)
					}
					delete(w.(fields), "reason")
				}
				wrote = append(wrote, writes...)
			}
			want := array{}
			for _, uid := range []string{"guest-0000", "guest-0001", "guest-0002"} {
				deleted := fields{"op": "delete account", "path": uid, "action": "delete account"}
				if lost {
					deleted["unsure"] = true
				}
				want = append(want, deleted)
			}
			enginetest.Want(t, "logged writes", want, wrote)
		})
	}
}

// TestAccountsThatStay: a run cannot delete an account, and another is used right before it is deleted. Their owners delete them
// later: no run deletes what belongs to them, and an undo brings neither back, for the log does not say that they were deleted.
func TestAccountsThatStay(t *testing.T) {
	for stays, deleted := range map[string][]string{"refused": {}, "used": {"deleted"}} {
		t.Run(stays, func(t *testing.T) { accountStays(t, stays, deleted) })
	}
}

func accountStays(t *testing.T, stays string, deleted []string) {
	t.Helper()
	f := start(t, guests(fields{"with": array{fields{"document": "profiles/{uid}"}}}))
	f.Env["UNDO_DAYS"] = "7"
	for _, uid := range append(deleted, stays) {
		f.Import(t, signedIn(uid, old))
		f.Set(t, "profiles/"+uid, fields{"name": "Hana"})
	}
	a, looked, broken := watch(f), 0, true
	a.before = func(method string) error {
		switch {
		case stays == "refused":
			return fails("DeleteUsers")(method)
		case method == "GetUsers":
			if looked++; looked == 2 { // the last look
				f.Replace(t, stays, signedIn(stays, now))
			}
		}
		return nil
	}
	f.Hooks.Dial = wire.Before(func(_ context.Context, _ string, request any) error {
		commit, is := request.(*firestorepb.CommitRequest)
		if is && broken && strings.Contains(fmt.Sprint(commit.GetWrites()), "/profiles/") {
			return status.Error(codes.PermissionDenied, "not now")
		}
		return nil
	})
	rep := f.Run(t, "")
	enginetest.Want(t, "status", report.Failed, rep.Status)
	enginetest.Want(t, "accounts", []string{stays}, f.Accounts(t))
	a.before, broken = fails("nothing"), false
	ok(t, f.Auth(t).DeleteUser(t.Context(), stays)) // by its owner, in the application
	enginetest.Want(t, "status then", report.Completed, f.Run(t, "").Status)
	enginetest.Want(t, "profiles", []string{stays}, f.IDs(t, "profiles"))
	ok(t, f.Restorer(t, nil).Undo(t.Context(), rep.RunID, restore.Options{Apply: true}, func(restore.Outcome) error { return nil }))
	enginetest.Want(t, "accounts after the undo", deleted, f.Accounts(t))
}

// TestARuleThatDeletesNothingAlongAnyMore says what earlier runs left to do, run after run, until somebody finishes it with the
// rule of then. It asks for that no longer then.
func TestARuleThatDeletesNothingAlongAnyMore(t *testing.T) {
	rule := fields{"collection": "users", "age": fields{"field": "seenAt", "months": 1}, "maxDuePercent": 100}
	before := start(t, with(rule, fields{"with": array{fields{"account": "{id}"}}}))
	before.Import(t, signedIn("u1", old))
	before.Set(t, "users/u1", fields{"seenAt": old})
	a := watch(before)
	a.before = fails("DeleteUsers")
	enginetest.Want(t, "first run", report.Failed, before.Run(t, "").Status)
	edited := enginetest.On(t, newFunction(t, entry(t, rule)), before.Project)
	edited.Indexes = before.Indexes
	left := []string{"earlier runs left items half done (commits: 1), and the rule deletes nothing along any more, so no run " +
		"finishes them: finish them with the file of then: firesweep run cleanupThings --rules OLD.json"}
	reads := []int64{}
	for run, want := range [][]string{left, left, nil, nil} {
		if run == 2 {
			a.before = fails("nothing")
			enginetest.WantReport(t, before.Run(t, ""), report.Completed, enginetest.Done("finish interrupted action", 1))
			enginetest.Want(t, "accounts", []string{}, before.Accounts(t))
		}
		edited.Now = now.AddDate(0, 0, run+1)
		got := edited.Run(t, "")
		enginetest.Want(t, fmt.Sprint("warnings ", run), want, got.Warnings)
		reads = append(reads, got.Usage.FirestoreReads)
	}
	enginetest.Want(t, "reads, once nothing is left", reads[2]-1, reads[3])
}

// TestALimitOnAccounts: each run deletes as many as the limit allows and says so, and the next run continues. Held accounts
// do not count.
func TestALimitOnAccounts(t *testing.T) {
	f := start(t, guests(fields{"limit": 10}))
	someGuests(t, f, 25)
	f.SignUp(t, "hana")
	for _, done := range []int{10, 10, 5, 0} {
		got := f.Run(t, "")
		enginetest.Want(t, "status", report.Completed, got.Status)
		enginetest.Want(t, "done", done, got.Actions["delete account"].Done)
	}
	enginetest.Want(t, "accounts", []string{"hana"}, f.Accounts(t))
}

// TestManyAccounts: several pages, and few calls that delete.
func TestManyAccounts(t *testing.T) {
	f := start(t, guests(nil))
	someGuests(t, f, 2300)
	f.SignUp(t, "hana")
	f.Now, f.Env["UNDO_DAYS"] = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), "0"
	got := enginetest.NewGolden(t, "accounts").Run(t, "2,300 guests and somebody else", f, "", "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete account", 2300))
	enginetest.Want(t, "accounts", []string{"hana"}, f.Accounts(t))
}

// TestAListingThatIsInterrupted: the next run begins at the page that this one reached, or at the beginning if its token is
// not accepted any more.
func TestAListingThatIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{true, false} {
		t.Run(fmt.Sprint("token taken: ", taken), func(t *testing.T) {
			f := start(t, guests(fields{"age": fields{"by": "lastActive", "days": 200}}))
			someGuests(t, f, 2500) // none of them is due
			late := false
			f.Clock = func() time.Time {
				if late {
					return now.Add(f.Timeout)
				}
				return now
			}
			watch(f).before = func(method string) error {
				late = late || method == "ListUsers"
				return nil
			}
			got := f.Run(t, "")
			enginetest.Want(t, "status and scanned", array{report.Partial, 1000}, array{got.Status, got.Scanned})
			if !taken {
				if !f.EmbeddedAuth() {
					t.Skip("the Firebase Emulator Suite takes any text for a token")
				}
				f.Set(t, "cleanupJobs/cleanupThings", enginetest.From("of another time"))
			}
			f.Clock = func() time.Time { return now }
			got = f.Run(t, "")
			scanned := map[bool]int{true: 1500, false: 2500}[taken]
			enginetest.Want(t, "status and scanned then", array{report.Completed, scanned}, array{got.Status, got.Scanned})
		})
	}
}

// TestPlanOfWhatBelongsToAccounts: a plan counts what is deleted once the account is, also below a document that there is not, and
// nothing of an account to which nothing belongs.
func TestPlanOfWhatBelongsToAccounts(t *testing.T) {
	f := start(t, guests(fields{"with": array{fields{"document": "users/{uid}", "with": array{
		fields{"subcollection": "todos"}, fields{"objects": "users/{id}/**"},
	}}}}))
	uids := someGuests(t, f, 3)
	f.Set(t, "users/"+uids[0], fields{"name": "x"})
	for _, uid := range uids[:2] {
		f.Set(t, "users/"+uid+"/todos/a", fields{"x": 1})
	}
	rep, err := f.Plan(t.Context(), engine.Options{Now: now})
	ok(t, err)
	var with array
	for _, p := range rep.Plan {
		with = append(with, p.With, p.More)
	}
	todos, folder := "delete document of todos", "delete folder of files"
	enginetest.Want(t, "what is deleted with each", array{
		map[string]int{"delete document of users": 1, todos: 1, folder: 1}, false,
		map[string]int{todos: 1, folder: 1}, false,
		map[string]int{folder: 1}, false,
	}, with)
}

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
