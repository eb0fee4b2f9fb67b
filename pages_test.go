package firesweep_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
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
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, page := range pages {
		text, err := fs.ReadFile(root, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range linkOfPages.FindAllStringSubmatch(codeOfPages.ReplaceAllString(string(text), "code"), -1) {
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
			target, err := fs.ReadFile(root, to)
			if err != nil {
				t.Fatal(err)
			}
			if !anchorsOf(string(target))[anchor] {
				t.Errorf("%s: the link %s leads to no heading", page, link)
			}
		}
	}
	if links < 100 {
		t.Errorf("%d pages have %d links", len(pages), links)
	}
}
