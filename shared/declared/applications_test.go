package declared_test

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// world is data of an application, by path, and what is left of it.
type world struct {
	rule      string   // without name and schedule
	others    []string // other rules of the list
	documents map[string]fields
	changed   map[string]fields // documents that stay, with other fields
	gone      []string          // documents, objects and accounts that go
	objects   []string
	accounts  []string
	old       bool           // the run is two years after the data was written, by whose own times the rule goes
	kept      map[string]int // what the report says of what was kept; nil: nobody looks
}

var (
	far    = now.AddDate(-3, 0, 0)
	recent = now.AddDate(0, 0, -1)
)

// downloadURL stands for the URL by which an application names an object, in the bucket of the test.
type downloadURL string

// reference stands for a reference to a document.
type reference string

// stored returns a value as the application writes it. BUCKET in a text stands for the bucket of the test, and WHOLE
// for what a whole name of a document begins with.
func stored(t *testing.T, f *enginetest.Function, value any) any {
	t.Helper()
	switch v := value.(type) {
	case reference:
		return f.Firestore(t).Doc(string(v))
	case downloadURL:
		name := url.PathEscape(string(v))
		return "https://firebasestorage.googleapis.com:443/v0/b/" + f.Bucket + "/o/" + name + "?alt=media&token=0c7d"
	case string:
		whole := strings.TrimSuffix(f.Firestore(t).Doc("a/b").Path, "/a/b")
		return strings.NewReplacer("BUCKET", f.Bucket, "WHOLE", whole).Replace(v)
	case fields:
		all := fields{}
		for key, one := range v {
			all[key] = stored(t, f, one)
		}
		return all
	case array:
		all := array{}
		for _, one := range v {
			all = append(all, stored(t, f, one))
		}
		return all
	}
	return value
}

// run runs a rule on the data, after a preview. It wants all to be left but what is said to be gone or changed, and returns
// the report and the function.
func (w world) run(t *testing.T, rule fields) (*report.Report, *enginetest.Function) {
	t.Helper()
	e := entry(t, rule, w.others...)
	f := enginetest.New(t, newFunction(t, e))
	if f.Indexes, f.Now = e.Indexes, now; w.old {
		f.Now = time.Now().AddDate(2, 0, 0)
		f.Clock = func() time.Time { return f.Now }
	}
	for path, data := range w.documents {
		f.Set(t, path, stored(t, f, data).(fields))
	}
	for _, object := range w.objects {
		f.Put(t, object, nil, nil)
	}
	for _, uid := range w.accounts {
		user := new(auth.UserToImport).UID(uid).Metadata(&auth.UserMetadata{CreationTimestamp: far.UnixMilli()})
		if uid == "unverified" {
			user.Email(uid + "@example.com").PasswordHash([]byte("hash"))
		}
		f.Import(t, user)
	}
	before := f.Everything(t)
	want := maps.Clone(before)
	for path, data := range w.changed {
		want[path] = stored(t, f, data)
	}
	for _, name := range w.gone {
		if slices.Contains(w.objects, name) {
			name = "gs://" + f.Bucket + "/" + name
		}
		if _, there := want[name]; !there {
			t.Fatalf("%s was never there", name)
		}
		delete(want, name)
	}
	f.Run(t, `{"dryRun":true}`)
	rep := f.Run(t, "")
	left := f.Everything(t)
	maps.DeleteFunc(left, func(name string, _ any) bool {
		_, was := before[name]
		return !was // it is the run's own, or a message
	})
	enginetest.Want(t, "left", want, left)
	return rep, f
}

// TestApplications runs the cleanups that owners of real applications want on data as those applications write it.
func TestApplications(t *testing.T) {
	t.Parallel()
	iso := func(at time.Time) string { return at.Format(time.RFC3339) }
	over := now.AddDate(0, 0, -30).Add(-36*time.Hour - time.Second) // on the last day that was over everywhere 30 days ago
	with := `"with":[{"subcollection":"prefs"},{"document":"deletionQueue/{id}"},{"document":"duplicateTeams/{id}"},
		{"collection":"teams","field":"owners.{id}","remove":true},{"collection":"templates","field":"owners.{id}","remove":true},{"account":"{id}"}]`
	const ofProducts = `"objects":"p/**","age":{"days":1},"gone":[{"collection":"products","field":"image"}]`
	const ofDots = `"collection":"drafts","age":[{"field":"at","days":9},{"field":"meta.seenAt","days":9,"optional":true}],
		"where":[{"field":"state.a.published","is":"not true"}],"unless":[{"field":"hold.on","==":true}]`
	dots := map[string]fields{
		"drafts/where": {"at": old, "state.a.published": true}, "drafts/whereBelow": {"at": old, "state": fields{"a.published": true}},
		"drafts/whereAbove": {"at": old, "state.a": fields{"published": true}}, "drafts/unless": {"at": old, "hold.on": true},
		"drafts/age": {"at": old, "meta.seenAt": now}, "drafts/ageBoth": {"at": old, "meta": fields{"seenAt": old}, "meta.seenAt": now},
		"drafts/due": {"at": old, "state": fields{"a": fields{"published": false}}, "hold": fields{"on": false},
			"meta": fields{"seenAt": old}, "state.b": true, "a.published": true},
		"drafts/age/x/y": {"x": true},
	}
	scout := map[string]fields{
		"users/guest": {"email": nil, "phoneNumber": nil, "lastLogin": far}, "users/guest/prefs/p": {"a": true},
		"users/hana": {"email": "hana@example.com", "phoneNumber": nil, "lastLogin": far}, "users/hana/prefs/p": {"a": true},
		"users/young": {"email": nil, "phoneNumber": nil, "lastLogin": recent}, "users/odd": {"phoneNumber": nil, "lastLogin": far},
		"deletionQueue/guest": {"x": int64(1)}, "deletionQueue/hana": {"x": int64(1)},
		"teams/shared": {"owners": fields{"guest": far, "hana": far}}, "teams/other": {"owners": fields{"hana": far, "guestx": far}},
		"duplicateTeams/others": {"x": int64(1)}, "templates/others": {"owners": fields{"others": far}},
	}
	for name, tt := range map[string]world{
		"1 guests, with what they share": {rule: `"collection":"users","where":[{"field":"email","==":null},{"field":"phoneNumber","==":null}],
			"age":{"field":"lastLogin","days":45},` + with, documents: scout,
			gone:     []string{"users/guest", "users/guest/prefs/p", "deletionQueue/guest", "account guest"},
			changed:  map[string]fields{"teams/shared": {"owners": fields{"hana": far}}},
			accounts: []string{"guest", "hana"}},
		"1 teams of nobody, with all below": {rule: `"collection":"teams","where":[{"field":"owners","is":"empty"}],
			"age":{"by":"updateTime","days":1},"with":[{"subcollection":"**"}]`, old: true,
			documents: map[string]fields{
				"teams/nobodys": {"owners": fields{}}, "teams/nobodys/scouts/s": {"n": int64(1)}, "teams/nobodys/scouts/s/metrics/m": {"n": int64(1)},
				"teams/nobodys/notes/n": {"n": int64(1)}, "teams/nobodys/days/none/messages/m": {"n": int64(1)},
				"teams/nobodys/days/none/messages/m/none/none/none/x": {"n": int64(1)}, "teams/nobodys2/days/none/messages/m": {"n": int64(1)},
				"others/nobodys/days/d": {"n": int64(1)}, "teams/hanas": {"owners": fields{"hana": far}}, "teams/hanas/scouts/s": {"n": int64(1)},
				"teams/odd": {"owners": int64(0)}, "teams/none": {"x": true},
			},
			gone: []string{"teams/nobodys", "teams/nobodys/scouts/s", "teams/nobodys/scouts/s/metrics/m", "teams/nobodys/notes/n",
				"teams/nobodys/days/none/messages/m", "teams/nobodys/days/none/messages/m/none/none/none/x"}},
		"2 users away for a year": {rule: `"collection":"users","age":{"field":"lastLogin","days":365},"maxDuePercent":100,` + with, documents: scout,
			gone: []string{"users/guest", "users/guest/prefs/p", "deletionQueue/guest", "users/hana", "users/hana/prefs/p", "deletionQueue/hana",
				"users/odd", "account guest", "account hana"},
			changed:  map[string]fields{"teams/shared": {"owners": fields{}}, "teams/other": {"owners": fields{"guestx": far}}},
			accounts: []string{"guest", "hana", "ken"}},
		"5 puzzles, plays and same id": {rule: `"collection":"c","where":[{"field":"del","==":true}],"age":{"by":"updateTime","days":7},
			"with":[{"collection":"p","field":"c"},{"document":"s/{id}"}]`, old: true,
			documents: map[string]fields{"c/x": {"del": true}, "c/y": {"del": false}, "p/x-u": {"c": "x"}, "p/y-u": {"c": "y"}, "s/x": {"n": int64(1)}, "s/y": {"n": int64(1)}},
			gone:      []string{"c/x", "p/x-u", "s/x"}},
		"7 invites unanswered": {rule: `"collection":"projects-invites","where":[{"field":"status","==":"new"}],"age":{"by":"createTime","days":30}`, old: true,
			documents: map[string]fields{"projects-invites/a": {"status": "new"}, "projects-invites/b": {"status": "completed"}}, gone: []string{"projects-invites/a"}},
		"9 events not used": {rule: `"collection":"projects","age":[{"by":"updateTime","months":1},
			{"field":"apiKeyLastUsedAt","as":"text","months":24,"optional":true}],
			"unless":[{"subcollection":"userVotes","within":{"field":"updatedAt","months":24}}],"with":[{"subcollection":"**"}]`, old: true,
			documents: map[string]fields{
				"projects/unused": {"name": "a"}, "projects/unused/talks/t": {"x": true}, "projects/unused/userVotes/v": {"updatedAt": far},
				"projects/key-text": {"apiKeyLastUsedAt": iso(now.AddDate(1, 11, 0))}, "projects/old-text": {"apiKeyLastUsedAt": iso(far)},
				"projects/key-time": {"apiKeyLastUsedAt": now.AddDate(1, 0, 0)}, "projects/odd": {"apiKeyLastUsedAt": true},
				"projects/voted": {"name": "b"}, "projects/voted/userVotes/v": {"updatedAt": now.AddDate(1, 0, 0)},
				"projects/odd-vote": {"name": "c"}, "projects/odd-vote/userVotes/v": {"updatedAt": int64(5)},
			},
			gone: []string{"projects/unused", "projects/unused/talks/t", "projects/unused/userVotes/v", "projects/old-text"}},
		"13 product images that no product names": {rule: `"objects":"products/**","age":{"days":2},
			"gone":[{"collection":"products","field":"image"},{"collection":"products","field":"imageCollection[].url"}]`, old: true,
			documents: map[string]fields{
				"products/a": {"image": downloadURL("products/a"), "imageCollection": array{fields{"id": "x1", "url": downloadURL("products/x1")},
					fields{"id": "x2", "url": downloadURL("products/x2")}}},
				"products/b": {"image": downloadURL("products/b.png"), "imageCollection": array{}}, "products/d": {"image": "", "imageCollection": nil},
			},
			objects: []string{"products/a", "products/x1", "products/x2", "products/b.png", "products/b_200x200.webp", "products/c", "products/x3",
				"products/bb.png", "users/x3"},
			gone: []string{"products/c", "products/x3", "products/bb.png"}},
		"14 people who never verified": {rule: `"accounts":"unverified","age":{"by":"creationTime","days":30},"maxDuePercent":100,
			"with":[{"document":"users/{uid}","with":[{"subcollection":"orders"}]}]`, old: true,
			documents: map[string]fields{"users/unverified": {"dateJoined": "Mon, 02 Jan 2023 10:00:00 GMT"}, "users/unverified/orders/o": {"n": int64(1)},
				"users/unverified/notes/n": {"n": int64(1)}, "users/hana": {"dateJoined": "Mon, 02 Jan 2023 10:00:00 GMT"}, "users/hana/orders/o": {"n": int64(1)},
				"users/nobody": {"dateJoined": ""}},
			gone:     []string{"users/unverified", "users/unverified/orders/o", "account unverified"},
			accounts: []string{"hana", "unverified"}},
		"19 media of chats": {rule: `"objects":"chats/{chat}/images/**","age":{"days":180},"gone":"nobody"`, old: true,
			objects: []string{"chats/a/images/x.png", "chats/a/icon.png", "chats/a/images/2/y.png"}, gone: []string{"chats/a/images/x.png", "chats/a/images/2/y.png"}},
		"21 chats silent for a year": {rule: `"collection":"chats","age":{"by":"createTime","months":12},
			"unless":[{"subcollection":"messages","within":{"field":"createAt","months":12}}],
			"with":[{"subcollection":"messages"},{"subcollection":"users","with":[{"document":"user_chats/{id}/{parent}"}]},{"objects":"chats/{id}/**"}]`, old: true,
			documents: map[string]fields{
				"chats/a": {"n": int64(1)}, "chats/a/messages/m": {"createAt": far}, "chats/a/users/hana": {"x": true}, "user_chats/hana/chats/a": {"x": true},
				"user_chats/hana/chats/b": {"x": true}, "chats/b": {"n": int64(1)}, "chats/b/messages/m": {"createAt": now.AddDate(1, 6, 0)}, "chats/b/users/hana": {"x": true},
				"chats/c": {"n": int64(1)}, "chats/c/messages/m": {"createAt": "yesterday"},
			},
			objects: []string{"chats/a/x.png", "chats/b/x.png"},
			gone:    []string{"chats/a", "chats/a/messages/m", "chats/a/users/hana", "user_chats/hana/chats/a", "chats/a/x.png"}},
		"24 matches past": {rule: `"collection":"matches","age":{"field":"matchDate","as":"text","days":30}`,
			documents: map[string]fields{"matches/a": {"matchDate": iso(now.AddDate(0, 0, -31))}, "matches/b": {"matchDate": iso(now.AddDate(0, 0, -29))},
				"matches/exact": {"matchDate": iso(now.AddDate(0, 0, -30))}, "matches/day": {"matchDate": over.AddDate(0, 0, 1).Format(time.DateOnly)},
				"matches/odd": {"matchDate": "Monday"}, "matches/number": {"matchDate": int64(5)}, "matches/time": {"matchDate": far},
				"matches/past-day": {"matchDate": over.Format(time.DateOnly)}},
			gone: []string{"matches/a", "matches/past-day"}},
		"15 baskets": {rule: `"collection":"users","where":[{"field":"basket","is":"not empty"}],"age":{"by":"updateTime","days":90},"set":{"basket":[]}`, old: true,
			documents: map[string]fields{"users/a": {"basket": array{"x"}}, "users/b": {"basket": array{}}, "users/c": {"name": "c"}},
			changed:   map[string]fields{"users/a": {"basket": array{}}}},
		"milliseconds and seconds": {rule: `"collection":"rides","age":{"field":"at","as":"milliseconds","days":30}`,
			documents: map[string]fields{"rides/a": {"at": now.AddDate(0, 0, -31).UnixMilli()}, "rides/b": {"at": now.AddDate(0, 0, -29).UnixMilli()},
				"rides/seconds": {"at": far.Unix()}, "rides/float": {"at": float64(far.UnixMilli()) + 0.5}, "rides/text": {"at": iso(far)}, "rides/time": {"at": far}},
			gone: []string{"rides/a", "rides/float"}},
		"users in several roles": {rule: `"collection":"users","age":{"field":"at","days":30},"with":[{"document":"teams/{team}"},
			{"collection":"teams","field":"roles.owners.{id}","remove":true},{"collection":"teams","field":"roles.members[]","remove":true}]`,
			documents: map[string]fields{"users/ken": {"at": far, "team": "kens"},
				"teams/kens": {"roles": fields{"owners": fields{"ken": true}}},
				"teams/both": {"roles": fields{"owners": fields{"ken": true, "hana": true}, "members": array{"ken", "hana"}}},
				"teams/one":  {"roles": fields{"members": array{"hana", "ken"}}, "n": int64(1)}},
			changed: map[string]fields{"teams/both": {"roles": fields{"owners": fields{"hana": true}, "members": array{"hana"}}},
				"teams/one": {"roles": fields{"members": array{"hana"}}, "n": int64(1)}},
			gone: []string{"users/ken", "teams/kens"}},
		"below an id that ends in a dot": {rule: `"collection":"companies/{company}/employees","age":"any","gone":[{"document":"{parent}"}]`,
			documents: map[string]fields{"companies/Acme Inc.": {"x": true}, "companies/Acme Inc./employees/e": {"x": true},
				"companies/Gone Inc./employees/e": {"x": true}},
			gone: []string{"companies/Gone Inc./employees/e"}},
		"of a uid that nobody can ask for": {rule: `"collection":"notes","age":"any","gone":[{"account":"{userId}"}]`,
			documents: map[string]fields{"notes/long": {"userId": strings.Repeat("花", 43)}, "notes/gone": {"userId": "nobody"}},
			accounts:  []string{"hana"}, gone: []string{"notes/gone"}},
		"of a place of the same id elsewhere": {rule: `"collection":"tenants/acme/drafts","age":"any","with":[{"collection":"comments","field":"draftId"}]`,
			documents: map[string]fields{"tenants/acme/drafts/1": {"x": true}, "tenants/beta/drafts/1": {"x": true}, "comments/beta": {"draftId": "1"}},
			gone:      []string{"tenants/acme/drafts/1"}},
		"teams of the same id elsewhere": {rule: `"collection":"users/{user}/drafts","age":{"field":"at","days":30},"maxDuePercent":100,"with":[{"document":"users/{user}/teams/{team}"}]`,
			documents: map[string]fields{"users/u/drafts/d": {"at": old, "team": "red"}, "users/v/drafts/d": {"at": old, "team": "red"}, "users/u/drafts/o": {"at": now, "team": "red"},
				"users/u/teams/red": {"x": true}, "users/v/teams/red": {"x": true}},
			gone: []string{"users/u/drafts/d", "users/v/drafts/d", "users/v/teams/red"}},
		"avatars of nobody in two collections": {rule: `"objects":"{uid}.*","age":{"days":1},"gone":[{"document":["users/{uid}","admins/{uid}"]}]`, old: true,
			documents: map[string]fields{"users/hana": {"n": int64(1)}, "admins/root": {"n": int64(1)}},
			objects:   []string{"hana.png", "root.png", "root_200x200.png", "ken.png", "deep/ken.png"}, gone: []string{"ken.png"}},
		"pictures at the root of the bucket": {rule: `"objects":"*.jpg","age":{"days":1},"gone":"nobody"`, old: true,
			objects: []string{"a.jpg", "b.png", "deep/a.jpg", "a.jpg.b"}, gone: []string{"a.jpg"}},
		"the whole bucket without metadata": {rule: `"objects":"**","where":[{"field":"metadata","is":"empty"}],"age":{"days":1},"gone":"nobody"`, old: true,
			objects: []string{"a.jpg", "deep/a.jpg"}, gone: []string{"a.jpg", "deep/a.jpg"}},
		"old ids of one chat": {rule: `"collection":"chats/{chat}/users","where":[{"field":"{chat}","startsWith":"tmp-"},{"field":"{id}","!=":"hana"}],"age":"any"`,
			documents: map[string]fields{"chats/tmp-1/users/hana": {"n": int64(1)}, "chats/tmp-1/users/ken": {"n": int64(1)}, "chats/1/users/ken": {"n": int64(1)}},
			gone:      []string{"chats/tmp-1/users/ken"}},
		"avatars, resized and converted": {rule: `"objects":"avatars/{uid}.*","age":{"days":1},"gone":[{"document":"users/{uid}"}]`, old: true,
			documents: map[string]fields{"users/hana": {"n": int64(1)}, "users/sea_10x20": {"n": int64(1)}, "users/ken@example.com": {"n": int64(1)}},
			objects: []string{"avatars/ken@example.com", "avatars/hana.png", "avatars/hana_200x200.png", "avatars/hana.png.webp", "avatars/hana_200x200.png.webp", "avatars/hana",
				"avatars/sea_10x20.png", "avatars/sea_10x20_1x1.png", "avatars/ken@example.com.png", "avatars/ken@example.com_1x1.png", "avatars/null_1x1.png",
				"avatars/gone.png", "avatars/gone_200x200.png", "avatars/gone.png.webp", "avatars/hana_200.png", "avatars/sea.png", "avatars/hana.a.b.png.webp"},
			gone: []string{"avatars/gone.png", "avatars/gone_200x200.png", "avatars/gone.png.webp", "avatars/hana_200.png", "avatars/sea.png", "avatars/hana.a.b.png.webp"}},
		"drafts that say the same in two ways": {rule: `"collection":"drafts","where":[{"field":"state.published","is":"not true"}],
			"age":[{"field":"at","days":30},{"field":"meta.seenAt","days":30,"optional":true}],"unless":[{"field":"hold.on","==":true}]`,
			documents: map[string]fields{"drafts/a": {"at": far}, "drafts/b": {"at": far, "state": nil, "hold": fields{}, "meta": fields{"by": "hana"}},
				"drafts/published": {"at": far, "state": "published"}, "drafts/held": {"at": far, "hold": true}, "drafts/seen": {"at": far, "meta": recent},
				"drafts/young": {"at": now, "hold": fields{"on": false}}},
			gone: []string{"drafts/a", "drafts/b"}},
		"a field named uid": {rule: `"collection":"profiles","age":"any","maxDuePercent":100,"gone":[{"account":"{uid}"}]`,
			documents: map[string]fields{"profiles/a": {"uid": "hana"}, "profiles/b": {"uid": "gone"}, "profiles/hana": {"uid": "gone"},
				"profiles/none": {"x": true}},
			accounts: []string{"hana"}, gone: []string{"profiles/b", "profiles/hana"}},
		"references to ids that repeat": {rule: `"collection":"users/{uid}/notes","age":{"field":"at","days":30},"maxDuePercent":100,
			"with":[{"collection":"likes","field":"of"}]`,
			documents: map[string]fields{
				"users/a/notes/n": {"at": old}, "likes/a": {"of": reference("users/a/notes/n")}, "likes/path-a": {"of": "users/a/notes/n"},
				"users/b/notes/n": {"at": old}, "likes/b": {"of": reference("users/b/notes/n")}, "likes/path-b": {"of": "users/b/notes/n"},
				"users/c/notes/n": {"at": now}, "likes/c": {"of": reference("users/c/notes/n")}, "likes/path-c": {"of": "users/c/notes/n"},
			},
			gone: []string{"users/a/notes/n", "likes/a", "likes/path-a", "users/b/notes/n", "likes/b", "likes/path-b"}},
		"likes and lists of an id that repeats below": {rule: `"collection":"notes","age":{"field":"at","days":30},"maxDuePercent":100,"with":[{"subcollection":"drafts",
			"with":[{"collection":"likes","field":"of"},{"collection":"lists","field":"of[]","remove":true}]}]`,
			documents: map[string]fields{"notes/a": {"at": old}, "notes/a/drafts/n": {}, "notes/b/drafts/n": {}, "likes/id": {"of": "n"}, "likes/ref": {"of": reference("notes/a/drafts/n")},
				"lists/l": {"of": array{"n", reference("notes/a/drafts/n"), "x", "/notes/a/drafts/n"}}},
			changed: map[string]fields{"lists/l": {"of": array{"n", "x"}}}, gone: []string{"notes/a", "notes/a/drafts/n", "likes/ref"}},
		"likes and lists of an id of one collection": {rule: `"collection":"notes","age":{"field":"at","days":30},"maxDuePercent":100,"with":[{"collection":"texts","field":"note",
			"with":[{"collection":"likes","field":"of","with":[{"subcollection":"parts"}]},{"collection":"lists","field":"of[]","remove":true}]}]`,
			documents: map[string]fields{"notes/a": {"at": old}, "texts/n": {"note": "a"}, "likes/id": {"of": "n"}, "likes/id/parts/p": {}, "likes/ref": {"of": reference("texts/n")},
				"lists/l": {"of": array{"n", reference("texts/n"), "x", "/texts/n"}}},
			changed: map[string]fields{"lists/l": {"of": array{"x"}}}, gone: []string{"notes/a", "texts/n", "likes/id", "likes/id/parts/p", "likes/ref"}},
		"an id that programs write by mistake": {rule: `"collection":"notes","age":{"field":"at","days":30},"maxDuePercent":100,"with":[{"collection":"likes","field":"of"},
			{"collection":"lists","field":"of[]","remove":true},{"objects":"files/{id}/**"},{"collection":"texts","field":"note","with":[{"collection":"likes","field":"of"}]}]`,
			documents: map[string]fields{"notes/undefined": {"at": old}, "notes/a": {"at": old}, "texts/undefined": {"note": "a"}, "likes/id": {"of": "undefined"},
				"likes/ref": {"of": reference("notes/undefined")}, "likes/text": {"of": reference("texts/undefined")}, "lists/l": {"of": array{"undefined", reference("notes/undefined")}}},
			objects: []string{"files/undefined/a.png"}, gone: []string{"notes/undefined", "notes/a", "texts/undefined"},
			kept: map[string]int{"programs write such an id by mistake, so it may belong to another": 4}},
		"what a group lies below": {rule: `"collectionGroup":"requests","age":{"field":"at","days":1},"maxDuePercent":100,"with":[
			{"document":"{parent}/settings/{id}"},{"document":"{parent}","with":[{"subcollection":"posts"},{"document":"{parent}"}]}]`,
			documents: map[string]fields{
				"requests/r": {"at": old}, "users/u/requests/r": {"at": old}, "rooms/r/members/m/requests/s": {"at": old},
				"users/u": {"x": true}, "users/u/settings/r": {"x": true}, "users/u/posts/p": {"x": true}, "rooms/r/members/m": {"x": true},
				"rooms/r": {"x": true}, "rooms/other": {"x": true}, "rooms/r/members/other": {"x": true}, "settings/r": {"x": true},
				"users/u/settings/other": {"x": true},
			},
			gone: []string{"requests/r", "users/u/requests/r", "rooms/r/members/m/requests/s", "users/u", "users/u/settings/r",
				"users/u/posts/p",
				"rooms/r/members/m", "rooms/r"}},
		"ids that repeat above a group": {rule: `"collectionGroup":"requests","age":"any","maxDuePercent":100,
			"with":[{"document":"{parent}","with":[
			{"collection":"posts","field":"authorId","with":[{"collection":"likes","field":"post"}]},
			{"collection":"lists","field":"of[]","remove":true},{"subcollection":"members"}]}]`,
			documents: map[string]fields{
				"teams/anna": {}, "teams/anna/requests/r": {}, "teams/anna/members/m": {}, "users/anna": {},
				"posts/text": {"authorId": "anna"}, "posts/user": {"authorId": reference("users/anna")},
				"posts/team": {"authorId": reference("teams/anna")},
				"likes/text": {"post": "text"}, "likes/team": {"post": "team"}, "lists/l": {"of": array{"anna", reference("teams/anna")}},
			},
			changed: map[string]fields{"lists/l": {"of": array{"anna"}}},
			gone:    []string{"teams/anna", "teams/anna/requests/r", "teams/anna/members/m", "posts/team", "likes/team"}},
		"a collection that a client named as everything": {rule: `"collection":"rooms","age":"any","with":[{"subcollection":"**"}]`,
			documents: map[string]fields{"rooms/a": {"n": 1}, "rooms/a/**/x": {"n": 1}, "rooms/a/**/x/c/y": {"n": 1}, "rooms/b": {"n": 1},
				"rooms/b/members/m/**/z": {"n": 1}, "halls/a/**/x": {"n": 1}},
			gone: []string{"rooms/a", "rooms/a/**/x", "rooms/a/**/x/c/y", "rooms/b", "rooms/b/members/m/**/z"}},
		"fields of another form, which refer to no file": {rule: `"collection":"drafts","age":"any","with":[
			{"objects":"images/**","field":"photos[].url"},{"objects":"images/**","field":"cover.url"},
			{"objects":"images/**","field":"more[]"}]`,
			documents: map[string]fields{
				"drafts/text":  {"photos": "images/b.png", "cover": "images/b.png", "more": "images/b.png"},
				"drafts/texts": {"photos": array{"images/b.png", nil, fields{}}, "cover": array{"images/b.png"}},
				"drafts/maps": {"photos": fields{"url": "images/b.png"}, "cover": fields{"url": fields{"url": "images/b.png"}},
					"more": fields{"url": "images/b.png"}},
				"drafts/none": {"photos": nil, "cover": nil, "more": array{}}, "drafts/nulls": {"cover": fields{"url": nil}},
				"drafts/empty": {"photos": array{}, "cover": fields{"url": ""}},
				"drafts/good": {"photos": array{fields{"url": "images/a.png"}}, "cover": fields{"url": "images/a.png"},
					"more": array{"images/a.png"}},
			},
			objects: []string{"images/a.png", "images/b.png"},
			gone: []string{"drafts/text", "drafts/texts", "drafts/maps", "drafts/none", "drafts/nulls", "drafts/empty", "drafts/good",
				"images/a.png", "images/b.png"},
			kept: map[string]int{"photos[].url holds no string": 5, "cover.url holds no string": 3, "more[] holds no string": 1}},
		"files that are not there": {rule: `"collection":"drafts","age":"any","with":[{"objects":"covers/**","field":"cover"}]`,
			documents: map[string]fields{"drafts/none": {"cover": "covers/none.png"}, "drafts/case": {"cover": "covers/A.png"},
				"drafts/bare": {"cover": "a.png"}, "drafts/both": {"cover": "covers/b%20c.png"}, "drafts/other": {"cover": "x/covers/a.png"}},
			objects: []string{"covers/a.png", "covers/b c.png", "covers/b%20c.png"},
			gone:    []string{"drafts/none", "drafts/case", "drafts/bare", "drafts/both", "drafts/other"},
			kept: map[string]int{"files of cover that are not there, so the documents alone are deleted": 2, "cover may refer to more files than anybody can tell": 1,
				"cover holds a text that is neither a URL nor a name below covers/": 2}},
		"what belongs to an account without a document": {
			rule: `"accounts":"all","age":{"by":"creationTime","days":30},"maxDuePercent":100,"with":[{"document":"users/{uid}",
			"with":[{"subcollection":"orders"},{"objects":"avatars/{id}/**"},{"collection":"likes","field":"user"}]}]`,
			documents: map[string]fields{"users/three": {"x": true}, "users/one/orders/a": {"x": true},
				"users/three/orders/a": {"x": true},
				"users/other/orders/a": {"x": true}, "likes/one": {"user": "one"}, "likes/three": {"user": "three"},
				"likes/other": {"user": "other"}},
			objects:  []string{"avatars/one/a.png", "avatars/two/a.png", "avatars/other/a.png"},
			accounts: []string{"one", "two", "three"},
			gone: []string{"users/three", "users/one/orders/a", "users/three/orders/a", "likes/one", "likes/three", "avatars/one/a.png",
				"avatars/two/a.png", "account one", "account two", "account three"}},
		"resized copies, which stay with the picture": {rule: ofProducts, old: true,
			documents: map[string]fields{"products/a": {"image": "gs://BUCKET/p/a.png"}},
			objects: []string{"p/a.png", "p/a_200x200.png", "p/a_200x200.webp", "p/thumbs/a_200x200.jpg", "p/thumbs/small/a_64x64.png",
				"p/Thumbs/A_64x64.png", "p/unused.png", "p/thumbs/unused_200x200.png", "p/thumbs/a.png"},
			gone: []string{"p/unused.png", "p/thumbs/unused_200x200.png", "p/thumbs/a.png"}},
		// The SDK for Android encodes gs:// locations, others do not, so that one keeps both objects that it may name.
		"references that Android wrote": {rule: ofProducts, old: true,
			documents: map[string]fields{"products/b": {"image": "gs://BUCKET/p/Foto%201%25.png"}},
			objects:   []string{"p/Foto 1%.png", "p/Foto%201%25.png", "p/Foto 1%25.png"}, gone: []string{"p/Foto 1%25.png"}},
		"what refers to it in a map, by its id or a reference": {rule: `"collection":"drafts","age":{"field":"at","days":90},
			"with":[{"subcollection":"revisions"},{"collection":"comments","field":"of.draft"}]`,
			documents: map[string]fields{"drafts/d": {"at": old}, "drafts/young": {"at": now}, "drafts/d/revisions/r": {"n": 1},
				"drafts/young/revisions/r": {"n": 1},
				"comments/id":              {"of": fields{"draft": "d"}}, "comments/young": {"of": fields{"draft": "young"}},
				"comments/ref":   {"of": fields{"draft": reference("drafts/d")}},
				"comments/other": {"of": fields{"draft": reference("other/d")}}, "comments/null": {"of": fields{"draft": nil}}},
			gone: []string{"drafts/d", "drafts/d/revisions/r", "comments/id", "comments/ref"}},
		"none that is due, so that nobody looks for exceptions": {rule: `"collection":"drafts","age":{"field":"at","days":90},
			"unless":[{"document":"legalHolds/{id}"}]`, documents: map[string]fields{"drafts/young": {"at": now}}},
		"none that is due, so that nothing would be left behind": {rule: `"collection":"drafts","age":{"field":"at","days":90},
			"with":[{"subcollection":"part"}]`, documents: map[string]fields{"drafts/young": {"at": now}}},
		// What set writes as {"a.b": true} is one field of that name, which says what the rule asks of b in a.
		"names with dots": {rule: ofDots, documents: dots, gone: []string{"drafts/due"}},
		"names with dots, and what is below it": {rule: ofDots + `,"with":[{"subcollection":"x"}]`, documents: dots,
			gone: []string{"drafts/due"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var rule fields
			ok(t, json.Unmarshal([]byte("{"+tt.rule+"}"), &rule))
			rep, _ := tt.run(t, rule)
			enginetest.Want(t, "status", report.Completed, rep.Status)
			if tt.kept != nil {
				enginetest.Want(t, "kept", tt.kept, rep.Kept)
			}
		})
	}
}
