package functions_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/functions"
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
	for list, wrong := range map[string]func(*lock){ // nil: nothing is wrong, and all of it is there
		"rules.json": nil,
		"../terraform/examples/own-rules/rules.json": nil,
		"../terraform/tests/rules/uses.json":         nil,
		"../terraform/tests/rules/crlf.json":         func(*lock) {},
		"../terraform/tests/rules/stale.json":        func(l *lock) { l.Rules = zeros },
		"../terraform/tests/rules/manifest.json":     func(l *lock) { l.Manifest = zeros },
		"../terraform/tests/rules/version.json":      func(l *lock) { l.Version = version.Release + "/1" },
	} {
		want, err := functions.Lock(manifest.File{Name: list, Text: []byte(read(t, list))})
		if err != nil {
			t.Fatal(err)
		}
		if wrong != nil {
			var l lock
			if err := json.Unmarshal(want, &l); err != nil {
				t.Fatal(err)
			}
			wrong(&l)
			l.Functions = map[string]manifest.Entry{}
			if want, err = json.MarshalIndent(l, "", "  "); err != nil {
				t.Fatal(err)
			}
			want = append(want, '\n')
		}
		name := manifest.LockName(list)
		if os.Getenv("WRITE") != "" {
			if err := os.WriteFile(name, want, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(string(want), read(t, name)); diff != "" {
			t.Errorf("%s is stale (-want +file); write it with WRITE=1 go test ./functions -run Locks\n%s", name, diff)
		}
	}
}
