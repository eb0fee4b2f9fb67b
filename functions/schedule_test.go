package functions_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/manifest"
)

// TestIndexesAgree compares what Terraform makes, job by job, with what the Firebase CLI and the tests read.
func TestIndexesAgree(t *testing.T) {
	var want, got struct {
		Indexes        []manifest.Index         `json:"indexes"`
		FieldOverrides []manifest.FieldOverride `json:"fieldOverrides"`
	}
	d := json.NewDecoder(strings.NewReader(read(t, "../firestore.indexes.json")))
	d.DisallowUnknownFields()
	if err := d.Decode(&want); err != nil {
		t.Fatalf("firestore.indexes.json: %v", err)
	}
	for _, e := range upstream(t) {
		got.Indexes = append(got.Indexes, e.Indexes...)
		for _, o := range e.FieldOverrides { // several jobs may need the same
			if !slices.ContainsFunc(got.FieldOverrides, func(other manifest.FieldOverride) bool { return cmp.Equal(o, other) }) {
				got.FieldOverrides = append(got.FieldOverrides, o)
			}
		}
	}
	if len(want.Indexes) == 0 || len(want.FieldOverrides) == 0 {
		t.Fatal("firestore.indexes.json holds nothing to compare")
	}
	byText := cmpopts.SortSlices(func(a, b any) bool { return fmt.Sprint(a) < fmt.Sprint(b) })
	if diff := cmp.Diff(want, got, byText); diff != "" {
		t.Errorf("write an index into the entry of the job that needs it and into firestore.indexes.json (-firestore.indexes.json +schedule.json):\n%s", diff)
	}
}

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
