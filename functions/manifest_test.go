package functions_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/version"
)

// lock is a lock file.
type lock struct {
	Version   string                    `json:"version"`
	Rules     string                    `json:"rules"`
	Manifest  string                    `json:"manifest"`
	Functions map[string]manifest.Entry `json:"functions"`
}

// TestLocks: the lock files of this repository are of their lists and of functions/manifest.json as they are now. Those that
// terraform/tests/rules.tftest.hcl shows Terraform to refuse are wrong in one thing alone. After a change: WRITE=1 go test ./functions -run
// Locks. If a rule is refused that was not, or something else follows from one, also if no file here shows it, raise version.Lock.
func TestLocks(t *testing.T) {
	zeros := strings.Repeat("0", 64)
	// entry is that of a rule, but for what change makes of it.
	entry := func(name string, change func(*manifest.Entry)) manifest.Entry {
		e := manifest.Entry{Name: name, Description: "A rule", Trigger: manifest.Schedule, Schedule: "0 3 * * *", TimeZone: "UTC",
			TimeoutSeconds: 540, Memory: "512Mi", Roles: map[config.Backend][]string{config.Firestore: {"roles/datastore.user"}}}
		change(&e)
		return e
	}
	for list, wrong := range map[string]func(*lock){ // nil: nothing is wrong, and all of it is there
		"rules.json": nil,
		"../terraform/examples/own-rules/rules.json": nil,
		"../terraform/tests/rules/uses.json":         nil,
		"../terraform/tests/rules/crlf.json":         func(*lock) {},
		"../terraform/tests/rules/stale.json":        func(l *lock) { l.Rules = zeros },
		"../terraform/tests/rules/manifest.json":     func(l *lock) { l.Manifest = zeros },
		"../terraform/tests/rules/version.json":      func(l *lock) { l.Version = version.Release + "/1" },
		"../terraform/tests/rules/roles.json": func(l *lock) {
			l.Functions["ownerOfAll"] = entry("ownerOfAll", func(e *manifest.Entry) { e.Roles[config.Auth] = []string{"roles/owner"} })
			l.Functions["foreignRole"] = entry("foreignRole", func(e *manifest.Entry) {
				e.Roles[config.Storage] = []string{"roles/datastore.user"}
			})
			l.Functions["foreignBackend"] = entry("foreignBackend", func(e *manifest.Entry) {
				e.Roles["projects"] = []string{"roles/datastore.user"}
			})
		},
		"../terraform/tests/rules/indexes.json": func(l *lock) {
			index := func(name, collection string, fields ...string) {
				i := manifest.Index{CollectionGroup: collection, QueryScope: "COLLECTION"}
				for _, field := range fields {
					i.Fields = append(i.Fields, manifest.IndexField{FieldPath: field, Order: "ASCENDING"})
				}
				l.Functions[name] = entry(name, func(e *manifest.Entry) { e.Indexes = []manifest.Index{i} })
			}
			index("itsOwn", "drafts", "state", "saved.at")
			index("indexElsewhere", "users", "state", "saved.at")
			index("indexOfOther", "draft", "state", "saved.at")
			index("indexByOther", "drafts", "state", "secret")
		},
		"../terraform/tests/rules/forged.json": func(l *lock) {
			l.Functions["cleanupBannedUsers"] = entry("cleanupBannedUsers", func(*manifest.Entry) {})
			l.Functions["cleanupReports"] = entry("cleanupReports", func(*manifest.Entry) {})
			l.Functions["otherName"] = entry("cleanupBannedUsers", func(*manifest.Entry) {})
			l.Functions["withWorker"] = entry("withWorker", func(e *manifest.Entry) { e.Worker = "deletePlaceholderUser" })
			l.Functions["withoutIndex"] = entry("withoutIndex", func(e *manifest.Entry) {
				e.NotIndexed = []manifest.Field{{CollectionGroup: "drafts", FieldPath: "state"}}
			})
			l.Functions["withPackage"] = entry("withPackage", func(e *manifest.Entry) { e.Package = "placeholderusers" })
		},
	} {
		want, err := functions.Lock(manifest.File{Name: list, Text: []byte(read(t, list))})
		ok(t, err)
		if wrong != nil {
			var l lock
			ok(t, json.Unmarshal(want, &l))
			l.Functions = map[string]manifest.Entry{}
			wrong(&l)
			want, err = json.MarshalIndent(l, "", "  ")
			ok(t, err)
			want = append(want, '\n')
		}
		name := manifest.LockName(list)
		if os.Getenv("WRITE") != "" {
			ok(t, os.WriteFile(name, want, 0o600))
		}
		check.Same(t, name+" is stale; write it with WRITE=1 go test ./functions -run Locks", string(want), read(t, name))
	}
}

// TestTerraformTakesWhatRulesNeed: terraform/firestore.tf finds what a rule has an index of in the text of its list.
func TestTerraformTakesWhatRulesNeed(t *testing.T) {
	lists, err := filepath.Glob("../docs/examples/*.json")
	more, _ := filepath.Glob("../docs/examples/*/*.json")
	lists = append(append(lists, more...), "../terraform/examples/own-rules/rules.json", "../terraform/tests/rules/indexes.json")
	if err != nil || len(lists) < 10 {
		t.Fatal(lists, err)
	}
	indexes := 0
	for _, list := range lists {
		text := read(t, list)
		all, err := manifest.ParseRules(manifest.File{Name: list, Text: []byte(text)})
		ok(t, err)
		for _, e := range all {
			for _, i := range e.Indexes {
				indexes++
				if !regexp.MustCompile(`"(collection|collectionGroup|subcollection)"\s*:\s*"([^"]*/)?` + i.CollectionGroup + `"`).MatchString(text) {
					t.Errorf("%s: Terraform would refuse the index of %s: the list does not name it", list, i.CollectionGroup)
				}
				for _, field := range i.Fields {
					if !strings.Contains(text, `"`+field.FieldPath) {
						t.Errorf("%s: Terraform would refuse the index of %s by %s: the list does not name that", list, i.CollectionGroup, field.FieldPath)
					}
				}
			}
		}
	}
	if indexes < 5 {
		t.Errorf("%d indexes", indexes)
	}
}
