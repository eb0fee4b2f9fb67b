// Command lab measures jobs on a stand-in for Google's services, over links of several lengths, and writes docs/performance.md.
// The case names measures one job with objects named in many ways.
//
//	go run ./emulator/lab        takes some fourteen minutes
//	go run ./emulator/lab -full  from 1,000 to 10,000,000 items; takes an hour and twenty-five minutes
//	go run ./emulator/lab -case missing -items 50000 -latency 0,40ms -page ""
//	go run ./emulator/lab -backend emulator   on Google's emulator of Firestore and the other local backends
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
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/firesweep/firesweep/emulator/lab/names"
)

// options are the command's flags.
type options struct {
	spread, errors, quota float64
	seed                  uint64
	full                  bool
	only                  string // a case
	local                 bool   // on the local backends
	items                 []int
	latencies             []time.Duration
	page                  string
	heap                  string // the file for a profile
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == childArgument {
		if err := runOne(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
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
	flags.BoolVar(&o.full, "full", false, "measure from 1,000 to 1,000,000 items, and ten million where that is what a job is for")
	flags.StringVar(&o.only, "case", "", "measure one `CASE` only: "+strings.Join(caseNames(), ", "))
	backend := flags.String("backend", "standin", "measure on the `BACKEND` standin, or on emulator: the local backends, Google's emulator of Firestore among them, which takes its own time; no page is written then")
	items := flags.String("items", "", "measure these `NUMBERS` of items")
	latencies := flags.String("latency", "0,10ms,40ms", "measure with answers of Firestore after these `TIMES`; a page of a listing takes three times as long")
	flags.StringVar(&o.page, "page", "docs/performance.md", "write what was measured to this `FILE`; empty: only print it")
	flags.StringVar(&o.heap, "heap", "", "write a profile of the heap, as the last run's plan fills it, to this `FILE`")
	flags.Float64Var(&o.spread, "spread", 0.25, "the `PART` of its time by which an answer may come earlier or later")
	flags.Float64Var(&o.errors, "errors", 0, "`PART` of the requests that are answered Unavailable or 503")
	flags.Float64Var(&o.quota, "quota", 0, "`PART` of the requests that are answered ResourceExhausted or 429")
	flags.Uint64Var(&o.seed, "seed", 14, "`NUMBER` that what happens by chance depends on")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q; see -help", flags.Arg(0))
	}
	if o.only != "" && !slices.Contains(caseNames(), o.only) {
		return o, fmt.Errorf("-case %s is not one of %s", o.only, strings.Join(caseNames(), ", "))
	}
	if o.local = *backend == "emulator"; o.local {
		o.page = ""
	} else if *backend != "standin" {
		return o, fmt.Errorf("-backend %s is neither standin nor emulator", *backend)
	}
	for name, part := range map[string]float64{"spread": o.spread, "errors": o.errors, "quota": o.quota} {
		if part < 0 || part >= 1 {
			return o, fmt.Errorf("-%s %v must be at least 0 and less than 1", name, part)
		}
	}
	for text := range strings.SplitSeq(*items, ",") {
		n, err := strconv.Atoi(text)
		if *items != "" && (err != nil || n < 1) {
			return o, fmt.Errorf("-items: %q is not a number of items", text)
		}
		if *items != "" {
			o.items = append(o.items, n)
		}
	}
	for text := range strings.SplitSeq(*latencies, ",") {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return o, fmt.Errorf("-latency: %q is not a time such as 40ms", text)
		}
		o.latencies = append(o.latencies, d)
	}
	return o, nil
}

func caseNames() (all []string) {
	for _, m := range cases {
		all = append(all, m.name)
	}
	return append(all, namesCase, shardsCase)
}

// seedItems is how many items the seeds' algorithms are measured with by -full; otherwise it is a fifth of them. More items take
// as much longer as there are more.
const seedItems = 1000

func command(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	var on *local
	if o.local {
		started, err := startLocal(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = started.Close() }() // nothing is kept in them
		on = &started
	}
	for _, m := range cases {
		if o.only != "" && m.name != o.only {
			continue
		}
		var runs []run
		for _, p := range o.points(m) {
			r, err := measure(ctx, m, p.items, linkOf(p.latency, o), p.seed, on, o.heap)
			if err != nil {
				return err
			}
			fmt.Fprintln(out, r.line())
			runs = append(runs, r)
		}
		if o.page == "" {
			continue
		}
		// Now, and not at the end: the figures of hours are not lost to a case that fails.
		if err := writePage(o.page, o, args, m.name, medians(runs), nil); err != nil {
			return err
		}
	}
	if o.local {
		return nil
	}
	if o.only == "" || o.only == namesCase {
		runs, err := measureNames(ctx, o, names.Kinds, out)
		if err == nil && o.page != "" {
			err = writePage(o.page, o, args, namesCase, runs, nil)
		}
		if err != nil {
			return err
		}
	}
	if o.only != "" && o.only != shardsCase {
		return nil
	}
	n := usualInShards
	switch {
	case len(o.items) > 0:
		n = slices.Max(o.items)
	case o.full:
		n = hugeInShards
	}
	inShards, err := measureShards(ctx, n, linkOf(slices.Max(o.latencies), o), out)
	if err != nil || o.page == "" {
		return err
	}
	return writePage(o.page, o, args, shardsCase, nil, &inShards)
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

// point is what one run measures.
type point struct {
	items   int
	latency time.Duration
	seed    bool
}

// points returns the runs that measure a case.
func (o options) points(m measured) (all []point) {
	slowest := slices.Max(o.latencies)
	if len(o.items) == 0 && m.task == nil && !o.local && slices.IndexFunc(cases, func(of measured) bool { return of.job == m.job }) == caseNumber(m.name) {
		all = append(all, point{0, slowest, false}) // once for each job
	}
	for _, n := range o.sizes(m) {
		turns := 1
		if n == m.usual {
			turns = max(1, m.turns)
		}
		for range turns {
			for _, latency := range o.latencies {
				all = append(all, point{n, latency, false})
			}
		}
	}
	if len(o.items) > 0 {
		return all
	}
	if o.full && m.huge > 0 {
		all = append(all, point{m.huge, slowest, false})
	}
	n := seedItems / 5
	switch {
	case m.bulk && !o.local:
		n = m.usual
	case o.full:
		n = seedItems
	}
	for _, latency := range o.latencies {
		all = append(all, point{min(n, m.usual), latency, true})
	}
	return all
}

// sizes returns the numbers of items that a case is measured with.
func (o options) sizes(m measured) []int {
	switch {
	case len(o.items) > 0:
		return o.items
	case o.full:
		return m.upTo(1000, 10_000, 100_000, 1_000_000, m.usual)
	case o.local:
		return m.upTo(min(seedItems/5, m.usual))
	default:
		return m.upTo(min(1000, m.usual), min(10_000, m.usual), m.usual)
	}
}

// upTo bounds numbers of items by the most that the case is measured with, and returns each once.
func (m measured) upTo(numbers ...int) []int {
	var all []int
	for _, n := range numbers {
		all = append(all, min(n, m.most))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
