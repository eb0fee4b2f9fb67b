package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/firesweep/firesweep/emulator/lab/names"
	"github.com/firesweep/firesweep/emulator/lab/standin"
	"github.com/firesweep/firesweep/emulator/plot"
)

// namesCase names the case live with objects of many kinds of names.
const namesCase = "names"

// sizesOfNames are how many objects are measured of each kind of names.
var sizesOfNames = []int{300_000, 1_000_000}

// measureNames measures the case live with each kind of names, without a link and over the long one in turn, so that a machine
// that becomes slower delays both.
func measureNames(ctx context.Context, kinds []names.Kind, items int, out io.Writer) (runs []run, err error) {
	sizes := sizesOfNames
	if items > 0 {
		sizes = []int{items}
	}
	for _, kind := range kinds {
		for _, n := range sizes {
			all := kind.Names(n)
			m := caseOf("live")
			m.world = func(n int, _ time.Time) *standin.World {
				w := media(n, 0)
				w.Objects.Name = func(i int) string { return all[i] }
				return w
			}
			for _, answer := range []time.Duration{0, longLink} {
				r, err := measure(ctx, m, point{items: len(all), answer: answer})
				if err == nil && r.Done > 0 {
					err = fmt.Errorf("%d live objects were deleted", r.Done)
				}
				if err != nil {
					return nil, fmt.Errorf("names of the kind %s: %w", kind.Name, err)
				}
				r.Case, r.Kind = namesCase, kind.Name
				fmt.Fprintln(out, r.line())
				runs = append(runs, r)
			}
		}
	}
	return runs, nil
}

const namesHead = `
## Names of objects

The case live by how its objects are named: a listing is read as ranges of names side by side, so the names decide how
long it waits. Of each kind some %s and %s objects are listed once without a link and once over answers
after %s.
*Times* is the second time by the first; *requests* are those of a page of 1,000 objects.

![times by kinds of names](performance/names.svg)

| names | such as | fewer: time | times | requests | more: time | times | requests |
|---|---|--:|--:|--:|--:|--:|--:|
`

// writeNames writes a table of what a run takes with each kind of names: a row for each kind, in which come its sizes.
func (all results) writeNames(b *strings.Builder) {
	fmt.Fprintf(b, namesHead, thousands(sizesOfNames[0]), thousands(sizesOfNames[1]), longLink)
	for _, kind := range names.Kinds {
		row := ""
		for _, r := range all.runsOf(namesCase, kind.Name) {
			if times, ok := all.ratio(r); ok {
				row += fmt.Sprintf(" %s | %.2f | %.2f |", seconds(r.Elapsed), times, r.requestsAPage())
			}
		}
		if row != "" {
			fmt.Fprintf(b, "| %s | `%s` |%s\n", kind.Name, example(kind), row)
		}
	}
}

// requestsAPage returns how many requests a run of live sent for each page of 1,000 objects.
func (r run) requestsAPage() float64 {
	return float64(r.Traffic.Listings) / float64((r.Items+999)/1000)
}

// namesPlot shows how many times as long a run takes with each kind of names as without a link.
func (all results) namesPlot() plot.Plot {
	p := plot.Plot{Title: "Names of objects: times as long as without a link", Step: 0.5,
		Tick: func(v float64) string { return fmt.Sprintf("%.1f", v) }}
	for _, kind := range names.Kinds {
		p.Rows = append(p.Rows, kind.Name)
		n := 0
		for _, r := range all.runsOf(namesCase, kind.Name) {
			if times, ok := all.ratio(r); ok {
				// A kind may have fewer names than were asked for, so its place tells its size.
				p.Set(thousands(sizesOfNames[min(n, len(sizesOfNames)-1)])+" objects", len(p.Rows)-1, times)
				n++
			}
		}
	}
	return p
}

// example returns a name of a kind; of a long one, both ends.
func example(kind names.Kind) string {
	all := kind.Names(100)
	name := []rune(all[len(all)/2])
	if len(name) <= 24 {
		return string(name)
	}
	return string(name[:14]) + "…" + string(name[len(name)-8:])
}
