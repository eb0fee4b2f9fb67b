package firesweep_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// TestDependenciesAreExplained compares the direct dependencies in go.mod with those that CONTRIBUTING.md says a reason for.
func TestDependenciesAreExplained(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	var direct, explained []string
	parsed, err := modfile.Parse("go.mod", mod, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range parsed.Require {
		if !r.Indirect {
			direct = append(direct, r.Mod.Path)
		}
	}
	if len(direct) == 0 {
		t.Fatal("no direct dependency was found in go.mod")
	}
	_, section, _ := strings.Cut(string(page), "\n## Dependencies\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|").FindAllStringSubmatch(section, -1) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			explained = append(explained, m[1])
		}
	}
	for _, module := range direct {
		if !slices.Contains(explained, module) {
			t.Errorf("CONTRIBUTING.md, Dependencies, has no line that says what %s is for", module)
		}
	}
	for _, module := range explained {
		if !slices.Contains(direct, module) {
			t.Errorf("CONTRIBUTING.md, Dependencies, explains %s, which is not a direct dependency in go.mod", module)
		}
	}
}
