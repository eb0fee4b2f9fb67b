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
		o.Set(t, "users/"+uidOf(n)+"/inbox/m1", fields{"read": n%2 == 0, "createdAt": daysAgo(10 * n)})
		o.Put(t, "avatars/"+uidOf(n)+".jpg", nil, nil)
		o.Set(t, "invites/"+autoID(n), fields{"createdAt": daysAgo(10 * n).UnixMilli(), "acceptedAt": []any{nil, daysAgo(1).UnixMilli()}[n%2]})
		o.Set(t, "quotes/"+autoID(n), fields{"uid": uidOf(n), "expiresAt": daysAgo(5*n - 20).Unix(), "usedBy": []any{nil, uidOf(n)}[n%2]})
		o.Set(t, "promoCodes/CODE"+fmt.Sprint(n), fields{"validUntil": daysAgo(10*n - 120).Format(time.DateOnly)})
		o.Set(t, "chats/"+autoID(n)+"/messages/1", fields{"text": "x"})
		o.Set(t, "supportChats/"+autoID(n), fields{"status": []string{"open", "closed"}[n%2], "closedAt": []any{nil, daysAgo(20 * n)}[n%2]})
		o.Set(t, "supportChats/"+autoID(n)+"/messages/1", fields{"text": "x"})
	}
	o.Put(t, "avatars/"+uidOf(30)+".jpg", nil, nil)
	o.SetMany(t, 120, func(n int) (string, map[string]any) {
		return "trips/" + autoID(n), fields{"riderId": uidOf(n % 21), "bookedAt": daysAgo(n), "state": []string{"booked", "cancelled"}[n%2]}
	})
	for n := range 123 { // three trips were deleted without their pings
		o.Set(t, "trips/"+autoID(n)+"/pings/1", fields{"at": daysAgo(n)})
	}
}

// rides is an application with drafts by their status, and with what is marked as deleted.
func rides(t *testing.T, o *operator) {
	t.Helper()
	for n := range 30 {
		o.Set(t, "rides/"+autoID(n), fields{"status": []string{"draft", "live"}[n%2], "changedAt": daysAgo(30 * n), "driver": "d" + fmt.Sprint(n%3)})
		o.Set(t, "posts/"+autoID(n), fields{"deletedAt": []any{nil, daysAgo(10 * n).Format(time.RFC3339)}[n%2]})
		o.Set(t, "posts/"+autoID(n)+"/likes/1", fields{"by": "x"})
		o.Set(t, "invites/"+autoID(n), fields{"status": []string{"pending", "accepted", "declined"}[n%3], "sentAt": daysAgo(10 * n)})
		o.Set(t, "notes/"+autoID(n), fields{"isDeleted": n%10 == 0, "updatedAt": daysAgo(10 * n)})
		o.Set(t, "stories/"+autoID(n), fields{"expiresAt": daysAgo(5 * n), "pinned": n == 29})
	}
	for n := range 6 {
		o.Set(t, "drivers/d"+fmt.Sprint(n), fields{"name": "x"})
		o.Put(t, "photos/d"+fmt.Sprint(n)+"/1.jpg", nil, nil)
		o.Put(t, "photos/d"+fmt.Sprint(n+1)+"/2.jpg", nil, nil)
	}
}

// patients is an application whose documents have the ids of accounts, four of which do not exist.
func patients(t *testing.T, o *operator) {
	t.Helper()
	o.people(t, 16)
	for n := range 20 {
		o.Set(t, "patients/"+uidOf(n), fields{"uid": uidOf(n), "deletedAt": daysAgo(900)})
	}
	for n := range 22 { // one without a document has no account either
		o.Set(t, "patients/"+uidOf(n)+"/visits/1", fields{"at": daysAgo(n)})
	}
	o.Import(t, new(auth.UserToImport).UID(uidOf(21)))
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

// TestInitProposes: what is proposed for two applications, and that a plan finds as much. What is in the file is not proposed again,
// and then the rest is.
func TestInitProposes(t *testing.T) {
	t.Parallel()
	type wanted struct {
		due, looked int
		rule        string
	}
	for name, tt := range map[string]struct {
		fill func(*testing.T, *operator)
		want map[string]wanted
		then []string // the next proposals
	}{
		"car sharing": {carSharing, map[string]wanted{
			"cleanupOrphanedPings":     {3, 13, `{"collection":"trips/{trip}/pings","age":{"by":"updateTime","days":7},"gone":[{"document":"{parent}"}]}`},
			"cleanupOrphanedAvatars":   {1, 21, `{"objects":"avatars/{user}.*","age":{"days":7},"gone":[{"document":"users/{user}"}]}`},
			"cleanupExpiredPromoCodes": {4, 20, `{"collection":"promoCodes","age":{"field":"validUntil","as":"text","days":30}}`},
			"cleanupExpiredQuotes": {4, 20, `{"collection":"quotes","where":[{"field":"usedBy","is":"not set"}],
				"age":{"field":"expiresAt","as":"seconds","days":30}}`},
			"cleanupOpenInvites": {5, 20, `{"collection":"invites","where":[{"field":"acceptedAt","is":"not set"}],
				"age":{"field":"createdAt","as":"milliseconds","days":90},"maxDuePercent":70}`},
		}, []string{"cleanupReadInbox", "cleanupClosedSupportChats"}},
		"rides": {rides, map[string]wanted{
			"cleanupDeletedPosts": {13, 30, `{"collection":"posts","age":{"field":"deletedAt","as":"text","days":30},"with":[{"subcollection":"**"}],
				"maxDuePercent":60}`},
			"cleanupDeletedNotes": {2, 30, `{"collection":"notes","where":[{"field":"isDeleted","==":true}],"age":{"field":"updatedAt","days":30},
				"maxDuePercent":80}`},
			"cleanupExpiredStories": {22, 30, `{"collection":"stories","where":[{"field":"pinned","is":"not true"}],
				"age":{"field":"expiresAt","days":30},"maxDuePercent":90}`},
			"cleanupOpenInvites": {13, 30, `{"collection":"invites","where":[{"field":"status","in":["declined","pending"]}],
				"age":{"field":"sentAt","days":90},"maxDuePercent":80}`},
			"cleanupOrphanedPhotos": {1, 12, `{"objects":"photos/{driver}/**","age":{"days":7},"gone":[{"document":"drivers/{driver}"}]}`},
		}, []string{"cleanupDraftRides"}},
		"patients": {patients, map[string]wanted{
			"cleanupOrphanedVisits": {1, 12, `{"collection":"patients/{patient}/visits","age":{"by":"updateTime","days":7},
				"gone":[{"document":"{parent}"},{"account":"{patient}"}]}`},
			"cleanupOrphanedPatients": {4, 20, `{"collection":"patients","age":{"by":"updateTime","days":7},"gone":[{"account":"{id}"}],
				"with":[{"subcollection":"**"}]}`},
		}, nil},
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
			want(t, "more", len(tt.then), found.More)
			after, err := json.Marshal(o.everything(t))
			ok(t, err)
			want(t, "the project", string(before), string(after))
			o.well(t, "check", "--rules", file)
			for name, one := range tt.want {
				plan := parsed[plans](t, o.well(t, "plan", "--rules", file, "--json", name)).Plans[0]
				want(t, "what a plan of "+name+" finds", one.due, len(plan.Report.Plan))
			}
			text := read(t, file)
			var then []string
			for _, p := range o.initFinds(t, "--rules", file).Proposals {
				then = append(then, p.Name)
			}
			want(t, "proposals beside these", tt.then, then)
			out := o.well(t, "init", "--yes", "--rules", file)
			for _, name := range tt.then {
				wantParts(t, oneLine(out), "is there already, and init changes nothing in it. To paste into its list rules:", `"name": "`+name+`"`)
			}
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
		"invites by age alone":      func(t *testing.T, o *operator, n int) { o.Set(t, "invites/"+autoID(n), fields{"createdAt": old}) },
		"invites all of which are accepted": func(t *testing.T, o *operator, n int) {
			o.Set(t, "invites/"+autoID(n), fields{"createdAt": old, "status": "accepted", "expiresAt": old})
		},
		"what others refer to": func(t *testing.T, o *operator, n int) {
			o.Set(t, "codes/"+autoID(n), fields{"expiresAt": old})
			o.Set(t, "trips/"+autoID(n), fields{"code": o.Firestore(t).Doc("codes/" + autoID(n))})
		},
		"people": func(t *testing.T, o *operator, n int) {
			o.people(t, n/19*20)
			o.Set(t, "riders/"+uidOf(n), fields{"deletedAt": old})
		},
		"drafts of what is to come": func(t *testing.T, o *operator, n int) {
			o.Set(t, "events/"+autoID(n), fields{"status": "draft", "updatedAt": old, "startsAt": daysAgo(n - 10)})
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
			if out := o.well(t, "init", "--yes", "--rules", file); strings.ContainsAny(out, "\u202e\x1b") {
				t.Errorf("printed: %q", out)
			}
			if _, err := os.Stat(file); !os.IsNotExist(err) {
				t.Errorf("%s: %v", file, err)
			}
		})
	}
}

// TestInitShows is what somebody reads and writes at a terminal of 80 columns.
func TestInitShows(t *testing.T) {
	t.Parallel()
	o, file := inTheFuture(t)
	rides(t, o)
	o.screen.in, o.in = true, "yes\ny\n"
	out, errs := o.ends(t, exitFine, "init", "--rules", file)
	want(t, "questions", "Go on? (y/N) Write them into "+file+"? (y/N) ", errs)
	begin, out, _ := strings.Cut(out, "\n\n") // its lines depend on how long the names are
	want(t, "beginning", "This looks at the project "+o.ID+" on emulators, database (default), and writes nothing to it. It reads at most 5000 documents, "+
		"lists files in at most 22 requests, and looks up accounts, which is free.", oneLine(begin))
	table, out, _ := strings.Cut(out, "\n\n")
	want(t, "table", ridesTable, table+"\n")
	wantParts(t, oneLine(out), "documents. Nothing was written to the project. 1. cleanupOrphanedPhotos Deletes objects photos/{driver}/** ",
		"and 1 of 7 of these do not exist. Due now: 1 of 12 that were looked at. 2. cleanupDeletedPosts",
		"Because your application marked them as deleted. Due now: 13 of 30 that were looked at. 3. cleanupDeletedNotes",
		"Due now: 22 of 30 that were looked at. THIS DELETES MORE THAN HALF OF THESE: READ ITS PLAN BEFORE IT RUNS. 5. cleanupOpenInvites",
		"1 more may be proposed: run init again when these are in the file. "+file+" was written. Nothing is deleted yet. What the rules would delete, one by one, and why: firesweep plan --rules "+file)
	want(t, "more than half", 1, strings.Count(out, "THIS DELETES"))
	o.in = "yes\n"
	o.ends(t, exitFine, "init", "--rules", filepath.Join(t.TempDir(), "firesweep.json"))
}

const ridesTable = `PLACE    COUNT       WHAT IT HOLDS
drivers  6           
invites  30          sentAt: timestamp from 2034-03-26 to 2035-01-10
                     status: accepted 10, declined 10, pending 10
notes    30          isDeleted: false 27, true 3
                     updatedAt: timestamp from 2034-03-26 to 2035-01-10
posts    30          deletedAt: text from 2034-03-26 to 2034-12-31, not set in 15
  likes  10 or more  
rides    30          changedAt: timestamp from 2032-08-23 to 2035-01-10
                     driver: d0 10, d1 10, d2 10
                     status: draft 15, live 15
stories  30          expiresAt: timestamp from 2034-08-18 to 2035-01-10
                     pinned: false 29, true 1
photos/  12          {driver}: 1 of 7 are not in drivers
`

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
	o.refuses(t, exitWrongUse, "it reads up to 5000 documents of the project, and asks first; where nobody can be asked, add --yes", "init", "--rules", file)
	o.screen.in = true
	o.refuses(t, exitWrongUse, "add --yes", "init", "--json", "--rules", file)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	o.env["FIRESTORE_EMULATOR_HOST"] = listener.Addr().String() // which answers nothing
	var listed atomic.Int32
	storage := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { listed.Add(1) }))
	t.Cleanup(storage.Close)
	o.env["STORAGE_EMULATOR_HOST"], o.env["STORAGE_BUCKET"] = storage.URL, ""
	for _, in := range []string{"n\n", "", "no\n", "yep\n"} {
		o.in = in
		_, errs := o.ends(t, exitFailed, "init", "--rules", file)
		wantParts(t, errs, "nothing was read: the answer was not yes")
	}
	want(t, "requests to Storage", 0, int(listed.Load()))
	delete(o.env, "GOOGLE_CLOUD_PROJECT")
	o.refuses(t, exitWrongUse, "no project: give --project, or set GOOGLE_CLOUD_PROJECT", "init", "--yes", "--rules", file)
}
