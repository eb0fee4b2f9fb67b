package functions_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/manifest"
)

// TestTimeZonesThatTerraformKnows: Terraform refuses others, for it cannot ask which exist.
func TestTimeZonesThatTerraformKnows(t *testing.T) {
	var zones []string
	if err := json.Unmarshal([]byte(read(t, "../terraform/time_zones.json")), &zones); err != nil {
		t.Fatal(err)
	}
	for _, zone := range zones {
		if _, err := time.LoadLocation(zone); err != nil {
			t.Errorf("terraform/time_zones.json: %v", err)
		}
	}
	for _, e := range functions.All() {
		if e.Trigger == manifest.Schedule && !slices.Contains(zones, e.TimeZone) {
			t.Errorf("terraform/time_zones.json lacks %s of %s", e.TimeZone, e.Name)
		}
	}
	if !slices.IsSorted(zones) || len(zones) < 400 {
		t.Errorf("terraform/time_zones.json holds %d names, want the whole database, sorted", len(zones))
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
