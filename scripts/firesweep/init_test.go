package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/scripts/firesweep/look"
	"github.com/firesweep/firesweep/shared/version"
)

// future is long after the emulators' own clocks, so that whatever they date is old.
var future = time.Date(2035, 1, 10, 15, 0, 0, 0, time.UTC)

type fields = map[string]any

// autoID returns an id like those that Firestore makes, uidOf one like Authentication's.
func autoID(n int) string { return fmt.Sprintf("%c%019d", "ABCDEabcdeKLMNOPpqrs"[n%20], n) }
func uidOf(n int) string  { return fmt.Sprintf("%c%027d", 'A'+rune(n%26), n) }

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

func (o *operator) guest(t *testing.T, n, days int) {
	t.Helper()
	o.Import(t, new(auth.UserToImport).UID(fmt.Sprintf("guest%023d", n)).Metadata(&auth.UserMetadata{
		CreationTimestamp: future.AddDate(-1, 0, 0).UnixMilli(), LastLogInTimestamp: future.AddDate(0, 0, -days).UnixMilli()}))
}

// rides is an application with an account for each driver, a trip of a driver that is gone, and drafts by their status.
func rides(t *testing.T, o *operator) {
	t.Helper()
	o.people(t, 10)
	for n := range 12 { // two drivers have no account
		o.Set(t, "drivers/"+uidOf(n), fields{"name": "driver " + autoID(n), "lastSeenAt": future.AddDate(0, 0, -n).UnixMilli()})
		o.Set(t, "drivers/"+uidOf(n)+"/trips/"+autoID(n), fields{"km": int64(n)})
		o.Put(t, "licences/"+uidOf(n)+".jpg", nil, []byte("picture"))
	}
	o.Set(t, "drivers/"+uidOf(20)+"/trips/"+autoID(20), fields{"km": int64(5)})
	o.Put(t, "licences/"+uidOf(20)+".jpg", nil, []byte("picture"))
	for n := range 30 {
		o.Set(t, "rides/"+autoID(n), fields{"status": []string{"draft", "live"}[n%2], "changedAt": future.AddDate(0, 0, -30*n), "driverId": uidOf(n % 12)})
	}
	for n := range 3 {
		o.guest(t, n, 60*n)
	}
}

// forum is an application without accounts: much in a collection, subcollections, times as text and as seconds, and things that
// clients have marked.
func forum(t *testing.T, o *operator) {
	t.Helper()
	o.SetMany(t, 300, func(n int) (string, map[string]any) {
		return "notifications/" + autoID(n), fields{"sentAt": future.AddDate(0, 0, -n), "to": "all"}
	})
	for n := range 20 {
		o.Set(t, "boards/"+autoID(n%8), fields{"title": "board"})
		o.Set(t, "boards/"+autoID(n%8)+"/posts/"+autoID(n), fields{"deleted": n%4 == 0, "updatedAt": future.AddDate(0, 0, -10*n).Format(time.RFC3339)})
		o.Set(t, "otpCodes/"+autoID(n), fields{"expiresAt": future.AddDate(0, 0, 10-n).Unix()})
		o.Set(t, "auditLogs/"+autoID(n), fields{"createdAt": future.AddDate(-3, 0, 0)})
		o.Set(t, "sessions/"+autoID(n), fields{"startedBy": "somebody", "createdAt": future.AddDate(0, 0, -20*n)})
	}
	o.Set(t, "boards/"+autoID(50)+"/posts/"+autoID(50), fields{"deleted": false, "updatedAt": future.Format(time.RFC3339)})
}

// shop is an application with references, sent mail, files in a folder of each product, and data that must be kept.
func shop(t *testing.T, o *operator) {
	t.Helper()
	for n := range 10 {
		product := autoID(100 + n)
		if n > 1 {
			o.Set(t, "products/"+product, fields{"name": "product"})
		}
		o.Put(t, "photos/"+product+"/large.jpg", nil, []byte("0123456789"))
		o.Put(t, "photos/"+product+"/small.jpg", nil, []byte("01234"))
		o.Set(t, "reviews/"+autoID(n), fields{"product": o.Firestore(t).Doc("products/" + product), "stars": int64(n), "createdAt": future.AddDate(-4, 0, 0)})
		o.Set(t, "orders/"+autoID(n), fields{"expiresAt": future.AddDate(-5, 0, 0), "createdAt": future.AddDate(-5, 0, 0)})
		o.Set(t, "mail/"+autoID(n), fields{"to": "a@example.com",
			"delivery": fields{"state": []string{"SUCCESS", "ERROR", "PENDING"}[n%3], "endTime": future.AddDate(0, 0, -10*n)}})
		o.Put(t, "banners/"+autoID(200+n)+".png", nil, nil)
	}
	for n := range 10 { // who buys as nobody is nobody whom an account could have lost
		buyer := uidOf(n)
		if n == 9 {
			buyer = "nobody"
		}
		o.Set(t, "carts/"+autoID(n), fields{"userId": buyer, "sum": int64(n)})
	}
	o.people(t, 9)
}

// asText returns all that the project holds, as a text.
func (o *operator) asText(t *testing.T) string {
	t.Helper()
	text, err := json.MarshalIndent(o.everything(t), "", " ")
	ok(t, err)
	return string(text)
}

// found is a proposal as tests compare it.
type foundRule struct {
	Rule  any
	Items int
	Of    int
	Exact bool
}

// inits is what init writes.
type inits struct {
	Reads     int
	Found     look.Findings
	Proposals []proposed
}

// proposals runs init and returns what it proposes, by name.
func (o *operator) proposals(t *testing.T, args ...string) map[string]foundRule {
	t.Helper()
	out, _ := o.ends(t, exitFine, append([]string{"init", "--yes", "--json"}, args...)...)
	all := map[string]foundRule{}
	for _, p := range parsed[inits](t, out).Proposals {
		all[p.Name] = foundRule{ruleOf(t, string(p.Rule)), p.Due.Items, p.Due.Of, p.Due.Exact}
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

// planOf returns how much the plan of a rule in a file finds.
func (o *operator) planOf(t *testing.T, file, name string) int {
	t.Helper()
	return len(parsed[plans](t, o.well(t, "plan", "--rules", file, "--json", name)).Plans[0].Report.Plan)
}

// TestInitProposes: what is proposed for three applications, and how much it finds.
func TestInitProposes(t *testing.T) {
	t.Parallel()
	type found struct {
		items, of int
		rule      string
	}
	for name, tt := range map[string]struct {
		fill func(*testing.T, *operator)
		args []string
		want map[string]found
	}{
		"rides": {rides, nil, map[string]found{
			"cleanupOrphanedDrivers":       {2, 12, `{"collection":"drivers","age":{"by":"updateTime","days":7},"gone":[{"account":"{id}"}],"with":[{"subcollection":"**"}]}`},
			"cleanupOrphanedDriversTrips":  {1, 13, `{"collection":"drivers/{driver}/trips","age":{"by":"updateTime","days":7},"gone":[{"document":"{parent}"},{"account":"{driver}"}]}`},
			"cleanupDraftRides":            {11, 30, `{"collection":"rides","where":[{"field":"status","==":"draft"}],"age":{"field":"changedAt","days":180}}`},
			"cleanupOrphanedLicencesFiles": {1, 13, `{"objects":"licences/{driver}.*","age":{"days":7},"gone":[{"document":"drivers/{driver}"}]}`},
			"cleanupUnusedGuests":          {1, 13, `{"accounts":"anonymous","age":{"by":"lastActive","days":90},"unless":[{"document":"drivers/{uid}"}]}`},
		}},
		"forum": {forum, nil, map[string]found{
			"cleanupOldNotifications":    {209, 300, `{"collection":"notifications","age":{"field":"sentAt","days":90},"maxDuePercent":70}`},
			"cleanupDeletedBoardsPosts":  {4, 21, `{"collection":"boards/{board}/posts","where":[{"field":"deleted","==":true}],"age":{"field":"updatedAt","as":"text","days":30}}`},
			"cleanupExpiredOtpCodes":     {2, 20, `{"collection":"otpCodes","age":{"field":"expiresAt","as":"seconds","days":7}}`},
			"cleanupOldSessions":         {15, 20, `{"collection":"sessions","age":[{"field":"createdAt","days":90},{"by":"updateTime","days":90}],"maxDuePercent":80}`},
			"cleanupOrphanedBoardsPosts": {1, 21, `{"collection":"boards/{board}/posts","age":{"by":"updateTime","days":7},"gone":[{"document":"{parent}"}]}`},
		}},
		"forum, another age": {forum, []string{"--days", "200"}, map[string]found{
			"cleanupOldNotifications":    {99, 300, `{"collection":"notifications","age":{"field":"sentAt","days":200}}`},
			"cleanupExpiredOtpCodes":     {2, 20, `{"collection":"otpCodes","age":{"field":"expiresAt","as":"seconds","days":7}}`},
			"cleanupOldSessions":         {9, 20, `{"collection":"sessions","age":[{"field":"createdAt","days":200},{"by":"updateTime","days":200}]}`},
			"cleanupOrphanedBoardsPosts": {1, 21, `{"collection":"boards/{board}/posts","age":{"by":"updateTime","days":7},"gone":[{"document":"{parent}"}]}`},
		}},
		"shop": {shop, nil, map[string]found{
			"cleanupSentMail":            {4, 10, `{"collection":"mail","where":[{"field":"delivery.state","in":["SUCCESS","ERROR"]}],"age":{"field":"delivery.endTime","days":30}}`},
			"cleanupOrphanedReviews":     {2, 10, `{"collection":"reviews","age":{"by":"updateTime","days":7},"gone":[{"document":"products/{product}"}]}`},
			"cleanupOrphanedPhotosFiles": {4, 20, `{"objects":"photos/{product}/**","age":{"days":7},"gone":[{"document":"products/{product}"}]}`},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, file := inTheFuture(t)
			tt.fill(t, o)
			before := o.asText(t)
			got := o.proposals(t, append(tt.args, "--rules", file)...)
			wanted, capitals := map[string]foundRule{}, 0
			for name, one := range tt.want {
				wanted[name] = foundRule{ruleOf(t, one.rule), one.items, one.of, true}
				if 2*one.items > one.of {
					capitals++
				}
			}
			want(t, "proposals", wanted, got)
			text := o.well(t, append([]string{"init", "--yes", "--rules", file}, tt.args...)...)
			want(t, "capitals", capitals, strings.Count(text, "THIS DELETES MORE THAN HALF OF ALL THESE DOCUMENTS."))
			want(t, "the project", before, o.asText(t))
			if _, err := os.Stat(file); !os.IsNotExist(err) {
				t.Errorf("%s: %v", file, err)
			}
			o.proposals(t, append(tt.args, "--rules", file, "--write")...)
			for name, one := range tt.want {
				want(t, "what a plan of "+name+" finds", one.items, o.planOf(t, file, name))
			}
			again := o.proposals(t, append(tt.args, "--rules", file)...)
			want(t, "proposals beside these rules", map[string]foundRule{}, again)
		})
	}
}

// TestInitTakesASampleOfOwnersForAll: of so many owners some are looked up, and files of the others go in the same proportion.
func TestInitTakesASampleOfOwnersForAll(t *testing.T) {
	t.Parallel()
	o, file := inTheFuture(t)
	for n := range 200 {
		id := fmt.Sprintf("L%019d", n)
		if n%10 != 4 && n%10 != 5 {
			o.Set(t, "listings/"+id, fields{"title": "listing"})
		}
		o.Put(t, "photos/"+id+"/a.jpg", nil, []byte("0123456789"))
	}
	out, _ := o.ends(t, exitFine, "init", "--yes", "--json", "--write", "--rules", file)
	found := parsed[inits](t, out).Proposals
	want(t, "proposals", 1, len(found))
	want(t, "due", look.Due{Items: 40, Of: 200, Bytes: 400}, found[0].Due)
	want(t, "why", "of 100 owners that were looked up, 20 are not in listings", found[0].Why)
	want(t, "what a plan finds", 40, o.planOf(t, file, found[0].Name))
}

// TestInitShows is what somebody reads and writes at a terminal of 80 columns.
func TestInitShows(t *testing.T) {
	t.Parallel()
	o, file := inTheFuture(t)
	rides(t, o)
	o.screen.in, o.in = true, "yes\ny\nn\n\nno\nN\n"
	out, errs := o.ends(t, exitFine, "init", "--rules", file)
	begin, out, _ := strings.Cut(out, "\n\n") // its lines depend on how long the names are, and so do those of the end
	out, end, _ := strings.Cut(strings.TrimSuffix(strings.TrimRight(out, "\n"), file), file)
	want(t, "beginning", "This looks at the project "+o.ID+", database (default), and writes nothing to it. It reads at most 5000 documents "+
		"(less than a cent), lists the files of "+o.Bucket+" in at most 20 requests, and lists at most 10000 accounts, which is free.", oneLine(begin))
	want(t, "output", ridesShown, strings.ReplaceAll(out, time.Now().UTC().Format(time.DateOnly), "TODAY"))
	want(t, "end", "was written: cleanupOrphanedDrivers. Nothing is deleted yet. What they would delete, one by one, and why: firesweep plan --rules", oneLine(end))
	want(t, "questions", "Go on? (y/N) "+strings.Repeat("Write this rule? (y/N) ", 5), errs)
	text := read(t, file)
	want(t, "file", `{
  "$schema": "`+version.File("rules.schema.json")+`",
  "rules": [
    {
      "name": "cleanupOrphanedDrivers",
      "schedule": "0 4 * * 1",
      "collection": "drivers",
      "age": { "by": "updateTime", "days": 7 },
      "gone": [{ "account": "{id}" }],
      "with": [{ "subcollection": "**" }]
    }
  ]
}
`, text)
}

const ridesShown = `  COLLECTION              DOCUMENTS  LOOKED AT
  drivers                        12         12
    name text
    lastSeenAt number, holds times as milliseconds: from 2034-12-30 to
      2035-01-10, half before 2035-01-05
    {id} names an account: 2 of 12 gone
    of the first names, 1 have no document, but collections below them
  rides                          30         30
    driverId text, status text (draft: 15, live: 15)
    changedAt timestamp from 2032-08-23 to 2035-01-10, half before 2033-11-16
    driverId names a document in drivers: 0 of 12 gone
  drivers/{driver}/trips         13         13
    km number
    {parent} names the document above it: 1 of 13 gone
    {driver} names an account: 3 of 13 gone

  FOLDER     FILES      SIZE  OLDEST      NEWEST
  licences/     13  91 bytes  TODAY  TODAY
    licences/{driver}.*: {driver} names a document in drivers: 1 of 13 gone

  13 accounts, 3 of them guests (anonymous)
  138 documents read; nothing was written to the project

1. cleanupOrphanedDrivers
  Deletes documents of drivers that were written more than 7 days ago and for
  which no account {id} exists; with each go all documents below it.

  finds     2 of 12 documents now
  why       of 12 that were looked at, 2 have no account
  costs     now less than a cent; then, each month, less than a cent
  saves     274 bytes, less than a cent a month

2. cleanupDraftRides
  Deletes documents of rides whose status is draft and whose changedAt is more
  than 180 days ago.

  finds     11 of 30 documents now
  why       nobody has worked on the draft
  costs     now less than a cent; then, each month, less than a cent
  saves     1.5 KiB, less than a cent a month
  index     it needs one that Firestore does not make by itself:
            firesweep check says which

3. cleanupOrphanedDriversTrips
  Deletes documents of trips below drivers/{driver} that were written more than
  7 days ago, for which no {parent} exists and for which no account {driver}
  exists.

  finds     1 of 13 documents now
  why       of 13 that were looked at, 1 have no document above it and
            no account
  costs     now less than a cent; then, each month, less than a cent
  saves     123 bytes, less than a cent a month

4. cleanupOrphanedLicencesFiles
  Deletes objects licences/{driver}.* that were uploaded more than 7 days ago
  and for which no drivers/{driver} exists.

  finds     1 of 13 files now
  why       of 13 owners that were looked up, 1 are not in drivers
  costs     now less than a cent; then, each month, less than a cent
  saves     7 bytes, less than a cent a month

5. cleanupUnusedGuests
  Deletes anonymous accounts that were last active more than 90 days ago, unless
  drivers/{uid} exists.

  finds     1 of 13 accounts now
  why       guests who sign in on another device, or delete the app,
            never come back to their account
  costs     now less than a cent; then, each month, less than a cent

`

// TestInitProposesNothing: what looks like what is proposed, and must not be.
func TestInitProposesNothing(t *testing.T) {
	t.Parallel()
	old := future.AddDate(-5, 0, 0)
	for name, tt := range map[string]struct {
		fill func(t *testing.T, o *operator, n int) // called for 0 to 19
	}{
		"an empty project": {func(*testing.T, *operator, int) {}},
		"what the law keeps": {func(t *testing.T, o *operator, n int) {
			for _, collection := range []string{"orders", "subscriptions", "users", "consentLogs", "userAccounts",
				"paymentMethods", "paymentTokens", "orderLogs", "order_history", "invoiceItems", "orders/" + autoID(n) + "/logs"} {
				o.Set(t, collection+"/"+autoID(n), fields{"expiresAt": old, "createdAt": old, "lastLogin": old})
			}
		}},
		"old, and of no known kind": {func(t *testing.T, o *operator, n int) {
			o.Set(t, "recipes/"+autoID(n), fields{"createdAt": old, "updatedAt": old, "status": "live"})
		}},
		"exactly old enough": {func(t *testing.T, o *operator, n int) {
			o.Set(t, "notifications/"+autoID(n), fields{"createdAt": future.AddDate(0, 0, -90)})
			o.Set(t, "otps/"+autoID(n), fields{"expiresAt": future.AddDate(0, 0, -7)})
		}},
		"times that few documents have": {func(t *testing.T, o *operator, n int) {
			o.Set(t, "notifications/"+autoID(n), map[bool]fields{true: {"createdAt": old}, false: {"text": "x"}}[n < 10])
		}},
		"numbers that are no times": {func(t *testing.T, o *operator, n int) {
			o.Set(t, "notifications/"+autoID(n), fields{"createdAt": int64(n)})
		}},
		"an owner that is nobody's id": {func(t *testing.T, o *operator, n int) {
			o.people(t, 9)
			o.Set(t, "carts/"+autoID(n), fields{"userId": []string{uidOf(n % 9), "nobody"}[n/19]})
		}},
		"most owners are gone": {func(t *testing.T, o *operator, n int) {
			o.people(t, 9)
			o.Set(t, "carts/"+autoID(n), fields{"userId": uidOf(n)})
		}},
		"most owners are gone, but for the first that are looked up": {func(t *testing.T, o *operator, n int) {
			for i := 2 * n; i < 2*n+2; i++ {
				uid := fmt.Sprintf("%028d", i)
				if i%4 == 0 {
					o.Import(t, new(auth.UserToImport).UID(uid))
				}
				o.Set(t, "carts/"+autoID(i), fields{"userId": uid})
			}
		}},
		"few owners": {func(t *testing.T, o *operator, n int) {
			if n < 4 {
				o.people(t, 3)
				o.Set(t, "carts/"+autoID(n), fields{"userId": uidOf(n)})
			}
		}},
		"settings of notifications": {func(t *testing.T, o *operator, n int) {
			o.Set(t, "notificationChannels/"+autoID(n), fields{"createdAt": old})
		}},
		"times far ahead": {func(t *testing.T, o *operator, n int) {
			o.Set(t, "notifications/"+autoID(n), fields{"createdAt": int64(4e12) + int64(n), "expiresAt": int64(1e15)})
		}},
		"parents that nobody writes": {func(t *testing.T, o *operator, n int) {
			o.Set(t, "chats/"+autoID(n)+"/messages/"+autoID(n), fields{"text": "x"})
		}},
		"a file of nobody": {func(t *testing.T, o *operator, n int) {
			o.Set(t, "users/"+uidOf(n), fields{"x": true})
			o.Put(t, "avatars/"+uidOf(n)+".png", nil, nil)
			o.Put(t, "avatars/default.png", nil, nil)
		}},
		"a file whose owner has an account": {func(t *testing.T, o *operator, n int) {
			o.people(t, 20)
			if n > 0 {
				o.Set(t, "users/"+uidOf(n), fields{"x": true})
			}
			o.Put(t, "avatars/"+uidOf(n)+".png", nil, nil)
		}},
		"files at several depths": {func(t *testing.T, o *operator, n int) {
			if n > 0 {
				o.Set(t, "users/"+uidOf(n), fields{"x": true})
			}
			o.Put(t, "avatars/"+uidOf(n)+".png", nil, nil)
			o.Put(t, "avatars/"+uidOf(n)+"/small.png", nil, nil)
		}},
		"guests who are back": {func(t *testing.T, o *operator, n int) { o.guest(t, n, 2*n) }},
		"guests who have a document": {func(t *testing.T, o *operator, n int) {
			o.guest(t, n, 200)
			o.Set(t, fmt.Sprintf("users/guest%023d", n), fields{"x": true})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, file := inTheFuture(t)
			for n := range 20 {
				tt.fill(t, o, n)
			}
			got := o.proposals(t, "--rules", file)
			want(t, "proposals", map[string]foundRule{}, got)
		})
	}
}

// TestInitKeepsToItsBound: the reads that the emulator's answers add up to are no more than was said, and what is left out is named.
func TestInitKeepsToItsBound(t *testing.T) {
	t.Parallel()
	o, file := inTheFuture(t)
	o.SetMany(t, 30*40, func(n int) (string, map[string]any) {
		return fmt.Sprintf("logs%02d/%s", n/40, autoID(n)), fields{"createdAt": future.AddDate(-1, 0, 0)}
	})
	for _, bound := range []int{500, 1000, 5000} {
		out, _ := o.ends(t, exitFine, "init", "--yes", "--json", "--rules", file, "--max-reads", fmt.Sprint(bound))
		answer := parsed[inits](t, out)
		sampled := 0
		for _, c := range answer.Found.Collections {
			sampled += c.Sampled
		}
		if answer.Reads > bound || answer.Reads < max(40, sampled) {
			t.Errorf("bound %d: %d reads, of %d documents", bound, answer.Reads, sampled)
		}
		want(t, fmt.Sprintf("bound %d, collections looked at or named", bound), 30, len(answer.Found.Collections)+len(answer.Found.Unseen))
		if bound < 5000 && !slices.Contains(answer.Found.Unseen, "logs29: the bound of reads is reached") {
			t.Errorf("bound %d: %v", bound, answer.Found.Unseen)
		}
	}
}

// TestInitOnlyWhatIsEmulated: with an emulator of Firestore alone, no file and no account of a real project is asked for.
func TestInitOnlyWhatIsEmulated(t *testing.T) {
	t.Parallel()
	o, file := inTheFuture(t)
	rides(t, o)
	for _, name := range []string{"STORAGE_EMULATOR_HOST", "FIREBASE_STORAGE_EMULATOR_HOST", "FIREBASE_AUTH_EMULATOR_HOST", "STORAGE_BUCKET"} {
		delete(o.env, name)
	}
	got := o.proposals(t, "--rules", file)
	var names []string
	for name := range got {
		names = append(names, name)
	}
	slices.Sort(names)
	want(t, "proposals", []string{"cleanupDraftRides", "cleanupOrphanedDriversTrips"}, names)
}

// TestInitOnExportedData: emulators that have imported it show what was there when it was exported.
func TestInitOnExportedData(t *testing.T) {
	t.Parallel()
	o, file := inTheFuture(t)
	forum(t, o)
	before := o.proposals(t, "--rules", file)
	folder := t.TempDir()
	exported := filepath.Join(folder, "exported", "exported.overall_export_metadata")
	call := func(of, with string) {
		t.Helper()
		url := "http://" + o.env["FIRESTORE_EMULATOR_HOST"] + "/emulator/v1/projects/" + o.ID + ":" + of
		body := fmt.Sprintf(`{"database": "projects/%s/databases/(default)", "export_directory": %s}`, o.ID, with)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		ok(t, err)
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		ok(t, err)
		defer func() { _ = answer.Body.Close() }()
		want(t, of, http.StatusOK, answer.StatusCode)
	}
	call("export", fmt.Sprintf(`%q, "export_name": "exported"`, folder))
	o.Reset(t)
	want(t, "proposals for nothing", map[string]foundRule{}, o.proposals(t, "--rules", file))
	call("import", strconv.Quote(exported))
	want(t, "proposals for what was exported", before, o.proposals(t, "--rules", file))
}

// TestInitAsks: nothing is read before somebody agrees.
func TestInitAsks(t *testing.T) {
	t.Parallel()
	o, file := inTheFuture(t)
	o.refuses(t, exitWrongUse, "it reads up to 5000 documents of the project, and asks first; where nobody can be asked, add --yes", "init", "--rules", file)
	o.refuses(t, exitWrongUse, "add --yes", "init", "--write", "--rules", file)
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
		out, errs := o.ends(t, exitFailed, "init", "--rules", file)
		wantParts(t, oneLine(out), "lists the files of the project's default bucket in at most 22 requests")
		wantParts(t, errs, "nothing was read: the answer was not yes")
	}
	want(t, "requests to Storage", 0, int(listed.Load()))
	for _, args := range [][]string{{"--max-reads", "499"}, {"--days", "-1"}, {"--write", "cleanupX"}} {
		o.refuses(t, exitWrongUse, strings.TrimPrefix(args[0], "--"), append([]string{"init", "--yes", "--rules", file}, args...)...)
	}
	delete(o.env, "GOOGLE_CLOUD_PROJECT")
	o.refuses(t, exitWrongUse, "no project: give --project, or set GOOGLE_CLOUD_PROJECT", "init", "--yes", "--rules", file)
}

// TestInitTellsWhatIsTooNew: it is named, and proposed as of a time at which it is due.
func TestInitTellsWhatIsTooNew(t *testing.T) {
	t.Parallel()
	o, file := inTheFuture(t)
	shop(t, o)
	o.now = time.Now()
	proposals := func(args ...string) (names []string) {
		out, _ := o.ends(t, exitFine, append([]string{"init", "--yes", "--json", "--rules", file}, args...)...)
		for _, one := range parsed[inits](t, out).Proposals {
			names = append(names, one.Name)
		}
		return names
	}
	const reviews, photos = "cleanupOrphanedReviews", "cleanupOrphanedPhotosFiles"
	if now, later := proposals(), proposals("--now", "+8d"); slices.Contains(now, reviews) || slices.Contains(now, photos) ||
		!slices.Contains(later, reviews) || !slices.Contains(later, photos) {
		t.Errorf("now %q, in eight days %q", now, later)
	}
	out := o.well(t, "init", "--yes", "--rules", file)
	wantParts(t, out, "Not proposed, because nothing is old enough yet (--now +8d looks as of then):", "\n  "+reviews+": deletes documents of reviews ")
	wantParts(t, o.well(t, "init", "--yes", "--write", "--now", "+8d", "--rules", file), "firesweep plan --rules "+file+" --now +8d\n")
	o.refuses(t, exitWrongUse, "--now is ", "init", "--yes", "--now", "soon", "--rules", file)
}

// answers types an answer whenever somebody is asked.
type answers func() string

func (a answers) Read(b []byte) (int, error) { return copy(b, a()), nil }

// TestInitWritesIntoAFile: what is there stays as it is, and what cannot be added to is refused unchanged.
func TestInitWritesIntoAFile(t *testing.T) {
	t.Parallel()
	o, file := inTheFuture(t)
	rides(t, o)
	const before = `// of our application
{
  "rules": [
    { // drafts of rides
      "name": "cleanupRides", "schedule": "1 2 * * *",
      "collection": "rides", "age": { "field": "changedAt", "days": 400 }, // a year and more
    },
    { "name": "cleanupUnusedGuests", "schedule": "1 2 * * *", "collection": "visits", "age": "any" }
  ], /* no more */
  "$schema": "rules.schema.json"
}
`
	write(t, file, before)
	_, errs := o.ends(t, exitFailed, "init", "--yes", "--rules", file, "cleanupDraftRides")
	wantParts(t, errs, "cleanupDraftRides is not proposed, and nothing was written")
	want(t, "the file", before, read(t, file))
	out, _ := o.ends(t, exitFine, "init", "--yes", "--rules", file, "cleanupUnusedGuests2")
	want(t, "the file", strings.Replace(before, `"age": "any" }
  ], /*`, `"age": "any" },
    {
      "name": "cleanupUnusedGuests2",
      "schedule": "21 4 * * 1",
      "accounts": "anonymous",
      "age": { "by": "lastActive", "days": 90 },
      "unless": [{ "document": "drivers/{uid}" }]
    }
  ], /*`, 1), read(t, file))
	wantParts(t, out, "cleanupUnusedGuests2. Nothing is deleted yet", "firesweep plan")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for name, theirs := range map[string]string{file: before + "\n", filepath.Join(t.TempDir(), "firesweep.json"): before} {
		a, _, errs := o.app()
		a.screen.in, a.in = true, answers(func() string { write(t, name, theirs); return "y\n" })
		want(t, "exit code", exitFailed, a.run(t.Context(), []string{"init", "--rules", name}))
		wantParts(t, errs.String(), name+" is no longer what was read, so nothing was written: try again")
		want(t, "the file", theirs, read(t, name))
	}
	for _, wrong := range []string{"{", `[]`, `{"rules": {}}`, `{"rules": [{"name": "x"}]}`, `{"functions": []}`, ""} {
		write(t, file, wrong)
		o.refuses(t, exitWrongUse, "firesweep.json", "init", "--yes", "--write", "--rules", file)
		want(t, "the file", wrong, read(t, file))
	}
	write(t, file, "{}")
	o.ends(t, exitFine, "init", "--yes", "--rules", file, "cleanupDraftRides")
	wantParts(t, read(t, file), `"name": "cleanupDraftRides"`)
}
