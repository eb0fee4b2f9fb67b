package firesweep_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/firesweep/firesweep/emulator/check"
)

var (
	codeOfPages = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	linkOfPages = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"`)
	anchors     = regexp.MustCompile(`(?m)^#+ (.*)$|<a id="([^"]+)">`)
	noAnchor    = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

// anchorsOf returns what a link into a page can name, as GitHub makes it of the headings.
func anchorsOf(page string) map[string]bool {
	all := map[string]bool{}
	for _, m := range anchors.FindAllStringSubmatch(page, -1) {
		name := m[2]
		if name == "" {
			name = strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		}
		all[name] = true
	}
	return all
}

// TestLinksOfPages: each link of a page leads to a file that exists, and to a heading of it.
func TestLinksOfPages(t *testing.T) {
	t.Parallel()
	root := os.DirFS(".")
	var pages []string
	err := fs.WalkDir(root, ".", func(file string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(file, ".md") && !strings.Contains(file, "node_modules") {
			pages = append(pages, file)
		}
		return err
	})
	ok(t, err)
	links := 0
	for _, page := range pages {
		for _, m := range linkOfPages.FindAllStringSubmatch(codeOfPages.ReplaceAllString(read(t, page), "code"), -1) {
			link := m[1] + m[2]
			if strings.Contains(link, "://") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(link, "#")
			to := page
			if file != "" {
				to = path.Join(path.Dir(page), file)
			}
			if _, err := fs.Stat(root, to); err != nil {
				t.Errorf("%s: the link %s leads to no file", page, link)
				continue
			}
			if anchor == "" {
				continue
			}
			if !anchorsOf(read(t, to))[anchor] {
				t.Errorf("%s: the link %s leads to no heading", page, link)
			}
		}
	}
	if links < 100 {
		t.Errorf("%d pages have %d links", len(pages), links)
	}
}

// TestThreatsNameTestsThatExist keeps the threat model in SECURITY.md from pointing to tests that are gone.
func TestThreatsNameTestsThatExist(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		folder := filepath.Base(filepath.Dir(path))
		if folder == "." {
			folder = "firesweep"
		}
		for _, m := range function.FindAllStringSubmatch(read(t, path), -1) {
			there[folder+"."+m[1]] = true
		}
		return nil
	})
	ok(t, err)
	_, threats, _ := strings.Cut(read(t, "SECURITY.md"), "\n## Threats\n")
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

// TestDependenciesAreExplained compares the direct dependencies in go.mod with those that CONTRIBUTING.md says a reason for.
func TestDependenciesAreExplained(t *testing.T) {
	t.Parallel()
	page := read(t, "CONTRIBUTING.md")
	var direct, explained []string
	parsed, err := modfile.Parse("go.mod", []byte(read(t, "go.mod")), nil)
	ok(t, err)
	for _, r := range parsed.Require {
		if !r.Indirect {
			direct = append(direct, r.Mod.Path)
		}
	}
	if len(direct) == 0 {
		t.Fatal("no direct dependency was found in go.mod")
	}
	_, section, _ := strings.Cut(page, "\n## Dependencies\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|").FindAllStringSubmatch(section, -1) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			explained = append(explained, m[1])
		}
	}
	slices.Sort(direct)
	slices.Sort(explained)
	check.Same(t, "direct dependencies in go.mod, and what CONTRIBUTING.md, Dependencies, explains", direct, explained)
}
