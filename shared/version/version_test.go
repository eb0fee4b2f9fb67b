package version

import (
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	t.Parallel()
	revision, modified := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	clean := debug.BuildSetting{Key: "vcs.modified", Value: "false"}
	for _, tt := range []struct {
		settings []debug.BuildSetting
		want     string
	}{
		{nil, Release}, {[]debug.BuildSetting{{Key: "GOOS", Value: "linux"}}, Release}, {[]debug.BuildSetting{revision, clean}, Release + "+0123456789ab"},
		{[]debug.BuildSetting{modified, revision}, Release + "+0123456789ab.dirty"}, {[]debug.BuildSetting{{Key: "vcs.revision", Value: "012"}}, Release + "+012"},
	} {
		if got := of(tt.settings); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.settings, got, tt.want)
		}
	}
}

// TestChangelogHasThisVersion: what is released has a section with its date, and what is on the way stands under Unreleased.
func TestChangelogHasThisVersion(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	first := regexp.MustCompile(`(?m)^## \[.*$`).FindString(string(text))
	want := regexp.MustCompile(`^## \[` + regexp.QuoteMeta(Release) + `\] - \d{4}-\d\d-\d\d$`)
	if strings.HasSuffix(Release, "-dev") {
		want = regexp.MustCompile(`^## \[Unreleased\]$`)
	}
	if !want.MatchString(first) {
		t.Errorf("CHANGELOG.md begins with %q, want %s for version %s", first, want, Release)
	}
}
