package reliability

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	points = flag.Int("points", 2, "how many points of each kind are tried of each job; 0: all, in some twenty minutes")
	write  = flag.Bool("write", false, "with -points 0, and all jobs: write when they were tried, and with which figures, to docs/contributing/reliability.md")
)

const page = "../../docs/contributing/reliability.md"

// figures are how many points were tried of each job, and how many of them ended with a difference, by column.
type figures struct {
	mu   sync.Mutex
	rows map[string]map[string][2]int
}

// add counts a point.
func (f *figures) add(job, column string, different bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rows[job] == nil {
		f.rows[job] = map[string][2]int{}
	}
	n := f.rows[job][column]
	if n[0]++; different {
		n[1]++
	}
	f.rows[job][column] = n
}

// write writes the page's table, between the comments <!-- figures --> and <!-- end figures -->.
func (f *figures) write(t *testing.T) {
	t.Helper()
	columns := []string{"checks"}
	for _, k := range kinds {
		columns = append(columns, k.column)
	}
	table := "| job | " + strings.Join(columns, " | ") + " |\n|---|" + strings.Repeat("---|", len(columns)) + "\n"
	for _, s := range subjects() {
		if f.rows[s.name] == nil {
			t.Fatalf("nothing was tried of %s: the page has all jobs", s.name)
		}
		table += "| `" + s.name + "` |"
		for _, column := range columns {
			cell := "–"
			if n := f.rows[s.name][column]; n[0] > 0 {
				cell = fmt.Sprintf("%d: %d", n[0], n[1])
			}
			table += " " + cell + " |"
		}
		table += "\n"
	}
	text, err := os.ReadFile(page)
	ok(t, err)
	before, rest, _ := strings.Cut(string(text), "<!-- figures -->\n")
	_, after, found := strings.Cut(rest, "<!-- end figures -->")
	if !found {
		t.Fatalf("%s has no figures", page)
	}
	said := "Tried on " + time.Now().UTC().Format(time.DateOnly) + ":\n\n"
	// The page is one that people read, in a repository.
	if err := os.WriteFile(page, []byte(before+"<!-- figures -->\n"+said+table+"<!-- end figures -->"+after), 0o644); err != nil { //nolint:gosec
		t.Fatal(err)
	}
}
