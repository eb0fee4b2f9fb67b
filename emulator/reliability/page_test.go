package reliability

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	full   = flag.Bool("full", false, "try every point, which takes many minutes")
	sparse = flag.Int("sparse", 3, "without -full: try one of so many points of a selection; .ci/run tries all of it")
	write  = flag.Bool("write", false,
		"with -full: write the figures of the jobs that were tried, with all their points, to docs/reliability.md")
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

// tables are the columns of the page's table.
var tables = []string{"faults", "races", "undone", "undo faults", "undo races"}

// print logs the figures and, if asked to, puts their sums into a column of the page's table, which stands between the comments
// <!-- figures --> and <!-- end figures -->. What was not tried stays there as it is.
func (f *figures) print(t *testing.T, name string, columns []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), "<!-- figures -->\n")
	old, after, found := strings.Cut(rest, "<!-- end figures -->")
	if !found || !slices.Contains(tables, name) {
		t.Fatalf("%s has no figures of %s", page, name)
	}
	tried, sums := map[[2]string]string{}, cellsOf(old)
	for _, s := range subjects() {
		var sum tally
		for _, column := range columns {
			if c, ok := f.cells[[2]string{s.name, column}]; ok {
				tried[[2]string{s.name, column}] = fmt.Sprintf("%d: %d", c.tried, c.different)
				sum = tally{sum.tried + c.tried, sum.different + c.different}
			}
		}
		if sum.tried > 0 {
			sums[[2]string{s.name, name}] = fmt.Sprintf("%d: %d", sum.tried, sum.different)
		}
	}
	if !*full {
		return
	}
	t.Logf("points tried: points with differences\n%s", tableOf(columns, tried))
	if *write {
		// The page is one that people read, in a repository.
		text := before + "<!-- figures -->\n" + tableOf(tables, sums) + "<!-- end figures -->" + after
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil { //nolint:gosec // see above
			t.Fatal(err)
		}
	}
}

// tableOf returns a table with a row for each job.
func tableOf(columns []string, cells map[[2]string]string) string {
	var table strings.Builder
	fmt.Fprintf(&table, "| job | %s |\n|---|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, s := range subjects() {
		fmt.Fprintf(&table, "| `%s` |", s.name)
		for _, column := range columns {
			fmt.Fprintf(&table, " %s |", cmp.Or(cells[[2]string{s.name, column}], "–"))
		}
		table.WriteString("\n")
	}
	return table.String()
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
