package functions_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/firesweep/firesweep" // registers all functions
	"github.com/firesweep/firesweep/functions"
)

// TestEveryFolderIsListedAndBundled keeps a job from being written and never deployed.
func TestEveryFolderIsListedAndBundled(t *testing.T) {
	bundle := read(t, "../bundle.go")
	folders, err := filepath.Glob("*/rules.go")
	ok(t, err)
	names := map[string][]string{} // by package
	for _, e := range functions.All() {
		if e.Rule != nil {
			continue // it has no folder
		}
		names[e.Package] = append(names[e.Package], e.Name)
	}
	var listed []string
	for folder, names := range names {
		listed = append(listed, filepath.Join(folder, "rules.go"))
		imported := regexp.MustCompile(`/functions/` + folder + `" +// ` + strings.Join(names, ", ") + "\n")
		if !imported.MatchString(bundle) {
			t.Errorf("bundle.go does not import functions/%s for %s", folder, strings.Join(names, ", "))
		}
	}
	slices.Sort(listed)
	if !slices.Equal(folders, listed) {
		t.Errorf("folders with rules %v, manifest.json lists %v", folders, listed)
	}
}

// TestWhatIsListedIsRegistered keeps an entry from being deployed without a function that serves it.
func TestWhatIsListedIsRegistered(t *testing.T) {
	registered := functions.Registered()
	for _, e := range functions.All() {
		if job := registered[e.Name]; job.Plan == nil {
			t.Errorf("the list has %s, and no package registers it: functions/%s must call functions.Register in init", e.Name, e.Package)
		}
		delete(registered, e.Name)
	}
	for name := range registered {
		t.Errorf("%s is registered, and no list has it", name)
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
		text := read(t, file)
		for _, library := range []string{"cloud.google.com/", "firebase.google.com/", "google.golang.org/"} {
			if strings.Contains(text, `"`+library) {
				t.Errorf("%s imports %s: planners see readers and effects only", file, library)
			}
		}
	}
}
