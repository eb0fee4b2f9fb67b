// Command lab measures jobs on a stand-in for Google's services, with and without a link before it, and writes
// docs/performance.md and its plots.
//
//	go run ./emulator/lab                             all of it, some twenty minutes on two cores that do nothing else
//	go run ./emulator/lab -case missing -items 1000   only to look at: nothing is written
//
// What is measured is the deployed function's own HTTP handler, in a process of its own with the memory limit and the one CPU
// that it is deployed with; [standin] says what it talks to.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/firesweep/firesweep/emulator/lab/names"
)

// options are the command's flags.
type options struct {
	only  string // a case; empty: all
	items int    // 0: as many as each case says
	docs  string // the folder of the page
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == childArgument {
		if err := runOne(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// A world of millions of documents is looked through less often, so the stand-in costs less.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(4 << 30)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "lab: "+err.Error())
		os.Exit(1)
	}
}

func parse(args []string, out io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("lab", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.only, "case", "", "measure one `CASE` only, and write nothing: "+strings.Join(caseNames(), ", "))
	flags.IntVar(&o.items, "items", 0, "measure with this `NUMBER` of items, only print what comes out, and write nothing")
	flags.StringVar(&o.docs, "docs", "docs", "write performance.md to this `FOLDER`, and its plots to performance in it")
	flags.Usage = func() {
		fmt.Fprintln(out, "Usage of lab:")
		flags.PrintDefaults()
		fmt.Fprintln(out, "The cases hold:")
		for _, m := range cases {
			fmt.Fprintf(out, "  %s: %s", m.name, m.about)
			if m.quota != "" {
				fmt.Fprintf(out, " What bounds it: %s.", m.quota)
			}
			fmt.Fprintln(out)
		}
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", flags.Arg(0))
	case o.only != "" && !slices.Contains(caseNames(), o.only):
		return o, fmt.Errorf("-case %s is not one of %s", o.only, strings.Join(caseNames(), ", "))
	case o.items < 0:
		return o, fmt.Errorf("-items %d is not a number of items", o.items)
	}
	return o, nil
}

// caseNames are what -case takes, in the order in which they are measured.
func caseNames() (all []string) {
	for _, m := range cases {
		all = append(all, m.name)
	}
	return append(all, namesCase, shardsCase)
}

func command(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	all := results{Machine: machine(time.Now())}
	for _, name := range caseNames() {
		if o.only != "" && name != o.only {
			continue
		}
		var runs []run
		switch name {
		case namesCase:
			runs, err = measureNames(ctx, names.Kinds, o.items, out)
		case shardsCase:
			runs, err = measureShards(ctx, cmp.Or(o.items, usualInShards), longLink, out)
		default:
			runs, err = measureCase(ctx, caseOf(name), o.items, out)
		}
		if err != nil {
			return err
		}
		all.Runs = append(all.Runs, runs...)
	}
	if o.only != "" || o.items > 0 {
		return nil
	}
	return all.write(o.docs)
}

// caseOf returns a case by its name.
func caseOf(name string) measured {
	return cases[slices.IndexFunc(cases, func(m measured) bool { return m.name == name })]
}

func measureCase(ctx context.Context, m measured, items int, out io.Writer) (runs []run, err error) {
	for _, p := range m.points(items) {
		r, err := measure(ctx, m, p)
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(out, r.line())
		runs = append(runs, r)
	}
	return medians(runs), nil
}

// point is what one run measures.
type point struct {
	items  int
	answer time.Duration // the link's
}

// longLink is the link over which each case is measured: how late Firestore answers somebody on another continent.
const longLink = 40 * time.Millisecond

// points returns the runs that measure a case: with as many items as it says, or with some other number.
func (m measured) points(items int) (all []point) {
	usual, more, most, turns := m.usual, m.more, m.most, max(1, m.turns)
	if items > 0 {
		usual, more, most, turns = items, nil, 0, 1
	}
	first := slices.IndexFunc(cases, func(of measured) bool { return of.job == m.job })
	if m.task == nil && cases[first].name == m.name {
		all = append(all, point{0, longLink})
	}
	for range turns { // in turns, so that a machine that becomes slower delays both
		all = append(all, point{usual, 0}, point{usual, longLink})
	}
	for _, n := range more {
		all = append(all, point{n, 0}, point{n, longLink})
	}
	if most > 0 {
		all = append(all, point{most, longLink})
	}
	return all
}

// medians returns, of runs that measured the same, the one that took the median time. It tells the most memory of them all.
func medians(runs []run) (all []run) {
	for len(runs) > 0 {
		same := []run{runs[0]}
		runs = slices.DeleteFunc(slices.Clone(runs[1:]), func(r run) bool {
			if r.same(same[0]) {
				same = append(same, r)
				return true
			}
			return false
		})
		slices.SortFunc(same, func(a, b run) int { return cmp.Compare(a.Elapsed, b.Elapsed) })
		r := same[len(same)/2]
		for _, s := range same {
			r.Memory = max(r.Memory, s.Memory)
		}
		all = append(all, r)
	}
	return all
}
