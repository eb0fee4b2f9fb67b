package functions_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/manifest"
)

// TestLocks: Terraform refuses a lock file that is not of its list, and nobody else would notice that one lacks what now follows
// from the rules.
func TestLocks(t *testing.T) {
	for _, list := range []string{"rules.json", "../terraform/examples/own-rules/rules.json"} {
		want, err := functions.Lock(manifest.File{Name: list, Text: []byte(read(t, list))})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), read(t, manifest.LockName(list))); diff != "" {
			t.Errorf("%s is stale (-want +file): write it with go run ./scripts/firesweep check --write --rules FILE; "+
				"if more than the digests differ and neither list has changed, raise manifest.LockVersion before\n%s", manifest.LockName(list), diff)
		}
	}
}

// TestTerraformTakesEveryRoleFromTheManifest: whoever reads manifest.json knows what the functions and their callers may do.
// That Terraform gives each role on the right thing, terraform/tests/iam.tftest.hcl looks at.
func TestTerraformTakesEveryRoleFromTheManifest(t *testing.T) {
	var list struct {
		Roles map[string]string `json:"roles"`
	}
	if err := json.Unmarshal([]byte(read(t, "manifest.json")), &list); err != nil {
		t.Fatal(err)
	}
	iam := read(t, "../terraform/iam.tf")
	taken := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ +role += (.+)$`).FindAllStringSubmatch(iam, -1) {
		name, found := strings.CutPrefix(m[1], "local.manifest.roles.")
		taken[name] = true
		if found && list.Roles[name] == "" || !found && m[1] != "local.role_id[each.key]" {
			t.Errorf("terraform/iam.tf gives the role %s, which is not from manifest.json", m[1])
		}
	}
	for name := range list.Roles {
		if !taken[name] {
			t.Errorf("manifest.json has a role %s, which terraform/iam.tf does not give", name)
		}
	}
}
