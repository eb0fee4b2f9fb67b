package reliability

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

var (
	full   = flag.Bool("full", false, "try every point, which takes many minutes")
	sparse = flag.Int("sparse", 3, "without -full: try one of so many points of a selection; .ci/run tries all of it")
	write  = flag.Bool("write", false, "with -full: write the figures of the jobs that were tried to docs/reliability.md")
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

// print logs the figures and, if asked to, puts them into one of the page's tables, which stands between the comments
// <!-- name --> and <!-- end name -->. What was not tried stays there as it is.
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
	known := cellsOf(old)
	var table strings.Builder
	fmt.Fprintf(&table, "| job | %s |\n|---|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, s := range subjects() {
		fmt.Fprintf(&table, "| `%s` |", s.name)
		for _, column := range columns {
			at := [2]string{s.name, column}
			if c, tried := f.cells[at]; tried {
				known[at] = fmt.Sprintf("%d: %d", c.tried, c.different)
			}
			fmt.Fprintf(&table, " %s |", cmp.Or(known[at], "–"))
		}
		table.WriteString("\n")
	}
	if !*full {
		return
	}
	t.Logf("points tried: points with differences\n%s", table.String())
	if *write {
		// The page is one that people read, in a repository.
		if err := os.WriteFile(page, []byte(before+"<!-- "+name+" -->\n"+table.String()+"<!-- end "+name+" -->"+after), 0o644); err != nil { //nolint:gosec // see above
			t.Fatal(err)
		}
	}
}

// cellsOf returns a table's cells by job and column.
func cellsOf(table string) map[[2]string]string {
	cells := map[[2]string]string{}
	var columns []string
	for line := range strings.Lines(table) {
		row := strings.Split(strings.Trim(line, "| \n"), " | ")
		if columns == nil {
			columns = row
			continue
		}
		for i := 1; i < min(len(row), len(columns)); i++ {
			cells[[2]string{strings.Trim(row[0], "`"), columns[i]}] = row[i]
		}
	}
	return cells
}
