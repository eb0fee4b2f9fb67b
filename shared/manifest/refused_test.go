package manifest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/version"
)

// TestWhatNoFunctionCanStartWith: Google, or the start of every function, would refuse these after the deployment has begun. Each
// problem names the entry, its key and what would be right, and all are said together.
func TestWhatNoFunctionCanStartWith(t *testing.T) {
	const rule = `"collection":"drafts","age":{"field":"at","days":90}`
	for _, tt := range []struct {
		entry string
		want  []string // the lines of the error, without the name of the list; none: no error
	}{
		{`{"name":"cleanupDrafts","schedule":"0 4 * * *",` + rule + `}`, nil},
		{`{"name":"cleanupBannedUsers","schedule":"0 4 * * *",` + rule + `}`, []string{
			`rules[0], cleanupBannedUsers: name: "cleanupBannedUsers" is taken by Firesweep's own job cleanupBannedUsers: choose another that differs in more than capital letters`,
		}},
		{`{"name":"cleanupREPORTS","schedule":"0 4 * * *",` + rule + `}`, []string{
			`rules[0], cleanupREPORTS: name: "cleanupREPORTS" is taken by Firesweep's own job cleanupReports: choose another that differs in more than capital letters`,
		}},
		{`{"name":"cleanupDrafts","schedule":"0 4 * * *",` + rule + `},{"name":"cleanupdrafts","schedule":"0 4 * * *",` + rule + `}`, []string{
			`rules[1], cleanupdrafts: name: "cleanupdrafts" is taken by rules[0] in line 1: choose another that differs in more than capital letters`,
		}},
		{`{"name":"cleanupDrafts","schedule":"0 4 * * *","with":[{"objects":"d/{id}/**"}],` + rule + `},` + // neither can be asked of what follows
			`{"name":"cleanupFiles","schedule":"0 4 * * *","objects":"d/**","gone":"nobody","age":{"days":9},"unless":[{"field":"name","endsWith":".keep"}]}`, []string{
			"rules[0], cleanupDrafts: with: cleanupFiles keeps some of these files by a condition of unless, which nobody asks of what is deleted together with something else: leave them out of with",
		}},
		{`{"name":"cleanupDrafts","schedule":"0 4 * * *","with":[{"account":"{id}"}],` + rule + `},` +
			`{"name":"cleanupGuests","schedule":"0 4 * * *","accounts":"all","age":{"by":"lastActive","days":9},"unless":[{"field":"claims.admin","==":true}]}`, []string{
			"rules[0], cleanupDrafts: with: cleanupGuests keeps some of these accounts by a condition of unless, which nobody asks of what is deleted together with something else: leave them out of with",
		}},
		{`{"name":"cleanupDrafts","schedule":"0 4 * * *","with":[{"objects":"d/{id}/**"}],` + rule + `},` +
			`{"name":"cleanupFiles","schedule":"0 4 * * *","objects":"e/**","gone":"nobody","age":{"days":9},"unless":[{"field":"name","endsWith":".keep"}]}`, nil},
		{`{"name":"drafts-x","schedule":"0 4 * * *","collection":"drafts","where":[{"field":"a","is":"false"}],"age":{"field":"at","days":90}}`, []string{
			`rules[0], drafts-x: name: "drafts-x": write 6 to 30 letters and digits that begin with a small letter, such as cleanupDrafts`,
			`rules[0], drafts-x: where[0].is: "false" is not one of: text, empty, not empty, set, not set, missing, not true; a value is compared by "=="`,
		}},
		{`{"name":"cleanupDrafts","schedule":"0 4 * * *","run":{"memory":"512MB","timeoutSeconds":3600,"retryCount":9},"timeZone":"Berlin",` + rule + `}`, []string{
			`rules[0], cleanupDrafts: run.memory: "512MB" is not a number and Mi or Gi, such as 512Mi or 1Gi`,
			`rules[0], cleanupDrafts: timeZone: "Berlin" is unknown: write a name such as Europe/Berlin or UTC`,
			"rules[0], cleanupDrafts: run.timeoutSeconds: it is 3600 and must be from 60 to 1740",
			"rules[0], cleanupDrafts: run.retryCount: it is 9 and must be from 0 to 5",
		}},
		{`{"name":"cleanupDrafts","schedule":"0 4 * * *","run":{"timeoutSeconds":59,"retryCount":-1},` + rule + `}`, []string{
			"rules[0], cleanupDrafts: run.timeoutSeconds: it is 59 and must be from 60 to 1740",
			"rules[0], cleanupDrafts: run.retryCount: it is -1 and must be from 0 to 5",
		}},
		{`{"name":"cleanupDrafts","schedule":"0 4 1 1 *",` + rule + `}`, []string{
			`rules[0], cleanupDrafts: schedule: "0 4 1 1 *": the month is 1 and must be *: no alert could tell for so long that a run is missing`,
		}},
		{`{"name":"cleanupDrafts","schedule":"every day 04:00",` + rule + `}`, []string{
			`rules[0], cleanupDrafts: schedule: "every day 04:00" is not unix-cron: write minute, hour, day, month and weekday in digits, such as "0 3 * * *" for 03:00 each day`,
		}},
		{`{"name":"cleanupDrafts",` + rule + `}`, []string{
			`rules[0], cleanupDrafts: schedule: it is missing: write unix-cron, such as "0 3 * * *" for 03:00 each day`,
		}},
		{`{"name":"cleanupDrafts","schedule":"0 4 * * *",` + rule + `,"where":[{"feild":"a","==":1}]}`, []string{
			`rules[0], cleanupDrafts: where[0]: there is no key "feild": is it "field"?`,
		}},
		{`{"name":"cleanupDrafts"}`, []string{
			"rules[0], cleanupDrafts: what does it look at? Give exactly one of collection, collectionGroup, objects and accounts; the Realtime Database is out of reach: it needs a function of your own",
			`rules[0], cleanupDrafts: schedule: it is missing: write unix-cron, such as "0 3 * * *" for 03:00 each day`,
		}},
		{`{"name":"cleanupDrafts","schedule":"0 4 * * *","memory":"1Gi","collection":"drafts","age":{"field":"at","hours":1},"days":90,"where":[{"field":"a","==":1,"limit":3}]}`, []string{
			`rules[0], cleanupDrafts: there is no key "memory": it belongs into run`,
			`rules[0], cleanupDrafts: there is no key "days": it belongs into age`,
			`rules[0], cleanupDrafts: where[0]: there is no key "limit": it belongs beside where, not into it`,
		}},
	} {
		_, err := Parse(File{"manifest.json", []byte(read(t))}, File{"rules.json", []byte(`{"rules":[` + tt.entry + `]}`)})
		var got []string
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				got = append(got, strings.TrimPrefix(line, "rules.json:1: "))
			}
		}
		slices.Sort(got)
		slices.Sort(tt.want)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.entry, diff)
		}
	}
}

// TestMemoryThatGoogleAccepts has the bounds, one step either side.
func TestMemoryThatGoogleAccepts(t *testing.T) {
	for _, tt := range []struct {
		memory, cpu string
		accepted    bool
	}{
		{"512Mi", "1", true}, {"511Mi", "1", false}, {"4Gi", "1", true}, {"4096Mi", "1", true}, {"4097Mi", "1", false}, {"5Gi", "1", false},
		{"128Mi", "", true}, {"127Mi", "", false}, {"256Mi", "", true}, {"32Gi", "", true}, {"33Gi", "", false}, {"32769Mi", "", false},
		{"0Mi", "", false}, {"512", "1", false}, {"512MB", "1", false}, {"512mi", "1", false}, {"1.5Gi", "1", false}, {"100000Mi", "", false},
	} {
		problem := Entry{Memory: tt.memory, CPU: tt.cpu}.memoryProblem()
		if (problem == "") != tt.accepted {
			t.Errorf("%s with cpu %q: %q, want that it is accepted: %t", tt.memory, tt.cpu, problem, tt.accepted)
		}
	}
}

// TestTimeZones: each name is in Go's database, which Cloud Scheduler's is a version of, and every job has one of them.
func TestTimeZones(t *testing.T) {
	names := timeZones()
	if !slices.IsSorted(names) || len(names) < 400 {
		t.Errorf("time_zones.json holds %d names, want the whole database, sorted", len(names))
	}
	for _, name := range names {
		if _, err := time.LoadLocation(name); err != nil {
			t.Errorf("time_zones.json: %v", err)
		}
	}
	for _, name := range []string{"", "Local", "JST", "+09:00", "europe/berlin"} {
		if slices.Contains(names, name) {
			t.Errorf("time_zones.json has %q", name)
		}
	}
}

func lockOf(t *testing.T, manifest, rules string) (lock struct {
	Version, Rules, Manifest string
	Functions                map[string]map[string]any
}) {
	t.Helper()
	text, err := Lock(File{"manifest.json", []byte(manifest)}, File{"rules.json", []byte(rules)})
	ok(t, err)
	ok(t, json.Unmarshal(text, &lock))
	return lock
}

// TestLock: the file has each rule whole, in the form of the other entries of functions/manifest.json, and no key without a value:
// Terraform takes a key that is there for an answer.
func TestLock(t *testing.T) {
	const rules = `{"rules":[
		{"name":"cleanupDrafts","schedule":"0 4 * * *","collection":"drafts","where":[{"field":"state","==":"open"}],"age":{"field":"at","days":9}},
		{"name":"cleanupAvatars","schedule":"0 3 * * 1","run":{"memory":"256Mi","cpu":"","timeoutSeconds":600,"retryCount":0},"timeZone":"Europe/Berlin",
			"description":"Avatars","objects":"avatars/{uid}/**","gone":[{"document":"users/{uid}"}],"age":{"hours":24}}]}`
	lock := lockOf(t, read(t), rules)
	drafts := map[string]any{
		"name": "cleanupDrafts", "package": "", "description": "A declared rule", "trigger": "schedule", "schedule": "0 4 * * *", "timeZone": "UTC",
		"timeoutSeconds": 540.0, "memory": "512Mi", "cpu": "1", "retryCount": 3.0,
		"roles": map[string]any{"firestore": []any{"roles/datastore.user"}},
		"indexes": []any{map[string]any{"collectionGroup": "drafts", "queryScope": "COLLECTION", "fields": []any{
			map[string]any{"fieldPath": "state", "order": "ASCENDING"}, map[string]any{"fieldPath": "at", "order": "ASCENDING"}}}},
		"fieldOverrides": []any{map[string]any{"collectionGroup": "cleanupUndo", "fieldPath": "*", "indexes": []any{}}},
	}
	bare := func(group, field string) any {
		return map[string]any{"collectionGroup": group, "fieldPath": field, "indexes": []any{}}
	}
	avatars := map[string]any{
		"name": "cleanupAvatars", "package": "", "description": "Avatars", "trigger": "schedule", "schedule": "0 3 * * 1", "timeZone": "Europe/Berlin",
		"timeoutSeconds": 600.0, "memory": "256Mi", "retryCount": 0.0,
		"roles":          map[string]any{"firestore": []any{"roles/datastore.user"}, "storage": []any{"firesweepObjectCleaner"}},
		"fieldOverrides": []any{bare("cleanupUndo", "*")},
	}
	if diff := cmp.Diff(drafts, lock.Functions["cleanupDrafts"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(avatars, lock.Functions["cleanupAvatars"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	names := []string{"cleanupAvatars", "cleanupDrafts", "cleanupReports", "removeUnacceptedMemberInvites"}
	if diff := cmp.Diff(names, slices.Sorted(maps.Keys(lock.Functions))); diff != "" {
		t.Errorf("entries (-want +got)\n%s", diff)
	}
	if lock.Version != version.Lock {
		t.Errorf("version %s, want %s", lock.Version, version.Lock)
	}

	// A change of either list shows, but for line ends.
	for text, same := range map[string]bool{rules: true, strings.ReplaceAll(rules, "\n", "\r\n"): true, rules + "\n": false} {
		if got := lockOf(t, read(t), text); (got.Rules == lock.Rules) != same || got.Manifest != lock.Manifest {
			t.Errorf("digests %s and %s, want the first to be the same: %t", got.Rules, got.Manifest, same)
		}
	}
	if other := lockOf(t, read(t)+"\n", rules); other.Manifest == lock.Manifest || other.Rules != lock.Rules {
		t.Errorf("digests %s and %s of another manifest", other.Rules, other.Manifest)
	}
	// What Terraform computes: sha256(replace(file(path), "\r\n", "\n")).
	if want := "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; digest([]byte("abc")) != want {
		t.Errorf("the digest of abc is %s, want %s", digest([]byte("abc")), want)
	}
}

func TestNoLockOfWrongRules(t *testing.T) {
	const wrong = `{"rules":[{"name":"cleanupReports","schedule":"0 4 * *","collection":"a","age":{"field":"at","days":9}}]}`
	text, err := Lock(File{"manifest.json", []byte(read(t))}, File{"rules.json", []byte(wrong)})
	if text != nil {
		t.Errorf("a lock of wrong rules: %s", text)
	}
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("%v, want two problems", err)
	}
}

// TestNestedTooDeep: a pull request whose list would overflow the parser's stack.
func TestNestedTooDeep(t *testing.T) {
	for _, nested := range []string{"[", `{"a":`, `{"a":["[",`} {
		for _, n := range []int{maxNested + 1, 2_000_000} {
			_, err := ParseRules(File{Name: "rules.json", Text: []byte(strings.Repeat(nested, n))})
			if err == nil || !strings.Contains(err.Error(), "it is no list of rules") {
				t.Errorf("%d times %s: %v", n, nested, err)
			}
		}
	}
}
