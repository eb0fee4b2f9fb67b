package reliability

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	points = flag.Int("points", 2, "how many points of each kind are tried of each job; 0: all, in some twenty minutes")
	write  = flag.Bool("write", false, "with -points 0: write when the jobs were tried, and with which figures, to docs/contributing/reliability.md")
)

const page = "../../docs/contributing/reliability.md"

// figures are a row of the page's table: how many points were tried, and how many of them ended with a difference, by column.
type figures struct {
	mu               sync.Mutex
	tried, different map[string]int
}

// add counts a point.
func (f *figures) add(column string, different bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tried == nil {
		f.tried, f.different = map[string]int{}, map[string]int{}
	}
	if f.tried[column]++; different {
		f.different[column]++
	}
}

var pageInUse sync.Mutex

// write puts the row of a job into the page's table, between the comments <!-- figures --> and <!-- end figures -->. The rows of jobs
// that were not tried stay as they are.
func (f *figures) write(t *testing.T, job string) {
	t.Helper()
	if *points != 0 || !*write {
		return
	}
	pageInUse.Lock()
	defer pageInUse.Unlock()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), "<!-- figures -->\n")
	old, after, found := strings.Cut(rest, "<!-- end figures -->")
	if !found {
		t.Fatalf("%s has no figures", page)
	}
	columns := []string{"checks"}
	for _, k := range kinds {
		columns = append(columns, k.column)
	}
	row := "| `" + job + "` | " + time.Now().UTC().Format(time.DateOnly) + " |"
	for _, column := range columns {
		cell := "–"
		if n := f.tried[column]; n > 0 {
			cell = fmt.Sprintf("%d: %d", n, f.different[column])
		}
		row += " " + cell + " |"
	}
	table := "| job | tried on | " + strings.Join(columns, " | ") + " |\n|---|---|" + strings.Repeat("---|", len(columns)) + "\n"
	for _, s := range subjects() {
		has := func(line string) bool { return strings.HasPrefix(line, "| `"+s.name+"` |") }
		lines := strings.Split(old, "\n")
		if i := slices.IndexFunc(lines, has); s.name == job {
			table += row + "\n"
		} else if i >= 0 {
			table += lines[i] + "\n"
		}
	}
	// The page is one that people read, in a repository.
	if err := os.WriteFile(page, []byte(before+"<!-- figures -->\n"+table+"<!-- end figures -->"+after), 0o644); err != nil { //nolint:gosec
		t.Fatal(err)
	}
}
