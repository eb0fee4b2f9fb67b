// Command regret writes docs/regret.md: how often somebody comes back to what a rule has deleted, by the rule's age, in a year of
// a simulated application.
//
//	go run ./scripts/regret           # write
//	go run ./scripts/regret --check   # fail if it is out of date
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/firesweep/firesweep/emulator/plot"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail if the page is out of date")
	docs := flag.String("docs", "docs", "the folder of the page")
	flag.Parse()
	if err := run(*docs, *check); err != nil {
		fmt.Fprintln(os.Stderr, "regret: "+err.Error())
		os.Exit(1)
	}
}

func run(docs string, check bool) error {
	for name, text := range pages() {
		path := filepath.Join(docs, name)
		old, err := os.ReadFile(path)
		switch {
		case err == nil && bytes.Equal(old, []byte(text)):
			continue
		case err != nil && !os.IsNotExist(err):
			return err
		case check:
			return fmt.Errorf("%s is out of date: run go run ./scripts/regret", path)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // a page for everybody
			return err
		}
	}
	return nil
}

const head = `# Why 90 days and not 30

An age is a guess about people: after so many days, nobody comes back. This page, written by ` + "`go run ./scripts/regret`" + `,
shows what a wrong guess costs. It lets people use a simulated application for a year, deletes each night what is older
than N days, and then looks who would have come back to it. **The people are assumed; yours are not.** For your own data
ask ` + "`firesweep backtest`" + `, which compares what a rule would have deleted a week ago with what happened since.

![regret by age](regret.svg)

*Regret* is the share of the deleted items that somebody came back to within two years. *Waiting* is how many items that
nobody ever needs again lie there on an average day: what a longer age costs.

`

// pages writes the page and its plot.
func pages() map[string]string {
	var b strings.Builder
	b.WriteString(head)
	p := plot.Plot{Title: "Deleted items that somebody came back to, by the rule's age", Step: 5,
		Tick: func(v float64) string { return fmt.Sprintf("%g %%", v) }}
	for _, age := range ages {
		p.Rows = append(p.Rows, fmt.Sprintf("%d days", age))
	}
	for _, k := range kinds {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n```json\n%s\n```\n\n", strings.ToUpper(k.name[:1])+k.name[1:], k.why, k.rule)
		b.WriteString("| N | deleted in the year | regret | waiting |\n|--:|--:|--:|--:|\n")
		items := k.live()
		for row, age := range ages {
			o := judge(items, age)
			p.Set(k.name, row, 100*o.share())
			fmt.Fprintf(&b, "| %d | %d | %.2f %% | %.0f |\n", age, o.deleted, 100*o.share(), o.waiting)
		}
		b.WriteString("\n")
	}
	b.WriteString(tail)
	return map[string]string{"regret.md": b.String(), "regret.svg": p.SVG()}
}

const tail = `## What to read from it

- The right age depends on why people come back, not on the size of the collection: trash is decided within days, guests
  come back for the next season.
- Regret falls slowly at the end. What cannot be regretted is what can be taken back: ` + "`UNDO_DAYS`" + ` covers the first weeks
  after a deletion, and a warning some days before it brings back those who still care.
- What waits costs storage only. If it is not much, choose the longer age.
`
