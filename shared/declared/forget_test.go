package declared_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/rule"
)

// rulesOf returns rules by their texts, which lack name and schedule.
func rulesOf(t testing.TB, texts ...string) (rules []rule.Rule) {
	t.Helper()
	for _, text := range texts {
		var keys fields
		if err := json.Unmarshal([]byte("{"+text+"}"), &keys); err != nil {
			t.Fatal(err)
		}
		rules = append(rules, *entry(t, keys).Rule)
	}
	return rules
}

// forgetting returns the function that forgets a user.
func forgetting(t testing.TB, rules []rule.Rule) *engine.Function {
	t.Helper()
	return forgettingUser(t, "u1", rules)
}

func forgettingUser(t testing.TB, uid string, rules []rule.Rule) *engine.Function {
	t.Helper()
	job, err := declared.Forget("forget1", uid, rules)
	if err != nil {
		t.Fatal(err)
	}
	return engine.NewFunction(job, 540*time.Second, []config.Backend{config.Auth, config.Firestore, config.Storage})
}

// groups are the indexes that a deployment has to make for the fields of forgotten.
var groups = []manifest.Index{
	{CollectionGroup: "members", QueryScope: "COLLECTION_GROUP", Fields: []manifest.IndexField{{FieldPath: "uid", Order: "ASCENDING"}}},
}

// forgotten are rules that name accounts in every way, and what is to go of the user u1, to change and to stay.
type forgotten struct {
	rules         []string
	gone, stays   map[string]fields
	before, after map[string]fields
	objects, left []string
}

// userOne is the application of a user u1.
func userOne(f *enginetest.Function, t testing.TB) forgotten {
	ref := func(path string) any {
		if f == nil {
			return nil
		}
		return f.Firestore(t).Doc(path)
	}
	return forgotten{
		rules: []string{
			`"collection":"users","where":[{"field":"email","==":null}],"age":{"field":"lastLogin","days":45},
				"with":[{"subcollection":"prefs"},{"collection":"posts","field":"authorId","with":[{"subcollection":"likes"}]},{"collection":"teams","field":"owners.{id}","remove":true},
					{"document":"admins/{id}"},{"collection":"clubs","field":"m[]","remove":true},{"objects":"users/{id}/**"},{"account":"{id}"}],"unless":[{"document":"legalHolds/{id}"}]`,
			`"collection":"posts","where":[{"field":"status","==":"draft"}],"age":{"field":"at","days":1},"gone":[{"account":"{authorId}"}],
				"unless":[{"document":"postHolds/{id}"},{"field":"hold","==":true},{"newest":2,"per":"authorId"}],"with":[{"collection":"comments","field":"post"}]`,
			`"collection":"users/{uid}/notes","age":"any","gone":[{"account":"{uid}"}]`,
			`"collection":"rooms/{room}/members","age":"any","gone":[{"account":"{uid}"}]`,
			`"collection":"rooms/{room}/keys","age":"any","gone":[{"account":"{id}"}]`,
			`"collection":"chats","age":"any","gone":[{"account":"{people[]}"}],"with":[{"subcollection":"**"}]`,
			`"collection":"grants","age":"any","gone":[{"account":"{holders.*}"}]`,
			`"collection":"votes","where":[{"field":"by","is":"set"}],"age":"any","gone":[{"account":"{by}"}],"set":{"by":null}`,
			`"collection":"tickets","age":{"field":"at","days":1},"gone":[{"account":"{from.uid}"}],"archive":"oldTickets","with":[{"subcollection":"lines"}]`,
			`"collection":"cards","age":"any","gone":[{"account":"{id}"}],"archive":"oldCards"`,
			`"collection":"clubs","age":"any","gone":[{"account":"{m[]}"}]`,
			`"collection":"logs","age":{"field":"at","days":1}`,
		},
		gone: map[string]fields{
			"users/u1": {"email": "a@example.com"}, "users/u1/prefs/p": {"x": true}, "users/u1/notes/n": {"x": true}, "admins/u1": {"x": true},
			"posts/text": {"authorId": "u1", "status": "public", "at": now}, "posts/ref": {"authorId": ref("users/u1")}, "posts/text/likes/l": {"x": true},
			"comments/c1": {"post": "text"}, "rooms/r/members/x": {"uid": "u1"}, "rooms/r/keys/u1": {"x": true}, "rooms/s/keys/u1": {"x": true},
			"chats/alone": {"people": array{"u1", "u1"}}, "chats/alone/m/1": {"x": true}, "chats/alone/days/none/m/1": {"x": true}, "grants/own": {"holders": fields{"u1": true}},
			"grants/map": {"holders": fields{"u1": fields{"role": "owner"}}}, "grants/list": {"holders": fields{"u1": array{"read"}}},
			"grants/ref": {"holders": fields{"u1": ref("users/u1")}}, "grants/null": {"holders": fields{"u1": nil}},
			"tickets/t": {"from": fields{"uid": "u1"}}, "tickets/t/lines/1": {"x": true}, "oldTickets/o": {"from": fields{"uid": "u1"}}, "oldTickets/o/lines/1": {"x": true},
			"cards/u1": {"x": true}, "oldCards/u1": {"x": true}, "oldCards/u1@2026-01-02T03:04:05.6Z": {"x": true},
		},
		stays: map[string]fields{
			"users/u12": {"x": true}, "users/u": {"x": true}, "users/U1": {"x": true}, "users/u1_": {"x": true}, "users/u10": {"x": true}, "users/u12/prefs/p": {"x": true}, "users/u12/notes/n": {"x": true},
			"others/u1/notes/n": {"x": true}, "notes/u1": {"x": true}, "users/u1/photos/p": {"x": true},
			"posts/other": {"authorId": "u12"}, "posts/prefix": {"authorId": "u"}, "posts/elsewhere": {"authorId": ref("admins/u1")}, "posts/path": {"authorId": "users/u1"},
			"posts/list": {"authorId": array{"u1"}}, "posts/held": {"authorId": "u1"}, "postHolds/held": {"x": true}, "postHolds/u1": {"x": true}, "posts/flag": {"authorId": "u1", "hold": true},
			"posts/odd": {"authorId": "u1", "hold": "yes"}, "comments/c2": {"post": "other"}, "comments/c3": {"post": "held"}, "comments/c4": {"author": "u1"},
			"members/m": {"uid": "u1"}, "teams/x/rooms/r/members/m": {"uid": "u1"}, "rooms/r/members/y": {"uid": "u12"}, "rooms/r/keys/u12": {"x": true}, "keys/u1": {"x": true},
			"chats/two": {"people": array{"u1", "u12"}}, "chats/two/m/1": {"x": true}, "chats/odd": {"people": array{"u1", int64(0)}}, "chats/none": {"people": array{}},
			"grants/two": {"holders": fields{"u1": true, "u12": true}}, "grants/below": {"holders": fields{"u12": fields{"u1": true}}},
			"votes/v2": {"by": "u12"}, "tickets/t2": {"from": fields{"uid": "u12"}}, "oldTickets/o2": {"from": fields{"uid": "u12"}}, "oldTickets/o2/lines/1": {"x": true},
			"oldCards/u12": {"x": true}, "oldCards/u1@home": {"x": true}, "oldCards/u1A": {"x": true}, "oldCards/u12@2026-01-02T03:04:05.6Z": {"x": true},
			"oldCards/u1@2026-01-02T03:04:05.600Z": {"x": true}, "logs/u1": {"at": far, "uid": "u1"}, "legalHolds/u12": {"x": true},
		},
		before:  map[string]fields{"teams/shared": {"owners": fields{"u1": true, "u12": true}}, "votes/v": {"by": "u1"}, "clubs/c": {"m": array{"u1", "u12"}}},
		after:   map[string]fields{"teams/shared": {"owners": fields{"u12": true}}, "votes/v": {"by": nil}, "clubs/c": {"m": array{"u12"}}},
		objects: []string{"users/u1/a.png", "users/u1/b/c.png", "users/u12/a.png", "users/u1.png", "u1/a.png"},
		left:    []string{"u1/a.png", "users/u1.png", "users/u12/a.png"},
	}
}

// load puts all of it into the project.
func (w forgotten) load(f *enginetest.Function, t testing.TB) {
	for _, some := range []map[string]fields{w.gone, w.stays, w.before} {
		for path, data := range some {
			f.Set(t, path, data)
		}
	}
	for _, object := range w.objects {
		f.Put(t, object, nil, nil)
	}
	for _, uid := range []string{"u1", "u12", "u", "U1"} {
		f.Import(t, new(auth.UserToImport).UID(uid))
	}
}

// left returns the paths of all documents but the bundle's own, and their fields.
func left(f *enginetest.Function, t testing.TB) map[string]fields {
	all := map[string]fields{}
	for _, d := range f.All(t) {
		_, path, _ := strings.Cut(d.Ref.Path, "/documents/")
		if !strings.HasPrefix(path, "cleanup") {
			all[path] = d.Data()
		}
	}
	return all
}

// TestForget: all that is the user's goes, by what every rule says of accounts, and nothing else does; the second time finds nothing.
func TestForget(t *testing.T) {
	t.Parallel()
	f := enginetest.New(t, forgetting(t, rulesOf(t, userOne(nil, t).rules...)))
	f.Indexes, f.Now = groups, now
	w := userOne(f, t)
	w.load(f, t)
	before := left(f, t)
	preview := f.Run(t, `{"dryRun":true}`)
	enginetest.Want(t, "after a preview", before, left(f, t))
	rep := f.Run(t, "")
	if rep.Status != report.Completed || rep.Done() != len(preview.Plan) {
		t.Fatalf("%s, %d done of %d, %+v", rep.Status, rep.Done(), len(preview.Plan), rep.Failures)
	}
	want := maps.Clone(w.stays)
	maps.Copy(want, w.after)
	enginetest.Want(t, "documents", want, left(f, t))
	enginetest.Want(t, "objects", w.left, f.Objects(t))
	enginetest.Want(t, "accounts", []string{"U1", "u", "u12"}, f.Accounts(t))
	enginetest.Want(t, "kept", map[string]int{
		"posts: postHolds/{id} exists": 1, "posts: hold is true": 1, "posts: hold has another type, so it is unknown whether hold is true": 1,
		"rooms/{room}/members: in another place of that name": 2,
		"chats: {people[]} does not name this user alone":     2, "clubs: {m[]} does not name this user alone": 1, "grants: {holders.*} does not name this user alone": 1,
	}, rep.Kept)
	if again := f.Run(t, ""); again.Status != report.Completed || len(again.Actions) != 0 {
		t.Errorf("the second time: %s, %v", again.Status, again.Actions)
	}
}

// TestForgetConforms proves what the engine promises of every job: among it lost answers, contention, kills and undo, bit for bit.
func TestForgetConforms(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t, userOne(nil, t).rules...)
	enginetest.Conformance{Now: now, Indexes: groups, Function: func() *engine.Function { return forgetting(t, rules) },
		Load: func(t testing.TB, f *enginetest.Function) { userOne(nil, t).load(f, t) }}.Prove(t)
}

// TestForgetKeeps what exceptions keep, and the account with it where it depends on that.
func TestForgetKeeps(t *testing.T) {
	t.Parallel()
	const (
		users = `"collection":"users","age":"any","unless":[{"document":"legalHolds/{id}"}],"with":[{"subcollection":"**"},{"account":"{id}"}]`
		notes = `"collection":"users/{uid}/notes","age":"any","gone":[{"account":"{uid}"}],"unless":[{"field":"hold","==":true}]`
		posts = `"collection":"posts","age":"any","gone":[{"account":"{by}"}],"unless":[{"document":"legalHolds/{by}"}]`
		all   = `"accounts":"disabled","age":{"by":"creationTime","days":30},"unless":[{"document":"staff/{uid}"}]`
		gift  = `"collection":"gifts","age":"any","gone":[{"account":"{from}"}],"unless":[{"account":"{to}"}]`
	)
	for name, tt := range map[string]struct {
		rules     []string
		documents map[string]fields
		left      []string // of them
		account   bool     // stays
		kept      []string
	}{
		"nothing": {rules: []string{users}, documents: map[string]fields{"users/u1": {}, "users/u1/a/b": {}, "legalHolds/x": {}}, left: []string{"legalHolds/x"}},
		"the user under hold": {rules: []string{users}, documents: map[string]fields{"users/u1": {}, "users/u1/a/b": {}, "legalHolds/u1": {}},
			left: []string{"legalHolds/u1", "users/u1", "users/u1/a/b"}, account: true, kept: []string{"users: legalHolds/{id} exists"}},
		"a hold below the user": {rules: []string{users, notes},
			documents: map[string]fields{"users/u1": {}, "users/u1/notes/held": {"hold": true}, "users/u1/notes/n": {}, "legalHolds/x": {}},
			left:      []string{"legalHolds/x", "users/u1", "users/u1/notes/held"}, account: true,
			kept: []string{"users/{uid}/notes: hold is true", "users: a document that goes along with it is kept"}},
		"a hold of what the user wrote": {rules: []string{posts}, documents: map[string]fields{"posts/p": {"by": "u1"}, "legalHolds/u1": {}},
			left: []string{"legalHolds/u1", "posts/p"}, account: true, kept: []string{"account: legalHolds/{by} exists", "posts: legalHolds/{by} exists"}},
		"a hold of what is archived": {rules: []string{`"collection":"rooms/{room}/tickets","age":"any","gone":[{"account":"{by}"}],
				"unless":[{"document":"legalHolds/{id}"},{"document":"{parent}/holds/{id}"},{"collection":"cases","field":"ticket"}],"archive":"old/{room}/tickets"`},
			documents: map[string]fields{"old/r/tickets/t1": {"by": "u1"}, "old/r/tickets/t1@2026-01-02T03:04:05.6Z": {"by": "u1"}, "legalHolds/t1": {},
				"old/r/tickets/t2@2026-01-02T03:04:05.6Z": {"by": "u1"}, "rooms/r/holds/t2": {}, "old/r/tickets/t3@2026-01-02T03:04:05.6Z": {"by": "u1"},
				"cases/c": {"ticket": "t3"}, "old/r/tickets/t4": {"by": "u1"}, "old/r/tickets/t4@2026-01-02T03:04:05.6Z": {"by": "u1"}},
			left: []string{"cases/c", "legalHolds/t1", "old/r/tickets/t1", "old/r/tickets/t1@2026-01-02T03:04:05.6Z",
				"old/r/tickets/t2@2026-01-02T03:04:05.6Z", "old/r/tickets/t3@2026-01-02T03:04:05.6Z", "rooms/r/holds/t2"},
			kept: []string{"old/{room}/tickets: a document of cases whose ticket names it exists", "old/{room}/tickets: legalHolds/{id} exists",
				"old/{room}/tickets: {parent}/holds/{id} exists"}},
		"another's hold": {rules: []string{posts}, documents: map[string]fields{"posts/p": {"by": "u1"}, "legalHolds/u12": {}}, left: []string{"legalHolds/u12"}},
		"the account's own exception": {rules: []string{all, posts}, documents: map[string]fields{"posts/p": {"by": "u1"}, "legalHolds/x": {}, "staff/u1": {}},
			left: []string{"legalHolds/x", "staff/u1"}, account: true, kept: []string{"account: staff/{uid} exists"}},
		"two rules for one place": {
			rules: []string{`"collection":"users","age":"any","with":[{"subcollection":"a"},{"account":"{id}"}]`,
				`"collection":"users","age":"any","unless":[{"field":"staff","==":true}],"with":[{"subcollection":"b"},{"account":"{id}"}]`},
			documents: map[string]fields{"users/u1": {}, "users/u1/a/x": {}, "users/u1/b/x": {}, "users/u12": {}}, left: []string{"users/u12"}},
		"two rules for one place, of which one keeps": {
			rules: []string{`"collection":"users","age":"any","with":[{"subcollection":"a"},{"account":"{id}"}]`,
				`"collection":"users","age":"any","unless":[{"field":"staff","==":true}],"with":[{"account":"{id}"}]`},
			documents: map[string]fields{"users/u1": {"staff": true}, "users/u1/a/x": {}}, left: []string{"users/u1", "users/u1/a/x"}, account: true,
			kept: []string{"users: staff is true"}},
		"a hold of what goes along": {
			rules:     []string{`"collection":"members","age":"any","with":[{"collection":"posts","field":"by"},{"account":"{id}"}]`, strings.ReplaceAll(posts, "legalHolds", "members")},
			documents: map[string]fields{"members/u1": {}, "posts/a": {"by": "members/u1"}, "posts/b": {"by": "u1"}, "posts/c": {"by": "u12"}},
			left:      []string{"members/u1", "posts/a", "posts/b", "posts/c"}, account: true,
			kept: []string{"members: a document that goes along with it is kept", "posts: members/{by} exists"}},
		"what goes along with another's document": {
			rules: []string{`"collection":"users","age":"any","gone":[{"account":"{owner}"}],"with":[{"collection":"gifts","field":"from"}]`,
				`"collection":"gifts","age":"any","gone":[{"account":"{from}"}]`},
			documents: map[string]fields{"users/shop": {"owner": "u1"}, "gifts/a": {"from": "shop"}, "gifts/b": {"from": "u1"}, "gifts/c": {"from": "u12"}},
			left:      []string{"gifts/c"}},
		"a collection and the group of its name": {
			rules: []string{`"collection":"notes","age":"any","gone":[{"account":"{by}"}],"with":[{"subcollection":"a"}]`,
				`"collectionGroup":"notes","age":"any","gone":[{"account":"{by}"}],"unless":[{"field":"hold","==":true}],"with":[{"collection":"likes","field":"of"}]`},
			documents: map[string]fields{"notes/n": {"by": "u1"}, "notes/n/a/x": {}, "notes/held": {"by": "u1", "hold": true}, "x/y/notes/n": {"by": "u1"},
				"x/y/notes/n/a/x": {}, "x/y/notes/held": {"by": "u1", "hold": true}, "likes/l": {"of": "n"}},
			left: []string{"likes/l", "notes/held", "x/y/notes/held", "x/y/notes/n/a/x"}, kept: []string{"notes: hold is true"}},
		"a place whose path names a user, and the group of its name": {
			rules: []string{`"collection":"users/{userId}/comments","age":"any","gone":[{"account":"{userId}"}]`,
				`"collectionGroup":"comments","age":"any","gone":[{"account":"{userId}"}]`},
			documents: map[string]fields{"users/u12/comments/mine": {"userId": "u1"}, "users/u12/comments/own": {"userId": "u12"}, "users/u1/comments/c": {}},
			left:      []string{"users/u12/comments/own"}},
		"an exception with a prefix": {rules: []string{strings.Replace(all, "staff/{uid}", "staff/x{uid}", 1)}, documents: map[string]fields{"staff/xu1": {}},
			left: []string{"staff/xu1"}, account: true, kept: []string{"account: staff/x{uid} exists"}},
		"only an account": {rules: []string{all}, documents: map[string]fields{"staff/x": {}, "users/u1": {}}, left: []string{"staff/x", "users/u1"}},
		"who else has an account": {rules: []string{gift}, documents: map[string]fields{"gifts/a": {"from": "u1", "to": "u12"}, "gifts/b": {"from": "u1", "to": "gone"}, "gifts/c": {"from": "u1", "to": "u1"}},
			left: []string{"gifts/a"}, kept: []string{"gifts: account {to} exists"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := enginetest.New(t, forgetting(t, rulesOf(t, tt.rules...)))
			f.SignUp(t, "u1", "u12")
			for path, data := range tt.documents {
				f.Set(t, path, data)
			}
			rep := f.Run(t, "")
			for kind, n := range rep.Actions {
				enginetest.Want(t, kind+", planned, done", n.Planned, n.Done)
			}
			if rep.Status != report.Completed {
				t.Fatalf("%s, %+v", rep.Status, rep.Failures)
			}
			enginetest.Want(t, "documents", tt.left, slices.Sorted(maps.Keys(left(f, t))))
			enginetest.Want(t, "kept", tt.kept, slices.Sorted(maps.Keys(rep.Kept)))
			accounts := []string{"u12"}
			if tt.account {
				accounts = []string{"u1", "u12"}
			}
			enginetest.Want(t, "accounts", accounts, f.Accounts(t))
		})
	}
}

// TestForgetAlongOnce: what several rules take along goes once, by whatever any of them names it: a group's by references alone.
func TestForgetAlongOnce(t *testing.T) {
	t.Parallel()
	const (
		users    = `"collection":"users","age":"any","with":[`
		along    = `{"subcollection":"**"},{"collection":"posts","field":"by","with":[{"subcollection":"likes"}]}`
		account  = `{"account":"{id}"}`
		requests = `"collection":"teams/{team}/requests","age":"any","gone":[{"account":"{by}"}]`
		group    = `"collectionGroup":"requests","age":"any","gone":[{"account":"{by}"}]`
		parent   = `,"with":[{"document":"{parent}/a/{id}"},{"document":"{parent}","with":[{"collection":"posts","field":"team"},{"collection":"lists","field":"of[]","remove":true}]}]`
		notes    = `"collection":"notes","age":"any","gone":[{"account":"{by}"}]`
		likes    = `,"with":[{"collection":"likes","field":"of"}]`
	)
	for name, tt := range map[string]struct {
		rules  []string
		writes []string // of the first that is planned
		listed int      // left in the list
	}{
		"two rules in another order": {[]string{users + along + "," + account + "]", users + account + "," + along + "]"}, []string{
			"delete users/u1/a/x", "delete posts/p/likes/l", "delete posts/p", "delete users/u1", "delete account u1"}, 2},
		"a group":                    {[]string{requests, group + parent}, []string{"update lists/l", "delete teams/u12/a/r", "delete posts/team", "delete teams/u12", "delete teams/u12/requests/r"}, 1},
		"a group and the collection": {[]string{requests + parent, group + parent}, []string{"update lists/l", "delete teams/u12/a/r", "delete posts/team", "delete posts/text", "delete teams/u12", "delete teams/u12/requests/r"}, 0},
		"a group of the top level":   {[]string{notes, strings.Replace(notes, "collection", "collectionGroup", 1) + likes}, []string{"delete likes/ref", "delete notes/n"}, 2},
		"a group and its top level":  {[]string{notes + likes, strings.Replace(notes, "collection", "collectionGroup", 1) + likes}, []string{"delete likes/ref", "delete likes/text", "delete notes/n"}, 2},
		"a group and what another finds": {[]string{users + `{"collection":"notes","field":"by"` + likes + `},{"account":"{id}"}]`, notes, strings.Replace(notes, "collection", "collectionGroup", 1) + likes},
			[]string{"delete likes/ref", "delete likes/text", "delete notes/n"}, 2},
	} {
		f := enginetest.New(t, forgetting(t, rulesOf(t, tt.rules...)))
		f.SignUp(t, "u1")
		doc := f.Firestore(t).Doc
		for path, data := range map[string]fields{
			"users/u1": {}, "users/u1/a/x": {}, "posts/p": {"by": "u1"}, "posts/p/likes/l": {}, "notes/n": {"by": "u1"}, "likes/text": {"of": "n"}, "likes/ref": {"of": doc("notes/n")},
			"teams/u12": {}, "teams/u12/requests/r": {"by": "u1"}, "teams/u12/a/r": {}, "posts/text": {"team": "u12"}, "posts/team": {"team": doc("teams/u12")}, "posts/user": {"team": doc("users/u12")},
			"lists/l": {"of": array{"u12", doc("teams/u12")}},
		} {
			f.Set(t, path, data)
		}
		enginetest.Want(t, name, tt.writes, f.Run(t, `{"dryRun":true}`).Plan[0].Writes)
		enginetest.Want(t, name+", status", report.Completed, f.Run(t, "").Status)
		enginetest.Want(t, name+", list", tt.listed, len(left(f, t)["lists/l"]["of"].(array)))
	}
}

// TestForgetAll: a user may have more than may go because of one id that does not exist.
func TestForgetAll(t *testing.T) {
	t.Parallel()
	f := enginetest.New(t, forgetting(t, rulesOf(t,
		`"collection":"posts","age":"any","gone":[{"document":"users/{by}"},{"account":"{by}"}]`)))
	f.Env["MAX_PER_OWNER"] = "4"
	f.Set(t, "users/u12", fields{"x": true})
	f.SetMany(t, 5, func(i int) (string, fields) { return fmt.Sprintf("posts/p%d", i), fields{"by": "u1"} })
	for _, request := range []string{`{"dryRun":true}`, ""} {
		enginetest.Want(t, "status", report.Completed, f.Run(t, request).Status)
	}
	enginetest.Want(t, "left", 0, len(f.IDs(t, "posts")))
}

// TestForgetAnAddress: a uid may look like one, with what a copy's place in an archive is told by.
func TestForgetAnAddress(t *testing.T) {
	t.Parallel()
	const uid, at = "ken@example.com", "@2026-01-02T03:04:05.6Z"
	f := enginetest.New(t, forgettingUser(t, uid, rulesOf(t, `"collection":"cards","age":"any","gone":[{"account":"{id}"}],"archive":"oldCards"`)))
	for _, id := range []string{uid, uid + at, "ken", "ken" + at, uid + "x" + at, uid + at + at} {
		f.Set(t, "cards/"+id, fields{})
		f.Set(t, "oldCards/"+id, fields{})
	}
	f.Run(t, "")
	enginetest.Want(t, "cards", []string{"ken", "ken" + at, uid + at, uid + at + at, uid + "x" + at}, f.IDs(t, "cards"))
	enginetest.Want(t, "copies", []string{"ken", "ken" + at, uid + at + at, uid + "x" + at}, f.IDs(t, "oldCards"))
}

// TestForgetOfAChange: what is another's by the time of the commit, or held since the plan, stays.
func TestForgetOfAChange(t *testing.T) {
	t.Parallel()
	f := enginetest.New(t, forgetting(t, rulesOf(t,
		`"collection":"posts","age":"any","gone":[{"account":"{by}"}],"unless":[{"document":"holds/{id}"}]`,
		`"collection":"things","age":"any","gone":[{"account":"{by}"}]`,
		`"collection":"cards","age":"any","gone":[{"account":"{id}"}],"with":[{"subcollection":"a"}]`)))
	f.SignUp(t, "u1")
	for _, path := range []string{"posts/given", "posts/held", "posts/gone", "posts/mine", "things/given", "things/mine"} {
		f.Set(t, path, fields{"by": "u1"})
	}
	f.Set(t, "holds/x", fields{})
	f.Set(t, "cards/u1", fields{})
	f.Set(t, "cards/u1/a/x", fields{})
	f.Hooks.BeforeApply = func() {
		f.Set(t, "posts/given", fields{"by": "u12"})
		f.Set(t, "things/given", fields{"by": "u12"})
		f.Set(t, "holds/held", fields{})
		f.Delete(t, "posts/gone")
		f.Delete(t, "cards/u1")
	}
	rep := f.Run(t, "")
	enginetest.Want(t, "documents", []string{"cards/u1/a/x", "holds/held", "holds/x", "posts/given", "posts/held", "things/given"}, slices.Sorted(maps.Keys(left(f, t))))
	enginetest.Want(t, "documents' counts", report.Counts{Planned: 7, Done: 2, Changed: 5}, rep.Actions["delete document"])
}

// TestForgetFailsClosed: where nobody can tell what is the user's, or what keeps it, nothing is done.
func TestForgetFailsClosed(t *testing.T) {
	t.Parallel()
	const posts = `"collection":"posts","age":"any","gone":[{"account":"{by}"}],"unless":[{"document":"legalHolds/{by}"}]`
	for name, tt := range map[string]struct {
		rules   []string
		tenants bool
		says    string
	}{
		"no hold at all":       {rules: []string{posts}, says: "legalHolds"},
		"no hold of documents": {rules: []string{strings.Replace(posts, "legalHolds/{by}", "legalHolds/{id}", 1)}, says: "legalHolds"},
		"no hold of accounts":  {rules: []string{`"accounts":"all","age":{"by":"creationTime","days":30},"unless":[{"document":"staff/{uid}"}]`}, says: "staff"},
		"tenants":              {rules: []string{`"collection":"posts","age":"any","gone":[{"account":"{by}"}]`}, tenants: true, says: "the project allows tenants"},
		"too much to look through": {rules: []string{`"collection":"rooms/{room}/keys","age":"any","maxReads":2,"gone":[{"account":"{id}"}]`},
			says: "more than 2 documents of rooms/{room}/keys must be read"},
	} {
		f := enginetest.New(t, forgetting(t, rulesOf(t, tt.rules...)))
		if tt.tenants {
			f.AllowTenants(t)
		} else {
			f.SignUp(t, "u1")
		}
		for _, path := range []string{"posts/p", "rooms/a/keys/u0", "rooms/a/keys/u1", "rooms/a/keys/u2"} {
			f.Set(t, path, fields{"by": "u1"})
		}
		before := left(f, t)
		rep := f.Run(t, "")
		if rep.Status != report.Failed && rep.Status != report.Aborted || len(rep.Failures) == 0 || !strings.Contains(rep.Failures[0].Error, tt.says) {
			t.Errorf("%s: %s, %+v", name, rep.Status, rep.Failures)
		}
		enginetest.Want(t, name, before, left(f, t))
	}
	one := rulesOf(t, posts)
	for _, uid := range []string{"", "a/b", " u1", "u1 ", ".", "..", "__x__", "null", "undefined", strings.Repeat("x", 129), "\xff"} {
		if _, err := declared.Forget("forget1", uid, one); err == nil || !strings.Contains(err.Error(), "is no uid") {
			t.Errorf("%q: %v", uid, err)
		}
	}
	for text, says := range map[string]string{
		`"collection":"posts","age":"any"`:                                                                                 "no rule says whose anything is",
		`"collection":"posts","age":"any","gone":[{"account":"{a}-{b}"}]`:                                                  "posts: account {a}-{b} cannot be turned round",
		`"collection":"posts","age":"any","where":[{"field":"x","is":"missing"}],"gone":[{"account":"{a}"}],"set":{"x":1}`: "posts: set leaves {a}",
	} {
		if _, err := declared.Forget("forget1", "u1", rulesOf(t, text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestForgetAlongWithAccounts: what goes with accounts goes, unless something keeps the account.
func TestForgetAlongWithAccounts(t *testing.T) {
	t.Parallel()
	all := rulesOf(t, `"accounts":"disabled","age":{"by":"creationTime","days":30},"unless":[{"document":"staff/{uid}"},{"field":"claims.admin","==":true}]`)
	all[0].With = []rule.Relation{{Document: "users/{uid}", With: []rule.Relation{{Subcollection: "prefs"}}}}
	for name, tt := range map[string]struct {
		staff string
		admin bool
		left  int
		kept  []string
	}{
		"it goes":                 {"staff/u12", false, 2, nil},
		"a document keeps it":     {"staff/u1", false, 4, []string{"account: staff/{uid} exists", "users: staff/{id} exists"}},
		"the account's own field": {"staff/u12", true, 4, []string{"account: claims.admin is true"}},
	} {
		f := enginetest.New(t, forgetting(t, all))
		f.Import(t, new(auth.UserToImport).UID("u1").CustomClaims(fields{"admin": tt.admin}))
		for _, path := range []string{"users/u1", "users/u1/prefs/p", "users/u12", tt.staff} {
			f.Set(t, path, fields{})
		}
		rep := f.Run(t, "")
		enginetest.Want(t, name+", documents", tt.left, len(left(f, t)))
		enginetest.Want(t, name+", accounts", tt.left == 4, len(f.Accounts(t)) == 1)
		enginetest.Want(t, name+", kept", tt.kept, slices.Sorted(maps.Keys(rep.Kept)))
	}
}
