package firesweep_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThreatsNameTestsThatExist keeps the threat model in SECURITY.md from pointing to tests that are gone.
func TestThreatsNameTestsThatExist(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		folder := filepath.Base(filepath.Dir(path))
		if folder == "." {
			folder = "firesweep"
		}
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			there[folder+"."+m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, threats, _ := strings.Cut(string(text), "\n## Threats\n")
	threats, _, _ = strings.Cut(threats, "\n## ")
	named := regexp.MustCompile("`(\\w+\\.(?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(threats, -1)
	if len(named) < 40 {
		t.Fatalf("only %d tests are named in SECURITY.md, Threats", len(named))
	}
	for _, m := range named {
		if !there[m[1]] {
			t.Errorf("SECURITY.md names %s, which is not there", m[1])
		}
	}
	for line := range strings.Lines(threats) {
		if strings.HasPrefix(line, "| ") && !strings.Contains(line, "Test") && !strings.Contains(line, "| threat |") && !strings.Contains(line, "Fuzz") {
			t.Errorf("no test is named for the threat %s", line)
		}
	}
}
