package functions_test

import (
	"encoding/json"
	"slices"
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
