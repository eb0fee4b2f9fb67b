package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/scripts/firesweep/look"
)

// future is long after the emulators' own clocks, so that whatever they date is old.
var future = time.Date(2035, 1, 10, 15, 0, 0, 0, time.UTC)

type fields = map[string]any

// autoID returns an id like those that Firestore makes, uidOf one like Authentication's.
func autoID(n int) string { return fmt.Sprintf("%c%019d", "ABCDEabcdeKLMNOPpqrs"[n%20], n) }
func uidOf(n int) string  { return fmt.Sprintf("%c%027d", 'A'+rune(n%26), n) }

func daysAgo(n int) time.Time { return future.AddDate(0, 0, -n) }

// inTheFuture returns somebody with a file for rules that does not exist yet.
func inTheFuture(t *testing.T) (o *operator, file string) {
	t.Helper()
	o = newOperator(t)
	o.now = future
	return o, filepath.Join(t.TempDir(), "firesweep.json")
}

func (o *operator) people(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		o.Import(t, new(auth.UserToImport).UID(uidOf(i)).Email(uidOf(i)+"@example.com"))
	}
}

// carSharing is an application of riders with accounts, trips that refer to them, and files that are named for what they belong to.
func carSharing(t *testing.T, o *operator) {
	t.Helper()
	o.people(t, 20)
	for n := range 20 {
		o.Set(t, "users/"+uidOf(n), fields{"name": "x", "tokens": []any{fields{"at": daysAgo(n).UnixMilli()}}, "expiresAt": daysAgo(900)})
		o.Set(t, "users/"+uidOf(n)+"/inbox/m1", fields{"read": n%2 == 0, "createdAt": daysAgo(10 * n).UnixMilli()})
		o.Put(t, "avatars/"+uidOf(n)+".jpg", nil, nil)
		o.Set(t, "quotes/"+autoID(n), fields{"uid": uidOf(n), "expiresAt": daysAgo(5*n - 20).Unix(), "usedBy": []any{nil, uidOf(n)}[n%2]})
		o.Set(t, "promoCodes/CODE"+fmt.Sprint(n), fields{"validUntil": daysAgo(10*n - 120).Format(time.DateOnly)})
		o.Set(t, "chats/"+autoID(n)+"/messages/1", fields{"text": "x"})
	}
	o.Put(t, "avatars/"+uidOf(30)+".jpg", nil, nil)
	o.SetMany(t, 120, func(n int) (string, map[string]any) {
		return "trips/" + autoID(n), fields{"riderId": uidOf(n % 21), "bookedAt": daysAgo(n), "state": []string{"booked", "cancelled"}[n%2]}
	})
	for n := range 123 { // three trips were deleted without their pings
		o.Set(t, "trips/"+autoID(n)+"/pings/1", fields{"at": daysAgo(n)})
	}
}

// rides is an application with what is marked as deleted, by a time or a flag, and with folders of files.
func rides(t *testing.T, o *operator) {
	t.Helper()
	for n := range 30 {
		o.Set(t, "posts/"+autoID(n), fields{"deletedAt": []any{nil, daysAgo(10 * n).Format(time.RFC3339)}[n%2]})
		o.Set(t, "posts/"+autoID(n)+"/likes/1", fields{"by": "x"})
		o.Set(t, "notes/"+autoID(n), fields{"isDeleted": n%10 == 0, "updatedAt": daysAgo(10 * n)})
	}
	for n := range 6 {
		o.Set(t, "drivers/d"+fmt.Sprint(n), fields{"name": "x"})
		o.Put(t, "photos/d"+fmt.Sprint(n)+"/1.jpg", nil, nil)
		o.Put(t, "photos/d"+fmt.Sprint(n+1)+"/2.jpg", nil, nil)
	}
}

func (o *operator) initFinds(t *testing.T, args ...string) (found look.Findings) {
	t.Helper()
	out, _ := o.ends(t, exitFine, append([]string{"init", "--yes", "--json"}, args...)...)
	return parsed[look.Findings](t, out)
}

// proposedRule is a proposal as tests compare it.
type proposedRule struct {
	Rule        any
	Due, Looked int
}

// proposals returns proposals by name.
func proposals(t *testing.T, found look.Findings) map[string]proposedRule {
	t.Helper()
	all := map[string]proposedRule{}
	for _, p := range found.Proposals {
		all[p.Name] = proposedRule{ruleOf(t, string(p.Rule)), p.Due, p.Looked}
	}
	return all
}

// ruleOf returns what a rule says, without its name and schedule.
func ruleOf(t *testing.T, text string) any {
	t.Helper()
	rule := parsed[fields](t, text)
	delete(rule, "name")
	delete(rule, "schedule")
	return rule
}

// TestInitProposes: what is proposed for two applications, and that a plan finds as much. What is in the file is not proposed again.
func TestInitProposes(t *testing.T) {
	t.Parallel()
	type wanted struct {
		due, looked int
		rule        string
	}
	for name, tt := range map[string]struct {
		fill func(*testing.T, *operator)
		want map[string]wanted
	}{
		"car sharing": {carSharing, map[string]wanted{
			"cleanupOrphanedPings":     {3, 13, `{"collection":"trips/{trip}/pings","age":{"by":"updateTime","days":7},"gone":[{"document":"{parent}"}]}`},
			"cleanupOrphanedAvatars":   {1, 21, `{"objects":"avatars/{user}.*","age":{"days":7},"gone":[{"document":"users/{user}"}]}`},
			"cleanupExpiredPromoCodes": {4, 20, `{"collection":"promoCodes","age":{"field":"validUntil","as":"text","days":30}}`},
			"cleanupReadInbox": {5, 10, `{"collection":"users/{user}/inbox","where":[{"field":"read","==":true}],
				"age":{"field":"createdAt","as":"milliseconds","days":90}}`},
		}},
		"rides": {rides, map[string]wanted{
			"cleanupDeletedPosts":   {13, 30, `{"collection":"posts","age":{"field":"deletedAt","as":"text","days":30},"with":[{"subcollection":"**"}]}`},
			"cleanupDeletedNotes":   {2, 30, `{"collection":"notes","where":[{"field":"isDeleted","==":true}],"age":{"field":"updatedAt","days":30}}`},
			"cleanupOrphanedPhotos": {1, 12, `{"objects":"photos/{driver}/**","age":{"days":7},"gone":[{"document":"drivers/{driver}"}]}`},
		}},
		"most were restored": {func(t *testing.T, o *operator) {
			for n := range 30 {
				o.Set(t, "vans/"+autoID(n), fields{"removed": n%10 == 0, "deletedAt": daysAgo(10 * n)})
				o.Set(t, "cars/"+autoID(n), fields{"state": []string{"deleted", "fine"}[min(1, n%10)], "deletedAt": daysAgo(10 * n)})
			}
		}, map[string]wanted{
			"cleanupDeletedVans": {2, 30, `{"collection":"vans","where":[{"field":"removed","==":true}],"age":{"field":"deletedAt","days":30}}`},
			"cleanupDeletedCars": {2, 30, `{"collection":"cars","where":[{"field":"state","==":"deleted"}],"age":{"field":"deletedAt","days":30}}`},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, file := inTheFuture(t)
			tt.fill(t, o)
			before, err := json.Marshal(o.everything(t))
			ok(t, err)
			all := map[string]proposedRule{}
			for name, one := range tt.want {
				all[name] = proposedRule{ruleOf(t, one.rule), one.due, one.looked}
			}
			found := o.initFinds(t, "--rules", file)
			o.well(t, "init", "--yes", "--rules", file)
			want(t, "proposals", all, proposals(t, found))
			after, err := json.Marshal(o.everything(t))
			ok(t, err)
			want(t, "the project", string(before), string(after))
			o.well(t, "check", "--rules", file)
			for name, one := range tt.want {
				plan := parsed[plans](t, o.well(t, "plan", "--rules", file, "--json", name)).Plans[0]
				want(t, "what a plan of "+name+" finds", one.due, len(plan.Report.Plan))
			}
			text := read(t, file)
			want(t, "proposals beside these", 0, len(o.initFinds(t, "--rules", file).Proposals))
			o.Set(t, "tokens/t", fields{"expiresAt": daysAgo(90)})
			wantParts(t, oneLine(o.well(t, "init", "--yes", "--rules", file)),
				"is there already, and init changes nothing in it. To paste into its list rules:", `"name": "cleanupExpiredTokens"`)
			want(t, "the file", text, read(t, file))
		})
	}
}

// TestInitProposesNothing: what looks like what is proposed, and must not be.
func TestInitProposesNothing(t *testing.T) {
	t.Parallel()
	old := daysAgo(1500)
	for name, fill := range map[string]func(t *testing.T, o *operator, n int){ // called for 0 to 19
		"an empty project": func(*testing.T, *operator, int) {},
		"what the law keeps": func(t *testing.T, o *operator, n int) {
			for _, collection := range []string{"orders", "subscriptions", "consentLogs", "paymentTokens", "orders/" + autoID(n) + "/notes"} {
				o.Set(t, collection+"/"+autoID(n), fields{"expiresAt": old, "deletedAt": old, "status": "draft", "updatedAt": old})
			}
		},
		"of no known kind": func(t *testing.T, o *operator, n int) {
			o.Set(t, "recipes/"+autoID(n), fields{"createdAt": old, "updatedAt": old, "status": "live", "deleted": false})
		},
		"exactly old enough": func(t *testing.T, o *operator, n int) { o.Set(t, "otps/"+autoID(n), fields{"expiresAt": daysAgo(30)}) },
		"times in two forms": func(t *testing.T, o *operator, n int) {
			o.Set(t, "otps/"+autoID(n), fields{"expiresAt": []any{old, old.UnixMilli()}[n%2]})
		},
		"numbers that are no times": func(t *testing.T, o *operator, n int) { o.Set(t, "otps/"+autoID(n), fields{"expiresAt": int64(n)}) },
		"what somebody decided about": func(t *testing.T, o *operator, n int) {
			o.Set(t, "invites/"+autoID(n), fields{"status": []string{"accepted", "pending"}[n%2], "expiresAt": old})
			o.Set(t, "codes/"+autoID(n), fields{"usedBy": []any{nil, "x"}[n%2], "expiresAt": old})
			o.Set(t, "notifications/"+autoID(n), fields{"read": true, "pinned": n == 3, "createdAt": old})
		},
		"what others refer to": func(t *testing.T, o *operator, n int) {
			o.Set(t, "codes/"+autoID(n), fields{"expiresAt": old})
			o.Set(t, "trips/"+autoID(n), fields{"code": o.Firestore(t).Doc("codes/" + autoID(n))})
		},
		"what others refer to, in maps of a list": func(t *testing.T, o *operator, n int) {
			for _, collection := range []string{"artists/", "places/", "guests/"} {
				o.Set(t, collection+autoID(n), fields{"expiresAt": old})
			}
			o.Set(t, "nights/"+autoID(n), fields{"acts": []any{fields{"of": fields{"artist": autoID(n)}, "by": fields{autoID(n): "x"}}},
				"place": "/places/" + autoID(n)})
		},
		"what somebody restored": func(t *testing.T, o *operator, n int) {
			o.Set(t, "codes/"+autoID(n), fields{"deleted": false, "deletedAt": old, "updatedAt": old})
		},
		"people": func(t *testing.T, o *operator, n int) {
			o.people(t, n/19*20)
			o.Set(t, "riders/"+uidOf(n), fields{"deletedAt": old})
		},
		"what is to come": func(t *testing.T, o *operator, n int) {
			o.Set(t, "events/"+autoID(n), fields{"deletedAt": old, "startsAt": daysAgo(n - 10)})
		},
		"parents that nobody writes": func(t *testing.T, o *operator, n int) {
			o.Set(t, "chats/"+autoID(n)+"/messages/1", fields{"text": "x"})
		},
		"parents that are written late": func(t *testing.T, o *operator, n int) {
			if n%3 > 0 {
				o.Set(t, "chats/"+autoID(n), fields{"x": 1})
			}
			o.Set(t, "chats/"+autoID(n)+"/messages/1", fields{"text": "x"})
		},
		"somebody with an account and no document": func(t *testing.T, o *operator, n int) {
			o.people(t, n/19*20)
			if n > 0 {
				o.Set(t, "users/"+uidOf(n), fields{"x": true})
			}
			o.Set(t, "users/"+uidOf(n)+"/inbox/1", fields{"text": "x"})
			o.Put(t, "avatars/"+uidOf(n)+".png", nil, nil)
		},
		"a file of nobody": func(t *testing.T, o *operator, n int) {
			o.Set(t, "users/"+uidOf(n), fields{"x": true})
			o.Put(t, "avatars/"+uidOf(n)+".png", nil, nil)
			o.Put(t, "avatars/default.png", nil, nil)
		},
		"files at several depths": func(t *testing.T, o *operator, n int) {
			if n > 0 {
				o.Set(t, "users/"+uidOf(n), fields{"x": true})
			}
			o.Put(t, "avatars/"+uidOf(n)+".png", nil, nil)
			o.Put(t, "avatars/"+uidOf(n)+"/small.png", nil, nil)
		},
		"a name that a terminal takes for a command": func(t *testing.T, o *operator, n int) {
			o.Set(t, "codes/"+autoID(n), fields{"expiresAt": old, "state": "\u202eopen"})
			o.Set(t, "codes\u202e\x1b/"+autoID(n), fields{"expiresAt": old})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, file := inTheFuture(t)
			for n := range 20 {
				fill(t, o, n)
			}
			want(t, "proposals", map[string]proposedRule{}, proposals(t, o.initFinds(t, "--rules", file)))
			out := o.well(t, "init", "--yes", "--rules", file)
			want(t, "control characters in "+out, false, strings.ContainsAny(out, "\u202e\x1b"))
			if _, err := os.Stat(file); !os.IsNotExist(err) {
				t.Errorf("%s: %v", file, err)
			}
		})
	}
}

// TestInitFindsWhoseFilesTheyMayBe: each collection with documents of these ids may be their owner, whatever its name, also one that
// has only some of them. A file of a document that exists anywhere is not due.
func TestInitFindsWhoseFilesTheyMayBe(t *testing.T) {
	t.Parallel()
	o, file := inTheFuture(t)
	for n := range 22 {
		of := "users/"
		if n > 19 {
			of = "admins/"
		}
		o.Set(t, of+uidOf(n), fields{"name": "x"})
		o.Set(t, "carts/"+uidOf(n), fields{"items": []any{}})
		o.Put(t, "avatars/"+uidOf(n)+".jpg", nil, nil)
	}
	o.Set(t, "orders/"+autoID(1), fields{"of": uidOf(1)})
	o.Put(t, "avatars/"+uidOf(23)+".jpg", nil, nil)
	found := o.initFinds(t, "--rules", file)
	want(t, "proposals", map[string]proposedRule{"cleanupOrphanedAvatars": {ruleOf(t, `{"objects":"avatars/{owner}.*","age":{"days":7},
		"gone":[{"document":["admins/{owner}","carts/{owner}","users/{owner}"]}]}`), 1, 23}}, proposals(t, found))
	wantParts(t, found.Proposals[0].Why, "their names have ids of admins, carts and users, and 1 of 23 of these do not exist there")
}

// TestInitShows is what somebody reads and writes at a terminal.
func TestInitShows(t *testing.T) {
	t.Parallel()
	o, file := inTheFuture(t)
	rides(t, o)
	o.screen.in, o.in = true, "yes\ny\n"
	out, errs := o.ends(t, exitFine, "init", "--rules", file)
	want(t, "questions", "Go on? (y/N) Write them into "+file+"? (y/N) ", errs)
	wantParts(t, oneLine(out), "This looks at the project "+o.ID+" on emulators, database (default), and writes nothing to it. It reads at most 5000 documents, "+
		"lists files in at most 22 requests, and looks up accounts, which is free.",
		"Looked at a part of: drivers, notes, posts, posts/{post}/likes, photos/. That cost ",
		"reads. Nothing was written to the project. 1. cleanupOrphanedPhotos Deletes objects photos/{driver}/** ",
		"and 1 of 7 of these do not exist there. Due now: 1 of 12 that were looked at. 2. cleanupDeletedPosts",
		"Because your application marked them as deleted. Due now: 13 of 30 that were looked at. 3. cleanupDeletedNotes",
		file+" was written. Nothing is deleted yet. What the rules would delete, one by one, and why: firesweep plan --rules "+file)
}

// TestInitOnlyWhatIsEmulated: with an emulator of Firestore alone, no file and no account of a real project is asked for.
func TestInitOnlyWhatIsEmulated(t *testing.T) {
	t.Parallel()
	o, file := inTheFuture(t)
	carSharing(t, o)
	for _, name := range []string{"STORAGE_EMULATOR_HOST", "FIREBASE_STORAGE_EMULATOR_HOST", "FIREBASE_AUTH_EMULATOR_HOST", "STORAGE_BUCKET"} {
		delete(o.env, name)
	}
	found := o.initFinds(t, "--rules", file)
	_, pings := proposals(t, found)["cleanupOrphanedPings"]
	_, avatars := proposals(t, found)["cleanupOrphanedAvatars"]
	if !pings || avatars || len(found.Unseen) > 0 {
		t.Errorf("%+v", found)
	}
}

// TestInitAsks: nothing is read before somebody agrees.
func TestInitAsks(t *testing.T) {
	t.Parallel()
	o, file := inTheFuture(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	o.env["FIRESTORE_EMULATOR_HOST"] = listener.Addr().String() // which answers nothing
	var listed atomic.Int32
	storage := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { listed.Add(1) }))
	t.Cleanup(storage.Close)
	o.env["STORAGE_EMULATOR_HOST"], o.env["STORAGE_BUCKET"] = storage.URL, ""
	_, errs := o.ends(t, exitWrongUse, "init", "--json", "--rules", file)
	wantParts(t, errs, "nobody can be asked. Do it:\n    firesweep init --json --rules "+file+" --yes\n")
	o.screen.in = true
	for _, in := range []string{"n\n", "", "yep\n"} {
		o.in = in
		_, errs := o.ends(t, exitWrongUse, "init", "--rules", file)
		wantParts(t, errs, "nothing was changed: the answer was not yes")
	}
	want(t, "requests to Storage", 0, int(listed.Load()))
	delete(o.env, "GOOGLE_CLOUD_PROJECT")
	o.refuses(t, exitWrongUse, "no project: give --project, or set GOOGLE_CLOUD_PROJECT", "init", "--yes", "--rules", file)
}
