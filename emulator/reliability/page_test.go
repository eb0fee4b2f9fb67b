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
		"with -full: write the figures of the jobs that were tried, with all their points, to docs/contributing/reliability.md")
)

const page = "../../docs/contributing/reliability.md"

// figures are a column of the page's table: how many points of each job were tried, and how many of them ended with a difference.
type figures struct {
	mu               sync.Mutex
	tried, different map[string]int
}

// add counts a point.
func (f *figures) add(job string, different bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tried == nil {
		f.tried, f.different = map[string]int{}, map[string]int{}
	}
	if f.tried[job]++; different {
		f.different[job]++
	}
}

// tables are the columns of the page's table.
var tables = []string{"faults", "races", "undone", "undo faults", "undo races"}

// print puts the figures into a column of the page's table, which stands between the comments <!-- figures --> and
// <!-- end figures -->, logs that, and writes it if asked to. What was not tried stays there as it is.
func (f *figures) print(t *testing.T, name string) {
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
	cells := cellsOf(old)
	for job, n := range f.tried {
		cells[[2]string{job, name}] = fmt.Sprintf("%d: %d", n, f.different[job])
	}
	if !*full {
		return
	}
	table := tableOf(tables, cells)
	t.Logf("points tried: points with differences\n%s", table)
	if *write {
		// The page is one that people read, in a repository.
		text := before + "<!-- figures -->\n" + table + "<!-- end figures -->" + after
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
