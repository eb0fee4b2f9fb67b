package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
	"github.com/firesweep/firesweep/shared/version"
)

var ok = check.OK

// read returns the list of the functions.
func read(t testing.TB) string {
	text, err := os.ReadFile(filepath.Join("..", "..", "functions", "manifest.json"))
	ok(t, err)
	return string(text)
}

func TestParse(t *testing.T) {
	list := read(t)
	lines := strings.Count(list, "\n") - 1                      // up to the end of the list
	for _, tt := range []struct{ name, old, new, want string }{ // want is part of the error; empty: no error
		{name: "as it is"},
		{"listed twice", `"name": "cleanupReports"`, `"name": "cleanExpiredComped"`, `functions[5], cleanExpiredComped: name: "cleanExpiredComped" is taken by functions[4] in line `},
		{"name", `"name": "cleanupReports"`, `"name": "Cleanup reports"`, "write 6 to 30 letters and digits"},
		{"misspelt field", `"timeoutSeconds": 300`, `"timeoutsSeconds": 300`, `there is no key "timeoutsSeconds": is it "timeoutSeconds"?`},
		{"no timeout", `"timeoutSeconds": 300`, `"timeoutSeconds": 0`, "run.timeoutSeconds: it is 0"},
		{"timeout twice", `"timeoutSeconds": 300`, `"timeoutSeconds": 300, "timeoutSeconds": 301`, "functions[4], cleanupReports: run.timeoutSeconds: it is given twice, first in line "},
		{"timeout as text", `"timeoutSeconds": 300`, `"timeoutSeconds": "300"`, "functions[4], cleanupReports: run.timeoutSeconds: it must be a whole number, not a string"},
		{"longer than Cloud Scheduler waits", `"timeoutSeconds": 300`, `"timeoutSeconds": 1741`, "timeoutSeconds: it is 1741 and must be from 60 to 1740"},
		{"memory", `"memory": "256Mi"`, `"memory": "256"`, "memory"},
		{"half a CPU", `"cpu": "1"`, `"cpu": "0.5"`, "cpu: it is"},
		{"a CPU without its memory", `"memory": "512Mi"`, `"memory": "511Mi"`, "with a whole CPU it must be from 512Mi"},
		{"minute", `"schedule": "0 0 * * *"`, `"schedule": "60 0 * * *"`, `"60" is not a valid minute (0 to 59)`},
		{"hour", `"schedule": "0 0 * * *"`, `"schedule": "0 24 * * *"`, `"24" is not a valid hour`},
		{"day", `"schedule": "0 0 * * *"`, `"schedule": "0 0 0 * *"`, `"0" is not a valid day of the month`},
		{"weekday in a list", `"schedule": "0 0 * * *"`, `"schedule": "0 0 * * 1,7"`, `"7" is not a valid day of the week`},
		{"range that is reversed", `"schedule": "0 0 * * *"`, `"schedule": "0~59 5~0 * * *"`, `"5~0" is not a valid hour`},
		{"random value in a list", `"schedule": "0 0 * * *"`, `"schedule": "1,2~4 0 * * *"`, `"2~4" is not a valid minute`},
		{"step of nothing", `"schedule": "0 0 * * *"`, `"schedule": "*/0 0 * * *"`, `"*/0" is not a valid minute`},
		{"step of a value", `"schedule": "0 0 * * *"`, `"schedule": "5/10 0 * * *"`, `"5/10" is not a valid minute`},
		{"nothing in a list", `"schedule": "0 0 * * *"`, `"schedule": "1, 0 * * *"`, `"" is not a valid minute`},
		{"schedule", `"schedule": "0 0 * * *"`, `"schedule": "0 0 * *"`, "is not unix-cron"},
		{"no time zone", `"timeZone": "Asia/Tokyo"`, `"timeZone": ""`, `timeZone: "" is unknown`},
		{"queue", `"maxAttempts"`, `"attempts"`, `there is no key "attempts"`},
		{"something after it", "\n  ]\n}\n", "\n  ]\n}\n{}", "invalid character '{' after top-level value"},
		{"a comma too many", "\n    }\n  ]\n}\n", "\n    },\n  ],,\n}\n", fmt.Sprintf("line %d, column 5: it is not JSON: invalid character ','", lines)},
		{"text in Latin-1", `"collectionGroup": "users"`, "\"collectionGroup\": \"gepr\xfcft\"", "gepr\ufffdft is no text in UTF-8: save the file as UTF-8"},
		{"key in Latin-1", `"collectionGroup": "users"`, "\"gr\xfcppe\": \"users\"", "is no text in UTF-8"},
		{"half a character", `"collectionGroup": "users"`, `"collectionGroup": "\ud83dusers"`, "\ufffdusers is no text in UTF-8"},
		{"the character for what could not be read", `"collectionGroup": "users"`, `"collectionGroup": "us\ufffders\uFFFD�"`, ""},
		{"a pair", `"collectionGroup": "users"`, `"collectionGroup": "us\ud83d\ude00ers"`, ""},
		{"cut off", "\n  ]\n}\n", "\n  ]", fmt.Sprintf("line %d, column 4: it is not JSON: it ends too early", lines)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(list, tt.old, tt.new, 1)
			if tt.name != "as it is" && text == list {
				t.Fatalf("manifest.json has no %s", tt.old)
			}
			entries, err := Parse(File{"manifest.json", []byte(text)})
			if tt.want == "" {
				if err != nil || len(entries) != strings.Count(text, `"name":`) {
					t.Fatalf("%d entries of %d names, %v", len(entries), strings.Count(text, `"name":`), err)
				}
				return
			}
			check.Fails(t, err, tt.want)
			if entries != nil {
				t.Errorf("refused, and yet %d entries", len(entries))
			}
		})
	}
}

// TestNoList: what is no list of rules is told what to write, once, and no rule hears of keys that are not its own.
func TestNoList(t *testing.T) {
	const rule = `"name":"cleanupDrafts","schedule":"0 4 * * *","collection":"drafts","age":{"field":"at","days":90}`
	const keys = "; the keys are name, description, schedule, timeZone, collection, collectionGroup, objects, accounts, where, age, gone, "
	for text, want := range map[string]string{
		`{"functions":[{` + rule + `}]}`:            `rules.json:1: there is no key "functions"; the keys are $schema, rules, enabled`,
		"{\n\"collections\":[\"drafts\"]}":          `rules.json:2: there is no key "collections"; the keys are $schema, rules, enabled`,
		`{` + rule + `}`:                            `rules.json:1: this is a rule, and the file is a list of rules: write { "rules": [ { … } ] } around it`,
		`[{` + rule + `}]`:                          `rules.json:1: it is a list: write { "rules": [ … ] } around your rules`,
		`{"rules":{` + rule + `}}`:                  `rules.json:1: rules: it must be a list, not an object; for example [{"name": "cleanupDrafts", …}]`,
		`{"rule":[{` + rule + `}]}`:                 `rules.json:1: there is no key "rule": is it "rules"?`,
		`{"rules":[{` + rule + `,"package":"x"}]}`:  `rules.json:1: rules[0], cleanupDrafts: there is no key "package"` + keys,
		`{"rules":[{` + rule + `,"queue":{}}]}`:     `rules.json:1: rules[0], cleanupDrafts: there is no key "queue"` + keys,
		`{"rules":[{` + rule + `,"memory":"1Gi"}]}`: `rules.json:1: rules[0], cleanupDrafts: there is no key "memory": it belongs into run`,
	} {
		_, err := Parse(File{"manifest.json", []byte(read(t))}, File{"rules.json", []byte(text)})
		if got := fmt.Sprint(err); !strings.HasPrefix(got, want) || strings.Contains(got, "\n") || strings.Contains(got, "trigger") {
			t.Errorf("%s: %s\nwant %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"":                      `rules.json: it is empty: write { "rules": [ … ] }`,
		"rules:\n  - name: x":   `rules.json: it is not JSON, and begins with "rules:": write { "rules": [ … ] }`,
		`{ 'rules': [] }`:       "rules.json: line 1, column 3: it is not JSON: invalid character '\\'' at start of value: write keys and texts in double quotes",
		`{"rules": [{"age": {}`: "rules.json: line 1, column 22: it is not JSON: it ends too early",
		"{\"rules\": [\n{\"name\":\"cleanupDrafts\",\"schedule\":\"0 4 * * *\",\"collection\":\"a\"}]}": "rules.json:2: rules[0], cleanupDrafts: age: it is missing",
		"{\"enabled\": [\n\"a\"]}":                                    `rules.json:2: enabled[0]: "a" is none of Firesweep's own jobs: they are cleanupOrphanedMedia, `,
		`{"enabled": ["cleanupReport"]}`:                              `rules.json:1: enabled[0]: "cleanupReport" is none of Firesweep's own jobs: is it "cleanupReports"?`,
		`{"rules": [{` + rule + `}],"enabled":["cleanupDrafts"]}`:     `rules.json:1: enabled[0]: "cleanupDrafts" is none of Firesweep's own jobs: leave it out`,
		"{\"rules\": [{" + rule + ",\n\"limit\": 1,\n\"limit\": 2}]}": "rules.json:3: rules[0], cleanupDrafts: limit: it is given twice, first in line 2: leave one of them out",
		"{\"rules\": [{" + rule + ",\n\"lmit\": 1}]}":                 `rules.json:2: rules[0], cleanupDrafts: there is no key "lmit": is it "limit"?`,
	} {
		_, err := Parse(File{"manifest.json", []byte(read(t))}, File{"rules.json", []byte(text)})
		if got := fmt.Sprint(err); !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %s\nwant %s", text, got, want)
		}
	}
	for _, inner := range []string{`"collections":"drafts"`, `"collections":["drafts"]`} {
		_, err := ParseRules(File{"rules.json", []byte(`{"rules":[{"name":"cleanupDrafts","schedule":"0 4 * * *","age":"any",` + inner + `}]}`)})
		check.Same(t, inner, `rules.json:1: rules[0], cleanupDrafts: there is no key "collections": is it "collection"?`, fmt.Sprint(err))
	}
}

func TestEveryFormOfScheduleIsAccepted(t *testing.T) {
	for _, schedule := range []string{"59 23 31 * 6", "0-59/15 0,12 1-15 * 0", "0~59 22~23 * * 1-5", "*/59 * * * *",
		"1,2,3-5,*/30 * * * *"} {
		check.Same(t, schedule, "", cronProblem(schedule))
	}
}

func TestTimeoutOfTheDeployment(t *testing.T) {
	e := Entry{Name: "cleanupReports", TimeoutSeconds: 300}
	for _, tt := range []struct {
		name, value string
		want        time.Duration // 0: an error
	}{
		{"TIMEOUT_SECONDS", "", 300 * time.Second},
		{"TIMEOUT_SECONDS", "1740", 1740 * time.Second},
		{"TIMEOUT_SECONDS_cleanupReports", "60", time.Minute},
		{"TIMEOUT_SECONDS_cleanupBannedUsers", "60", 300 * time.Second},
		{"TIMEOUT_SECONDS", "59", 0},
		{"TIMEOUT_SECONDS", "1741", 0},
		{"TIMEOUT_SECONDS", "10m", 0},
	} {
		got, err := e.Timeout(func(name string) string { return map[string]string{tt.name: tt.value}[name] })
		check.Same(t, tt.name+"="+tt.value, []any{tt.want, tt.want == 0}, []any{got, err != nil})
	}
}

// FuzzParse: a list without problems can be deployed, is the same when it is read again, and jobs come back unchanged when they are
// written and read.
func FuzzParse(f *testing.F) {
	f.Add([]byte(read(f)))
	for _, seed := range []string{"", "null", "{}", `{"functions":null}`, `{"functions":[null]}`, `{"functions":[{}]}`,
		`{"functions":{}}`, `{"functions":[{"queue":{}}]}`,
		`{"functions":[{"name":"a","package":"a","description":"d","trigger":"schedule","timeoutSeconds":60,"memory":"1Gi","roles":{"firestore":[]},"schedule":"0 0 * * *","timeZone":"UTC"}]}`} {
		f.Add([]byte(seed))
	}
	f.Add([]byte(`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"a","age":"any"}],"enabled":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if rules, err := ParseRules(File{"rules", text}); err != nil && rules != nil {
			t.Fatalf("refused, and yet %d rules", len(rules))
		}
		entries, err := Parse(File{"list", text})
		if err != nil {
			if entries != nil {
				t.Fatalf("refused, and yet %d entries", len(entries))
			}
			return
		}
		var names []string
		for _, e := range entries {
			if e.Name == "" || slices.Contains(names, e.Name) || e.TimeoutSeconds < minTimeout {
				t.Errorf("accepted %+v", e)
			}
			names = append(names, e.Name)
		}
		again, err := Parse(File{"again", text})
		ok(t, err)
		check.Same(t, "once more", entries, again)
		entries = slices.DeleteFunc(entries, func(e Entry) bool { return e.Rule != nil }) // only rules of the text can be written
		written, err := json.Marshal(map[string]any{"functions": entries})
		ok(t, err)
		if again, err = Parse(File{"written", written}); len(entries) == 0 {
			return
		}
		ok(t, err)
		check.Same(t, "written", entries, again)
	})
}

// TestRolesForWhatIsKept: who asks whether accounts exist may read them, also if only another rule keeps what is deleted along.
func TestRolesForWhatIsKept(t *testing.T) {
	for text, want := range map[string]int{
		`"with":[{"subcollection":"notes"}]`:                                  0,
		`"with":[{"subcollection":"notes","unless":[{"account":"{of}"}]}]`:    1,
		`"with":[{"collection":"kept","field":"user"}]`:                       1,
		`"with":[{"collection":"others","field":"user"}]`:                     0,
		`"with":[{"subcollection":"notes","unless":[{"document":"a/{of}"}]}]`: 0,
	} {
		entries, err := ParseRules(File{"rules.json", []byte(`{"rules":[
			{"name":"cleanupUsers","schedule":"0 4 * * *","collection":"users","age":{"field":"at","days":9},` + text + `},
			{"name":"cleanupKept","schedule":"0 4 * * *","collection":"kept","age":{"field":"at","days":9},"unless":[{"account":"{of}"}]}]}`)})
		ok(t, err)
		check.Same(t, text+": roles on accounts", want, len(entries[0].Roles[config.Auth]))
	}
}

// TestMarks: the mark of a rule's warnings is written by no other rule for the same documents.
func TestMarks(t *testing.T) {
	entry := func(name, rule string) string {
		return `{"name":"` + name + `","schedule":"0 4 * * *","age":{"field":"at","days":9},` + rule + `}`
	}
	warns := func(source, field string) string { return source + `,"warn":{"days":7,"field":"` + field + `"}` }
	for other, refused := range map[string]bool{
		warns(`"collection":"users/{uid}/drafts"`, "warnedAt"):                                               true,
		warns(`"collectionGroup":"drafts"`, "warnedAt"):                                                      true,
		warns(`"collectionGroup":"drafts"`, "toldAt"):                                                        false,
		warns(`"collection":"teams/{team}/drafts"`, "warnedAt"):                                              false,
		`"collection":"users/{id}/drafts","where":[{"field":"warnedAt","is":"set"}],"set":{"warnedAt":null}`: true,
		`"collection":"users/{uid}/notes"`:                                                                   false,
	} {
		_, err := ParseRules(File{"rules.json", []byte(`{"rules":[` +
			entry("cleanupThings", warns(`"collection":"users/{uid}/drafts"`, "warnedAt")) + "," + entry("cleanupOthers", other) + `]}`)})
		said := strings.Contains(fmt.Sprint(err), "cleanupThings: warn.field: cleanupOthers writes warnedAt")
		if said != refused || !refused && err != nil {
			t.Errorf("%s: %v", other, err)
		}
	}
}

// TestWrongTypeHidesNothingElse: for an entry with a value of a wrong type only that problem is reported, because the value
// is missing. For the other entries all problems are.
func TestWrongTypeHidesNothingElse(t *testing.T) {
	_, err := ParseRules(File{"rules.json", []byte(`{"rules":[
		{"name":"cleanupDrafts","schedule":"0 4 * * *","collection":"drafts","age":{"field":"at","days":"90"}},
		{"name":"cleanupThings","schedule":"0 4 * *","collection":"things/","age":{"field":"at"}}
	]}`)})
	if err == nil {
		t.Fatal("no error")
	}
	problems := strings.Split(err.Error(), "\n")
	for i, want := range []string{
		"rules.json:2: rules[0], cleanupDrafts: age.days: it must be a whole number, not a string",
		"rules.json:3: rules[1], cleanupThings: collection: ",
		"rules.json:3: rules[1], cleanupThings: age: give one of hours, days and months",
		"rules.json:3: rules[1], cleanupThings: ",
	} {
		if i >= len(problems) || !strings.HasPrefix(problems[i], want) {
			t.Errorf("problem %d of %q: want %q", i, problems, want)
		}
	}
	if len(problems) != 4 || !strings.Contains(problems[3], "is not unix-cron") {
		t.Errorf("%d problems: %q", len(problems), problems)
	}
}

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
		check.Same(t, tt.entry, tt.want, got)
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
		check.Same(t, fmt.Sprintf("%s with cpu %q is accepted (%s)", tt.memory, tt.cpu, problem), tt.accepted, problem == "")
	}
}

// TestTimeZones: each name is in Go's database, which Cloud Scheduler's is a version of, and every job has one of them.
func TestTimeZones(t *testing.T) {
	names := timeZones()
	if !slices.IsSorted(names) || len(names) < 400 {
		t.Errorf("time_zones.json holds %d names, want the whole database, sorted", len(names))
	}
	for _, name := range names {
		_, err := time.LoadLocation(name)
		check.Same(t, "time_zones.json", nil, err)
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
	}
	avatars := map[string]any{
		"name": "cleanupAvatars", "package": "", "description": "Avatars", "trigger": "schedule", "schedule": "0 3 * * 1", "timeZone": "Europe/Berlin",
		"timeoutSeconds": 600.0, "memory": "256Mi", "retryCount": 0.0,
		"roles": map[string]any{"firestore": []any{"roles/datastore.user"}, "storage": []any{"firesweepObjectCleaner"}},
	}
	check.Same(t, "cleanupDrafts", drafts, lock.Functions["cleanupDrafts"])
	check.Same(t, "cleanupAvatars", avatars, lock.Functions["cleanupAvatars"])
	names := []string{"cleanupAvatars", "cleanupDrafts", "cleanupReports", "removeUnacceptedMemberInvites"}
	check.Same(t, "entries", names, slices.Sorted(maps.Keys(lock.Functions)))
	check.Same(t, "version", version.Lock, lock.Version)

	// A change of either list shows, but for line ends.
	for text, same := range map[string]bool{rules: true, strings.ReplaceAll(rules, "\n", "\r\n"): true, rules + "\n": false} {
		got := lockOf(t, read(t), text)
		check.Same(t, "the same rules, and the manifest", []any{same, lock.Manifest}, []any{got.Rules == lock.Rules, got.Manifest})
	}
	if other := lockOf(t, read(t)+"\n", rules); other.Manifest == lock.Manifest || other.Rules != lock.Rules {
		t.Errorf("digests %s and %s of another manifest", other.Rules, other.Manifest)
	}
	// What Terraform computes: sha256(replace(file(path), "\r\n", "\n")).
	check.Same(t, "the digest of abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", digest([]byte("abc")))
}

func TestNoLockOfWrongRules(t *testing.T) {
	const wrong = `{"rules":[{"name":"cleanupReports","schedule":"0 4 * *","collection":"a","age":{"field":"at","days":9}}]}`
	text, err := Lock(File{"manifest.json", []byte(read(t))}, File{"rules.json", []byte(wrong)})
	check.Same(t, "a lock of wrong rules", []byte(nil), text)
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("%v, want two problems", err)
	}
}

// TestNestedTooDeep: a pull request whose list would overflow the parser's stack.
func TestNestedTooDeep(t *testing.T) {
	for _, nested := range []string{"[", `{"a":`, `{"a":["[",`} {
		for _, n := range []int{maxNested + 1, 2_000_000} {
			_, err := ParseRules(File{Name: "rules.json", Text: []byte(strings.Repeat(nested, n))})
			check.Fails(t, err, "it is no list of rules")
		}
	}
}

// schema returns the JSON schema of functions/rules.json for editors, made from the types that read it.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	related, operators := &jsonschema.Schema{Ref: "#/$defs/relation"}, criteria.Operators()
	condition := &jsonschema.Schema{Ref: "#/$defs/condition"}
	types := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[criteria.Condition](): condition, reflect.TypeFor[rule.Relation](): related,
		reflect.TypeFor[rule.Ages](): {}, reflect.TypeFor[rule.Gone](): {},
	}
	made := func(of reflect.Type) *jsonschema.Schema {
		s, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: types})
		ok(t, err)
		withoutNull(s)
		return s
	}
	entry := made(reflect.TypeFor[ruleEntry]())
	entry.PropertyOrder, entry.Required = nil, []string{"name", "schedule", "age"}
	entry.Properties["name"].Pattern = namePattern.String()
	run := entry.Properties["run"]
	run.Properties["memory"].Pattern = memoryPattern.String()
	between := func(of *jsonschema.Schema, key string, least, most float64) {
		of.Properties[key].Minimum, of.Properties[key].Maximum = &least, &most
	}
	between(run, "timeoutSeconds", minTimeout, maxTimeout)
	between(run, "retryCount", 0, maxRetries)
	for field := range reflect.TypeFor[rule.Rule]().Fields() {
		if _, most, found := strings.Cut(field.Tag.Get("range"), "-"); found {
			highest, err := strconv.ParseFloat(most, 64)
			ok(t, err)
			between(entry, keyOf(field), 1, highest)
		}
	}
	entry.Properties["accounts"].Enum = anys(rule.AccountKinds())
	age := made(reflect.TypeFor[criteria.Age]())
	between(age, "hours", 0, 24*36500)
	between(age, "days", 0, 36500)
	between(age, "months", 0, 1200)
	age.Properties["as"].Enum = anys(criteria.Forms())
	word := func(key, word, ref string) {
		all := &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Ref: ref}}
		s := &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string", Enum: []any{word}}, all}}
		if field, _ := fieldOf(reflect.TypeFor[rule.Rule](), key); field.Tag.Get("one") != "" {
			s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Ref: ref})
		}
		s.Description = entry.Properties[key].Description
		entry.Properties[key] = s
	}
	word("age", "any", "#/$defs/age")
	word("gone", "nobody", "#/$defs/relation")
	type plainCondition criteria.Condition
	type plainRelation rule.Relation
	defs := map[string]*jsonschema.Schema{"age": age, "condition": made(reflect.TypeFor[plainCondition]()),
		"relation": made(reflect.TypeFor[plainRelation]())}
	document := defs["relation"].Properties["document"]
	document.AnyOf = []*jsonschema.Schema{{Type: "string"}, {Type: "array", Items: document.Items}}
	document.Type, document.Items = "", nil
	defs["relation"].Properties["within"] = &jsonschema.Schema{Ref: "#/$defs/age"}
	scalar := []string{"string", "number", "boolean", "null"}
	for _, of := range []string{"condition", "relation"} {
		delete(defs[of].Properties, "ops")
		defs[of].Properties["is"].Enum = anys(criteria.States())
		for _, key := range operators {
			defs[of].Properties[key] = &jsonschema.Schema{Types: scalar}
			if strings.HasSuffix(key, "in") || strings.HasSuffix(key, "any") {
				defs[of].Properties[key] = &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Types: scalar[:3]}}
			}
		}
	}
	return &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", Title: "Firesweep: your own cleanups, see docs/rules.md",
		Type: "object", Defs: defs,
		Properties: map[string]*jsonschema.Schema{
			"$schema": {Type: "string"}, "rules": {Type: "array", Items: entry},
			"enabled": {Type: "array", Items: &jsonschema.Schema{Type: "string"}},
		},
		Extra:    map[string]any{"allowComments": true, "allowTrailingCommas": true}, // of Visual Studio Code
		Required: []string{"rules"}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
}

func anys(texts []string) (all []any) {
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}

// withoutNull takes null from the types of a schema and of all below it: no key of a list may be null.
func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if slices.Contains(s.Types, "null") {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, below := range s.Properties {
		withoutNull(below)
	}
	withoutNull(s.Items)
}

// TestSchema compares rules.schema.json with the types. After a change of the types: WRITE=1 go test ./shared/manifest -run
// Schema.
func TestSchema(t *testing.T) {
	const path = "../../rules.schema.json"
	text, err := json.MarshalIndent(schema(t), "", "  ")
	ok(t, err)
	text = append(text, '\n')
	if os.Getenv("WRITE") != "" {
		ok(t, os.WriteFile(path, text, 0o600))
	}
	kept, err := os.ReadFile(path)
	ok(t, err)
	check.Same(t, "rules.schema.json: write it with WRITE=1 go test ./shared/manifest -run Schema", string(text), string(kept))
}

// TestSchemaAgreesWithTheReader: the schema accepts what the reader accepts, and refuses misspelt keys.
func TestSchemaAgreesWithTheReader(t *testing.T) {
	resolved, err := schema(t).Resolve(nil)
	ok(t, err)
	const good = `{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"things","age":{"field":"at","days":1},
		"where":[{"field":"a","==":1},{"field":"b","in":["x",2,true]},{"field":"c","is":"not true"}],"with":[{"account":"{id}"}],"set":{"a":null}}]}`
	ruled := func(more string) string {
		return `{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"things","age":{"field":"at","days":1},` + more + `}]}`
	}
	for text, fits := range map[string]bool{
		good:               true,
		ruled(`"limit":1`): true, ruled(`"limit":0`): false, ruled(`"limit":1000001`): false, ruled(`"limit":null`): false,
		ruled(`"maxDuePercent":100`): true, ruled(`"maxDuePercent":0`): false, ruled(`"maxDuePercent":101`): false,
		ruled(`"unless":null`): false, ruled(`"where":null`): false, ruled(`"set":null`): false,
		ruled(`"where":[{"field":"a","in":null}]`): false, ruled(`"set":{"a":null}`): true,
		ruled(`"gone":[{"account":"{id}"}]`): true, ruled(`"where":[{"field":"a","==":null}]`): true,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","run":{"memory":"512Mi","timeoutSeconds":1740,"retryCount":0},"collection":"t","age":{"field":"at","days":1}}]}`: true,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","run":{"memory":"512MB"},"collection":"t","age":{"field":"at","days":1}}]}`:                                      false,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","run":{"timeoutSeconds":1741},"collection":"t","age":{"field":"at","days":1}}]}`:                                 false,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","run":{"retryCount":6},"collection":"t","age":{"field":"at","days":1}}]}`:                                        false,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"things"}]}`:                                                                                        false,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","colection":"things","age":{"field":"at","days":1}}]}`:                                                           false,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"t","age":{"days":"1"}}]}`:                                                                          false,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"t","age":{"days":1},"where":[{"field":"a","is":"nul"}]}]}`:                                         false,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","roles":{},"collection":"t","age":{"days":1}}]}`:                                                                 false,
		`{"rules":[{"name":"cleanupThings","collection":"t","age":{"days":1}}]}`:                                                                                                   false,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"t","age":{"days":1},"where":[{"field":"a","==":[1]}]}]}`:                                           false,
	} {
		var value any
		ok(t, json.Unmarshal([]byte(text), &value))
		err := resolved.Validate(value)
		check.Same(t, fmt.Sprintf("%s fits (%v)", text, err), fits, err == nil)
		if _, err := ParseRules(File{"rules.json", []byte(text)}); err == nil && !fits {
			t.Errorf("%s: the reader takes it", text)
		}
	}
}
