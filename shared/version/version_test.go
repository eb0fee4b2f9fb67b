package version

import (
	"io/fs"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
)

func TestWith(t *testing.T) {
	t.Parallel()
	const commit = "v0.0.0-20260110150000-0123456789ab+dirty"
	for built, want := range map[string]string{"": Release, "(devel)": Release, "v" + Release: Release, commit: Release + " (" + commit + ")"} {
		check.Same(t, built, want, with(&debug.BuildInfo{Main: debug.Module{Version: built}}))
	}
	check.Same(t, "a program without modules", Release, with(nil))
}

func TestTag(t *testing.T) {
	t.Parallel()
	for release, want := range map[string]string{"1.2.3": "v1.2.3", "1.3.0-dev": "main"} {
		check.Same(t, release, want, tag(release))
	}
}

// TestPagesNameTheNewestRelease: what people copy from them pins the version that CHANGELOG.md has last or, before the first one, that
// which is on the way.
func TestPagesNameTheNewestRelease(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	changes, err := fs.ReadFile(root, "CHANGELOG.md")
	check.OK(t, err)
	newest := strings.TrimSuffix(Release, "-dev")
	if released := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\]`).FindSubmatch(changes); released != nil {
		newest = string(released[1])
	}
	pins, names := 0, regexp.MustCompile(`(?:firesweep@v?|[?]ref=v)(\d+\.\d+\.\d+)`)
	for _, pattern := range []string{"*.md", "docs/*.md", "release/*/*", "terraform/*", "terraform/examples/*/*"} {
		files, err := fs.Glob(root, pattern)
		if err != nil || len(files) == 0 {
			t.Errorf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, _ := fs.ReadFile(root, file) // nothing of a folder
			for _, pin := range names.FindAllSubmatch(text, -1) {
				if pins++; string(pin[1]) != newest {
					t.Errorf("%s names %s; the newest release is %s", file, pin[0], newest)
				}
			}
		}
	}
	if pins < 8 {
		t.Errorf("%d places name a release: those of README.md, of the module's README.md and examples, and of the action's example?", pins)
	}
}

// TestChangelogHasThisVersion: what is released has a section with its date, and what is on the way stands under Unreleased.
func TestChangelogHasThisVersion(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../CHANGELOG.md")
	check.OK(t, err)
	first := regexp.MustCompile(`(?m)^## \[.*$`).FindString(string(text))
	want := regexp.MustCompile(`^## \[` + regexp.QuoteMeta(Release) + `\] - \d{4}-\d\d-\d\d$`)
	if strings.HasSuffix(Release, "-dev") {
		want = regexp.MustCompile(`^## \[Unreleased\]$`)
	}
	if !want.MatchString(first) {
		t.Errorf("CHANGELOG.md begins with %q, want %s for version %s", first, want, Release)
	}
}
