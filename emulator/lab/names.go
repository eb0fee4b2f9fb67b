package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/emulator/lab/names"
	"github.com/firesweep/firesweep/emulator/lab/standin"
	"github.com/firesweep/firesweep/shared/engine"
)

// namesCase names the case live with objects of many kinds of names.
const namesCase = "names"

// How many objects are measured of each kind of names.
const (
	usualOfNames = 300_000
	hugeOfNames  = 1_000_000 // with -full
	hugeKinds    = 12        // the first kinds, which alone are measured with so many
)

// measureNames measures the case live with each kind of names, without a link and over the slowest one in turn, so that a machine
// that becomes slower delays both.
func measureNames(ctx context.Context, o options, kinds []names.Kind, out io.Writer) (runs []run, err error) {
	links := slices.Compact([]time.Duration{0, slices.Max(o.latencies)})
	for i, kind := range kinds {
		sizes := o.items
		if len(sizes) == 0 {
			sizes = []int{usualOfNames}
			if o.full && i < hugeKinds {
				sizes = append(sizes, hugeOfNames)
			}
		}
		for _, n := range sizes {
			all := kind.Names(n)
			m := cases[caseNumber("live")]
			m.world = func(n int, _ time.Time) standin.World {
				w := media(n, 0)
				w.Objects.Name = func(i int) string { return all[i] }
				return w
			}
			for _, latency := range links {
				r, err := measure(ctx, m, len(all), linkOf(latency, o), false, nil, o.heap)
				if err == nil && (r.Status != engine.Completed || r.Done > 0) {
					err = fmt.Errorf("the run ended as %s with %d deletions of live objects: %v", r.Status, r.Done, r.failures)
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

// writeNames writes a table of what a run takes with each kind of names.
func writeNames(b *strings.Builder, runs []run) {
	if runs = slices.DeleteFunc(slices.Clone(runs), func(r run) bool { return r.Case != namesCase }); len(runs) == 0 {
		return
	}
	b.WriteString(`
## Names of objects

The case live by how its objects are named. A listing is read as ranges of names side by side, and where to cut them is guessed
from the names that are known: so they decide how long the run waits. Each time is of one run, so small differences tell nothing.
Requests of pages are those of the run over the link, two of them for other folders; a page holds 1,000 objects.

| names | such as | objects | without a link | answers after | time | times the time without a link | requests of pages | a page |
|---|---|--:|--:|--:|--:|--:|--:|--:|
`)
	for _, kind := range names.Kinds {
		s := section{runs: slices.DeleteFunc(slices.Clone(runs), func(r run) bool { return r.Kind != kind.Name })}
		for _, r := range s.runs {
			if times, ok := s.ratio(r); ok {
				pages := (r.Items + 999) / 1000
				fmt.Fprintf(b, "| %s | `%s` | %s | %s | %s | %s | %.2f | %s | %.2f |\n", kind.Name, example(kind), thousands(r.Items),
					seconds(time.Duration(float64(r.Elapsed)/times)), r.Link.Firestore, seconds(r.Elapsed), times,
					thousands(int(r.Traffic.Listings)), float64(r.Traffic.Listings)/float64(pages))
			}
		}
	}
}

// example returns a name of a kind; of a long one, both ends.
func example(kind names.Kind) string {
	all := kind.Names(100)
	name := []rune(all[len(all)/2])
	if len(name) <= 60 {
		return string(name)
	}
	return string(name[:36]) + "…" + string(name[len(name)-20:])
}

// kindNumber returns the place of a kind of names; -1 for a run of another case.
func kindNumber(name string) int {
	return slices.IndexFunc(names.Kinds, func(k names.Kind) bool { return k.Name == name })
}
