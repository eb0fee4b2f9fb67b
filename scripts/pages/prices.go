package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/scripts/prices"
	"github.com/firesweep/firesweep/scripts/schedule"
	"github.com/firesweep/firesweep/shared/usage"
)

// measured is a run that the lab measured.
type measured struct {
	Case, Job   string
	Items, Done int
	Usage       usage.Usage
}

// pricePage makes docs/prices.md: what the nine jobs cost, by what the lab has counted and by the prices of scripts/prices.
func pricePage(docs string) (map[string][]byte, error) {
	text, err := os.ReadFile(filepath.Join(docs, "performance", "usage.json"))
	if err != nil {
		return nil, err
	}
	var runs []measured
	if err := json.Unmarshal(text, &runs); err != nil {
		return nil, fmt.Errorf("read what the lab measured: %w", err)
	}
	return map[string][]byte{"prices.md": pricesOf(runs)}, nil
}

const pricesHead = `# Prices

What the nine jobs cost in US dollars, beyond what Google gives for free, written by ` + "`go run ./scripts/pages`" + `
from what the lab has counted ([performance.md](performance.md)) and from one table in the code, ` + "`scripts/prices`" + `.
Prices of %s; a bill in another currency has other ones. ` + "`firesweep plan`" + ` says what a run would bill,
` + "`firesweep runs`" + ` what a job's runs of the month have used, and ` + "`firesweep check`" + ` what a rule of your own
costs.

## What Google charges

| class of location | such as | 100,000 reads | writes | deletes | 1,000 class A | class B | GiB-month of documents | of files |
|---|---|--:|--:|--:|--:|--:|--:|--:|
`

const fixed = `
Deletions of files and calls of Authentication are free. A schedule costs %s a month (an account's first three are free),
a condition of an alert %s, a second of a run some %s with one CPU and 512 MiB (a month's first 180,000 are free), a
million tasks or requests %s. Firestore's free 50,000 reads, 20,000 writes and 20,000 deletes a day are for one database
of a project; deletions by its TTL policies, which take the logs of runs away, count as deletes and are never free.

## At rest

A month in which there is nothing to do, in a project without data: what runs read and write at least. What there is
adds to it: a read for a thousand documents that are counted, a class A operation for a thousand files that are listed.

| job | runs a month | reads and writes a run | %s | %s |
|---|--:|--:|--:|--:|
`

const deletions = `
## For 100,000 deletions

What the lab's cases used, for 100,000 actions of a job: the actions with all that goes along, the log for undoing them,
and what was looked at. ` + "`go run ./emulator/lab --help`" + ` says what the cases hold.

| job | case | reads | writes | deletes | class A | %s | %s |
|---|---|--:|--:|--:|--:|--:|--:|
`

const objectsHead = `
## For a million files that stay

| job | case | reads | class A | %s | %s |
|---|---|--:|--:|--:|--:|
`

const actions = 100_000

func pricesOf(runs []measured) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, pricesHead, prices.Date)
	for _, l := range prices.Lists {
		fmt.Fprintf(&b, "| %s | %s |", l.Name, l.Where)
		for _, price := range []float64{l.Reads, l.Writes, l.Deletes, l.ClassA, l.ClassB, l.Document, l.Object} {
			fmt.Fprintf(&b, " $%g |", price)
		}
		b.WriteByte('\n')
	}
	dear, cheap := prices.Lists[0], prices.Lists[len(prices.Lists)-1]
	second := prices.VCPUSecond + prices.GiBSecond/2
	fmt.Fprintf(&b, fixed, prices.Dollars(prices.SchedulerJob), prices.Dollars(prices.AlertCondition), prices.Dollars(second),
		prices.Dollars(prices.Million), dear.Name, cheap.Name)
	both := func(u usage.Usage) string { return prices.Dollars(dear.Of(u)) + " | " + prices.Dollars(cheap.Of(u)) }
	for _, job := range functions.All() {
		var idle *measured // the last one
		for i, r := range runs {
			if r.Job == job.Name && r.Items == 0 {
				idle = &runs[i]
			}
		}
		if idle == nil || job.Schedule == "" {
			continue
		}
		n, u := schedule.Monthly(job), idle.Usage
		fmt.Fprintf(&b, "| `%s` | %d | %d and %d | %s |\n", job.Name, n, u.FirestoreReads, u.FirestoreWrites,
			both(prices.Times(u, float64(n))))
	}
	fmt.Fprintf(&b, deletions, dear.Name, cheap.Name)
	for _, r := range largest(runs) {
		if r.Done > 0 {
			u := prices.Times(r.Usage, actions/float64(r.Done))
			fmt.Fprintf(&b, "| `%s` | %s | %d | %d | %d | %d | %s |\n", r.Job, r.Case, u.FirestoreReads, u.FirestoreWrites,
				u.FirestoreDeletes, u.StorageClassA, both(u))
		}
	}
	fmt.Fprintf(&b, objectsHead, dear.Name, cheap.Name)
	for _, r := range largest(runs) {
		if r.Done == 0 && r.Usage.StorageClassA > 0 {
			u := prices.Times(r.Usage, 1_000_000/float64(r.Items))
			fmt.Fprintf(&b, "| `%s` | %s | %d | %d | %s |\n", r.Job, r.Case, u.FirestoreReads, u.StorageClassA, both(u))
		}
	}
	return b.Bytes()
}

// largest returns of each case the run with the most items, in the order of the cases.
func largest(runs []measured) (all []measured) {
	for _, r := range runs {
		switch last := len(all) - 1; {
		case r.Items == 0:
		case last >= 0 && all[last].Case == r.Case && all[last].Items <= r.Items:
			all[last] = r
		case last < 0 || all[last].Case != r.Case:
			all = append(all, r)
		}
	}
	return all
}
