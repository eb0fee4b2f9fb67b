package functions_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/manifest"
)

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
