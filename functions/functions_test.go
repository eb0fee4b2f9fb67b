package functions_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	_ "github.com/firesweep/firesweep" // registers all functions
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/manifest"
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

// ok ends a test that cannot go on.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	ok(t, err)
	return string(text)
}

// upstream returns the entries of manifest.json. Whoever declares rules of their own in rules.json need not touch our pages.
func upstream(t *testing.T) []manifest.Entry {
	t.Helper()
	list, err := functions.With(manifest.File{Name: "none", Text: []byte("{}")})
	ok(t, err)
	return list.All
}

// TestJobsPageAgreesWithManifest compares docs/jobs.md: a section a job in the same order, which begins with its schedule
// and names its worker.
func TestJobsPageAgreesWithManifest(t *testing.T) {
	page := read(t, "../docs/jobs.md")
	var got, want []string
	for _, m := range regexp.MustCompile("(?m)^## `(\\w+)`$").FindAllStringSubmatch(page, -1) {
		got = append(got, m[1])
	}
	for _, e := range upstream(t) {
		if e.Trigger != manifest.Schedule {
			continue
		}
		want = append(want, e.Name)
		text := section(t, page, "## `"+e.Name+"`")
		begins := strings.NewReplacer("daily ", "Daily at ", "daily, some", "Daily, some", "every", "Every", "minutes UTC", "minutes (UTC)").Replace(e.When())
		if !strings.HasPrefix(text, begins) {
			t.Errorf("docs/jobs.md: the section of %s begins with %.60q, want %q", e.Name, text, begins)
		}
		if e.Worker != "" && !strings.Contains(text, "**`"+e.Worker+"`**") {
			t.Errorf("docs/jobs.md: the section of %s does not describe its worker %s", e.Name, e.Worker)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/jobs.md (-manifest.json +page):\n%s", diff)
	}
}

// section returns what stands under a heading.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, text, found := strings.Cut(page, "\n"+heading+"\n")
	if !found {
		t.Fatalf("no heading %q", heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return strings.TrimSpace(text)
}
