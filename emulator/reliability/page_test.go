package reliability

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

var (
	full  = flag.Bool("full", false, "try every point, which takes many minutes")
	write = flag.Bool("write", false, "with -full: write the figures of the jobs that were tried to docs/reliability.md")
)

const page = "../../docs/reliability.md"

// tally counts the points of one job and one column of a table.
type tally struct{ tried, different int }

// figures are a table of the page: by job and column.
type figures struct {
	mu    sync.Mutex
	cells map[[2]string]tally
}

// add counts a point.
func (f *figures) add(job, column string, different bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cells == nil {
		f.cells = map[[2]string]tally{}
	}
	c := f.cells[[2]string{job, column}]
	c.tried++
	if different {
		c.different++
	}
	f.cells[[2]string{job, column}] = c
}

// print logs the figures and, if asked to, replaces the rows of the jobs that were tried in one of the page's tables: what stands
// between the comments <!-- name --> and <!-- end name -->.
func (f *figures) print(t *testing.T, name string, columns []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), "<!-- "+name+" -->\n")
	old, after, ended := strings.Cut(rest, "<!-- end "+name+" -->")
	if !found || !ended {
		t.Fatalf("%s has no table %s", page, name)
	}
	var table strings.Builder
	fmt.Fprintf(&table, "| job | %s |\n|---|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, s := range subjects() {
		row := "| `" + s.job.Name + "` |"
		tried := false
		for _, column := range columns {
			c, ok := f.cells[[2]string{s.job.Name, column}]
			tried = tried || ok
			if c.tried == 0 {
				row += " – |"
			} else {
				row += fmt.Sprintf(" %d: %d |", c.tried, c.different)
			}
		}
		if !tried {
			row = oldRow(old, s.job.Name)
		}
		if row != "" {
			table.WriteString(row + "\n")
		}
	}
	t.Logf("points tried: points with differences\n%s", table.String())
	if *full && *write {
		// The page is one that people read, in a repository.
		if err := os.WriteFile(page, []byte(before+"<!-- "+name+" -->\n"+table.String()+"<!-- end "+name+" -->"+after), 0o644); err != nil { //nolint:gosec // see above
			t.Fatal(err)
		}
	}
}

// oldRow returns the row that a table has for a job, "" if none.
func oldRow(table, job string) string {
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "| `"+job+"` |") {
			return strings.TrimSuffix(line, "\n")
		}
	}
	return ""
}
