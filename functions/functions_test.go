package functions_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions"
)

func TestScheduleIsWellFormed(t *testing.T) {
	cron := regexp.MustCompile(`^([0-9*/,~-]+ ){4}[0-9*/,~-]+$`)
	names, packages := map[string]bool{}, map[string]bool{}
	for _, e := range functions.All() {
		if names[e.Name] || packages[e.Package] {
			t.Errorf("%s or its package %s is listed twice", e.Name, e.Package)
		}
		names[e.Name], packages[e.Package] = true, true
		if e.Trigger != "schedule" || !cron.MatchString(e.Schedule) {
			t.Errorf("%s: trigger %q, schedule %q", e.Name, e.Trigger, e.Schedule)
		}
		if _, err := time.LoadLocation(e.TimeZone); err != nil || e.TimeZone == "" {
			t.Errorf("%s: time zone %q: %v", e.Name, e.TimeZone, err)
		}
		// Cloud Scheduler waits 30 minutes at most, and longer than the function's timeout.
		if e.TimeoutSeconds < 60 || e.TimeoutSeconds > 1740 {
			t.Errorf("%s: timeout of %d s", e.Name, e.TimeoutSeconds)
		}
		if !regexp.MustCompile(`^\d+(Mi|Gi)$`).MatchString(e.Memory) || e.RetryCount < 0 || e.RetryCount > 5 || e.Description == "" {
			t.Errorf("%s: memory %q, %d retries, description %q", e.Name, e.Memory, e.RetryCount, e.Description)
		}
		if !slices.Contains(e.Uses(), "firestore") {
			t.Errorf("%s has no role on Firestore, where its lease is", e.Name)
		}
	}
}

// TestEveryFolderIsListedAndBundled keeps a job from being written and never deployed.
func TestEveryFolderIsListedAndBundled(t *testing.T) {
	bundle, err := os.ReadFile(filepath.Join("..", "bundle.go"))
	if err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob("*/rules.go")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, e := range functions.All() {
		listed = append(listed, filepath.Join(e.Package, "rules.go"))
		imported := regexp.MustCompile(`/functions/` + e.Package + `" +// ` + e.Name + "\n")
		if !imported.Match(bundle) {
			t.Errorf("bundle.go does not import functions/%s for %s", e.Package, e.Name)
		}
	}
	slices.Sort(listed)
	if !slices.Equal(folders, listed) {
		t.Errorf("folders with rules %v, schedule.json lists %v", folders, listed)
	}
}

// TestJobsMeetNoClientLibrary keeps the rules readable and the writing in the engine.
func TestJobsMeetNoClientLibrary(t *testing.T) {
	files, err := filepath.Glob("*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %d files", err, len(files))
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, library := range []string{"cloud.google.com/", "firebase.google.com/", "google.golang.org/"} {
			if strings.Contains(string(text), `"`+library) {
				t.Errorf("%s imports %s: planners see readers and effects only", file, library)
			}
		}
	}
}
