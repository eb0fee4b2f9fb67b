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
	names := map[string]functions.Entry{}
	for _, e := range functions.All() {
		if _, twice := names[e.Name]; twice {
			t.Errorf("%s is listed twice", e.Name)
		}
		names[e.Name] = e
		if e.TimeoutSeconds < 60 || !regexp.MustCompile(`^\d+(Mi|Gi)$`).MatchString(e.Memory) || e.Description == "" {
			t.Errorf("%s: timeout of %d s, memory %q, description %q", e.Name, e.TimeoutSeconds, e.Memory, e.Description)
		}
		if !slices.Contains(e.Uses(), "firestore") {
			t.Errorf("%s has no role on Firestore, where its lease is", e.Name)
		}
	}
	called := map[string]bool{}
	for _, e := range functions.All() {
		switch e.Trigger {
		case functions.Schedule:
			wellFormedJob(t, e)
		case functions.Tasks:
			wellFormedWorker(t, e)
		default:
			t.Errorf("%s: trigger %q", e.Name, e.Trigger)
		}
		if (e.Worker != "") != slices.Contains(e.Uses(), "tasks") {
			t.Errorf("%s: worker %q, and it works on %v", e.Name, e.Worker, e.Uses())
		}
		if w := names[e.Worker]; e.Worker != "" && (w.Trigger != functions.Tasks || w.Package != e.Package) {
			t.Errorf("%s: its worker %s has trigger %q and package %q", e.Name, e.Worker, w.Trigger, w.Package)
		}
		called[e.Worker] = true
	}
	for _, e := range functions.All() {
		if e.Trigger == functions.Tasks && !called[e.Name] {
			t.Errorf("no job hands tasks to %s", e.Name)
		}
	}
}

func wellFormedJob(t *testing.T, e functions.Entry) {
	t.Helper()
	if !regexp.MustCompile(`^([0-9*/,~-]+ ){4}[0-9*/,~-]+$`).MatchString(e.Schedule) {
		t.Errorf("%s: schedule %q", e.Name, e.Schedule)
	}
	if _, err := time.LoadLocation(e.TimeZone); err != nil || e.TimeZone == "" {
		t.Errorf("%s: time zone %q: %v", e.Name, e.TimeZone, err)
	}
	// Cloud Scheduler waits 30 minutes at most, and longer than the function's timeout.
	if e.TimeoutSeconds > 1740 || e.StopAfterSeconds < 0 || e.StopAfterSeconds > e.TimeoutSeconds*9/10 || e.RetryCount < 0 || e.RetryCount > 5 {
		t.Errorf("%s: timeout of %d s, stops after %d s, %d retries", e.Name, e.TimeoutSeconds, e.StopAfterSeconds, e.RetryCount)
	}
	if e.Queue != nil {
		t.Errorf("%s is no worker and has a queue", e.Name)
	}
}

func wellFormedWorker(t *testing.T, e functions.Entry) {
	t.Helper()
	q := e.Queue
	if q == nil || q.MaxDispatchesPerSecond <= 0 || q.MaxConcurrentDispatches < 1 || q.MaxAttempts < 1 || q.MinBackoffSeconds < 1 || q.MaxBackoffSeconds < q.MinBackoffSeconds {
		t.Errorf("%s: queue %+v", e.Name, q)
	}
	if e.Schedule != "" || e.TimeZone != "" || e.RetryCount != 0 || e.StopAfterSeconds != 0 || e.Worker != "" {
		t.Errorf("%s is a worker and has what a job has: %+v", e.Name, e)
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
	names := map[string][]string{} // by package
	for _, e := range functions.All() {
		names[e.Package] = append(names[e.Package], e.Name)
	}
	var listed []string
	for folder, names := range names {
		listed = append(listed, filepath.Join(folder, "rules.go"))
		imported := regexp.MustCompile(`/functions/` + folder + `" +// ` + strings.Join(names, ", ") + "\n")
		if !imported.Match(bundle) {
			t.Errorf("bundle.go does not import functions/%s for %s", folder, strings.Join(names, ", "))
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
