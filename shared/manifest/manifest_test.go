package manifest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/config"
)

// ok ends a test that cannot go on.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

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
		{"package", `"package": "ghostcircles"`, `"package": "../ghostcircles"`, "package"},
		{"misspelt field", `"timeoutSeconds": 300`, `"timeoutsSeconds": 300`, `there is no key "timeoutsSeconds": is it "timeoutSeconds"?`},
		{"no timeout", `"timeoutSeconds": 300`, `"timeoutSeconds": 0`, "run.timeoutSeconds: it is 0"},
		{"timeout twice", `"timeoutSeconds": 300`, `"timeoutSeconds": 300, "timeoutSeconds": 301`, "functions[4], cleanupReports: run.timeoutSeconds: it is given twice, first in line "},
		{"timeout as text", `"timeoutSeconds": 300`, `"timeoutSeconds": "300"`, "functions[4], cleanupReports: run.timeoutSeconds: it must be a whole number, not a string"},
		{"longer than Cloud Scheduler waits", `"timeoutSeconds": 300`, `"timeoutSeconds": 1741`, "timeoutSeconds: it is 1741 and must be from 60 to 1740"},
		{"memory", `"memory": "256Mi"`, `"memory": "256"`, "memory"},
		{"half a CPU", `"cpu": "1"`, `"cpu": "0.5"`, "cpu: it is"},
		{"a CPU without its memory", `"memory": "512Mi"`, `"memory": "511Mi"`, "with a whole CPU it must be from 512Mi"},
		{"index of one field", `{ "fieldPath": "banStatus", "order": "ASCENDING" },`, ``, "fewer than two fields"},
		{"index without order", `{ "fieldPath": "status", "order": "ASCENDING" },`, `{ "fieldPath": "status" },`, "neither ordered nor an array"},
		{"index of no collection", `"collectionGroup": "users"`, `"collectionGroup": ""`, "collectionGroup is missing"},
		{"index without scope", `"queryScope": "COLLECTION"`, `"queryScope": "ALL"`, "queryScope is"},
		{"override without indexes", `"fieldPath": "messages", "indexes": []`, `"fieldPath": "messages"`, ": it lacks collectionGroup"},
		{"minute", `"schedule": "0 0 * * *"`, `"schedule": "60 0 * * *"`, `"60" is not a valid minute (0 to 59)`},
		{"hour", `"schedule": "0 0 * * *"`, `"schedule": "0 24 * * *"`, `"24" is not a valid hour`},
		{"day", `"schedule": "0 0 * * *"`, `"schedule": "0 0 0 * *"`, `"0" is not a valid day of the month`},
		{"weekday in a list", `"schedule": "0 0 * * *"`, `"schedule": "0 0 * * 1,7"`, `"7" is not a valid day of the week`},
		{"range that is reversed", `"schedule": "0 0 * * *"`, `"schedule": "0~59 5~0 * * *"`, `"5~0" is not a valid hour`},
		{"random value in a list", `"schedule": "0 0 * * *"`, `"schedule": "1,2~4 0 * * *"`, `"2~4" is not a valid minute`},
		{"step of nothing", `"schedule": "0 0 * * *"`, `"schedule": "*/0 0 * * *"`, `"*/0" is not a valid minute`},
		{"step of a value", `"schedule": "0 0 * * *"`, `"schedule": "5/10 0 * * *"`, `"5/10" is not a valid minute`},
		{"nothing in a list", `"schedule": "0 0 * * *"`, `"schedule": "1, 0 * * *"`, `"" is not a valid minute`},
		{"trigger", `"trigger": "schedule"`, `"trigger": "cron"`, "neither schedule nor tasks"},
		{"schedule", `"schedule": "0 0 * * *"`, `"schedule": "0 0 * *"`, "is not unix-cron"},
		{"no time zone", `"timeZone": "Asia/Tokyo"`, `"timeZone": ""`, `timeZone: "" is unknown`},
		{"role", `"firestore"`, `"fire"`, "roles: it has none on Firestore"},
		{"worker misspelt", `"worker": "deletePlaceholderUser"`, `"worker": "deletePlaceholderUsers"`, "deletePlaceholderUser: no job hands tasks to it"},
		{"queue", `"maxAttempts"`, `"attempts"`, `there is no key "attempts"`},
		{"stops too late", `"stopAfterSeconds": 240`, `"stopAfterSeconds": 2400`, "stopAfterSeconds: it is 2400"},
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
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
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
		if want := `rules.json:1: rules[0], cleanupDrafts: there is no key "collections": is it "collection"?`; fmt.Sprint(err) != want {
			t.Errorf("%s: %v", inner, err)
		}
	}
}

func TestEveryFormOfScheduleIsAccepted(t *testing.T) {
	for _, schedule := range []string{"59 23 31 * 6", "0-59/15 0,12 1-15 * 0", "0~59 22~23 * * 1-5", "*/59 * * * *",
		"1,2,3-5,*/30 * * * *"} {
		if problem := cronProblem(schedule); problem != "" {
			t.Error(problem)
		}
	}
}

func TestWhen(t *testing.T) {
	for schedule, want := range map[string]string{
		"0 3 * * *": "daily 03:00 UTC", "5 13 * * *": "daily 13:05 UTC", "0 3 * * 0": "every Sunday 03:00 UTC", "0 3 * * 6": "every Saturday 03:00 UTC",
		"30 2 * * 1-5": "Monday to Friday 02:30 UTC", "0 3 1 * *": "day 1 of each month 03:00 UTC", "0~59 0~5 * * *": "daily, some time from 00:00 to 05:59 UTC",
		"0~59 2 * * *": "daily, some time from 02:00 to 02:59 UTC", "*/10 * * * *": "every 10 minutes UTC", "5 * * * *": "hourly at minute 5 UTC",
		// No words: they would not be true.
		"*/7 * * * *": "*/7 * * * * UTC", "0 3 13 * 5": "0 3 13 * 5 UTC", "0 3,15 * * *": "0 3,15 * * * UTC", "0~29 3 * * *": "0~29 3 * * * UTC",
	} {
		if problem := cronProblem(schedule); problem != "" {
			t.Error(problem)
		}
		if got := (Entry{Schedule: schedule, TimeZone: "UTC"}).When(); got != want {
			t.Errorf("%s is %q, want %q", schedule, got, want)
		}
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
		if got != tt.want || (err != nil) != (tt.want == 0) {
			t.Errorf("%s=%q: %s, %v, want %s", tt.name, tt.value, got, err, tt.want)
		}
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
			if e.Name == "" || slices.Contains(names, e.Name) || e.TimeoutSeconds < minTimeout ||
				(e.Trigger == Schedule) == (e.Queue != nil) {
				t.Errorf("accepted %+v", e)
			}
			names = append(names, e.Name)
		}
		again, err := Parse(File{"again", text})
		if diff := cmp.Diff(entries, again); err != nil || diff != "" {
			t.Errorf("once more %v (-want +got):\n%s", err, diff)
		}
		entries = slices.DeleteFunc(entries, func(e Entry) bool { return e.Rule != nil }) // only rules of the text can be written
		written, err := json.Marshal(map[string]any{"functions": entries})
		ok(t, err)
		if again, err = Parse(File{"written", written}); len(entries) == 0 {
			return
		}
		if diff := cmp.Diff(entries, again); err != nil || diff != "" {
			t.Errorf("written %v (-want +got):\n%s", err, diff)
		}
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
		if got := len(entries[0].Roles[config.Auth]); got != want {
			t.Errorf("%s: %d roles on accounts, want %d", text, got, want)
		}
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
