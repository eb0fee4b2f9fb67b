package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

What the nine jobs cost in US dollars, beyond what is free: what the lab counted ([performance.md](performance.md)), by
Google's prices of %s (` + "`scripts/prices`" + `). ` + "`firesweep plan`, `runs` and `check`" + ` say the same of yours.

## What Google charges

| class of location | such as | 100,000 reads | writes | deletes | 1,000 class A | class B | GiB-month of documents | of files |
|---|---|--:|--:|--:|--:|--:|--:|--:|
`

const fixed = `
Deletions of files and calls of Authentication are free. A schedule costs %s a month (an account's first three are free),
a condition of an alert %s, a second of a run some %s with one CPU and 512 MiB (a month's first 180,000 are free), a
million tasks or requests %s. Firestore's free 50,000 reads, 20,000 writes and 20,000 deletes a day are for one database
of a project. Deletions by its TTL policies, which take the logs of runs away, are never free, and in no table.

## At rest

A month with nothing to do, in a project without data. What there is adds a read for a thousand documents that are
counted, and a class A operation for a thousand files that are listed.

| job | runs a month | reads and writes a run | %s |
|---|--:|--:|--:|--:|--:|
`

const deletions = `
## For 100,000 deletions, or a million files that stay

What the lab's cases used for so many actions of a job, with all that goes along, the log for undoing them, and what was
looked at.

| job | case | reads | writes | deletes | class A | %s |
|---|---|--:|--:|--:|--:|--:|--:|--:|
`

const keepingHead = `
## What keeping and undoing costs

| what | %s |
|---|--:|--:|--:|
`

const keeping = `
An undo reads its log three times, and looks twice at each file; its preview costs the same without writes and class A.
A file of a colder class that goes before its 30, 90 or 365 days is billed until then, unless Autoclass moved it; with
Autoclass it comes back as Standard.

A document that is deleted costs two reads: one finds it, the other is of the transaction that judges it again. The log
costs a write for each commit (up to 25 items with all that belongs to them, or 200 documents that are deleted alone),
30 to 100 files or 100 accounts, and later a delete each. What is pinned stays indexed, for storage alone: an exemption
would be for every collection ` + "`pinned`" + `, also one of yours.
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
	names := eachList(func(l prices.List) string { return l.Name })
	second := prices.VCPUSecond + prices.GiBSecond/2
	fmt.Fprintf(&b, fixed, prices.Dollars(prices.SchedulerJob), prices.Dollars(prices.AlertCondition), prices.Dollars(second),
		prices.Dollars(prices.Million), names)
	amounts := func(u usage.Usage) string {
		return eachList(func(l prices.List) string { return prices.Dollars(l.Of(u)) })
	}
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
			amounts(prices.Times(u, float64(n))))
	}
	fmt.Fprintf(&b, deletions, names)
	for _, r := range largest(runs) {
		times := actions / float64(r.Done)
		if r.Done == 0 {
			times = million / float64(r.Items)
		}
		if r.Done > 0 || r.Usage.StorageClassA > 0 {
			u := prices.Times(r.Usage, times)
			fmt.Fprintf(&b, "| `%s` | %s | %d | %d | %d | %d | %s |\n", r.Job, r.Case, u.FirestoreReads, u.FirestoreWrites,
				u.FirestoreDeletes, u.StorageClassA, amounts(u))
		}
	}
	fmt.Fprintf(&b, keepingHead, names)
	row := func(what, cells string) { fmt.Fprintf(&b, "| %s | %s |\n", what, cells) }
	row("soft delete for 7 days, of a TiB of files a month", tebibyte(7, func(l prices.List) float64 { return l.Object }))
	row("soft delete for 30 days", tebibyte(30, func(l prices.List) float64 { return l.Object }))
	row("point-in-time recovery, of a TiB changed or deleted", tebibyte(7, func(l prices.List) float64 { return l.Document }))
	row("undo of a million documents", amounts(undone(500, usage.Usage{FirestoreReads: million, FirestoreWrites: million})))
	row("undo of a million files", amounts(undone(100, usage.Usage{StorageClassA: million, StorageClassB: 2 * million})))
	b.WriteString(keeping)
	return b.Bytes()
}

// tebibyte returns what it costs to keep what goes in a month, by the price of a GiB, for so many days each.
func tebibyte(days float64, price func(prices.List) float64) string {
	return eachList(func(l prices.List) string { return prices.Dollars(1024 * price(l) * days / 30) })
}

const million = 1_000_000

// undone is what taking back a million things uses, with the log: its entries hold so many, and each is listed and read twice.
// What comes back is pinned, 500 with one write.
func undone(together int64, u usage.Usage) usage.Usage {
	return u.Plus(usage.Usage{FirestoreReads: 3 * million / together, FirestoreWrites: million / 500})
}

// eachList returns the cells of a row that are for the classes of locations.
func eachList(cell func(prices.List) string) string {
	cells := make([]string, len(prices.Lists))
	for i, l := range prices.Lists {
		cells[i] = cell(l)
	}
	return strings.Join(cells, " | ")
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
