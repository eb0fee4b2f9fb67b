package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// baseline holds what was measured before anything ran side by side, at commit 8d7683e, on the same stand-in.
//
//go:embed baseline.json
var baseline []byte

// perSecond returns how many items a run came to a second.
func (r run) perSecond() float64 { return float64(r.Items) / r.Elapsed.Seconds() }

func (r run) who() string {
	if r.Seed {
		return "the seed's algorithm"
	}
	return r.Report.Job
}

// line says a run in one line.
func (r run) line() string {
	u := r.Report.Usage
	return fmt.Sprintf("%-8s %-20s %9s items, answers after %5s: %8s, %7s a second, %5d round trips of %6d requests, %d reads, %d writes, %d pages listed, %d MiB, CPU %s, %s",
		r.Case, r.who(), thousands(r.Items), r.Link.Firestore, seconds(r.Elapsed), thousands(int(r.perSecond())), r.Traffic.Chain, r.Traffic.Requests,
		u.FirestoreReads, u.FirestoreWrites, u.StorageClassA, r.Memory>>20, seconds(r.CPU), r.Report.Status)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s" }

// thousands writes a number with commas.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

const pageHead = `# Performance

What a run takes, and what it costs, as it is measured by

` + "```" + `
go run ./emulator/lab%s
` + "```" + `

which writes this page. A job runs by its function's own HTTP handler, in a process of its own with the memory limit and the one CPU that it is
deployed with, on a stand-in for Google's services (` + "`emulator/lab/standin`" + `, whose package documentation says what it assumes) that costs next to nothing
itself and answers after a time that is chosen, a quarter earlier or later by chance: Firestore and deletes of Cloud Storage after the time in the table, a page of a
listing after three times that.

- **Round trips** is the length of the longest chain of requests, each of which was sent after the answer to the one before had come. Whether it needed that
  answer nobody can see, so it is the most there can have been. Without a link it says nothing: then one answer comes after the other.
- **Reads** to **pages listed** are what Google bills, from the run's own report.
- **Memory** is the most that the process held, **CPU** what it computed. Times depend on the machine, which other programs may share: what compares is within one table.
- **At least** is what Google's quotas leave: 1,000 deletions of objects a second in a bucket, 500 of documents.
- **The seed's algorithm** is what the document that a job comes from does, with Google's plain clients: for each item one question after the other. It keeps nothing to take back, looks
  at nothing twice and has no safety limits. It is measured with %s items; beyond, it is reckoned.
`

// writePage writes the page and its plots beside it.
func writePage(path string, runs []run, args []string) error {
	var before []run
	if err := json.Unmarshal(baseline, &before); err != nil {
		return fmt.Errorf("read baseline.json: %w", err)
	}
	command := ""
	if len(args) > 0 {
		command = " " + strings.Join(args, " ")
	}
	var b strings.Builder
	fmt.Fprintf(&b, pageHead, command, thousands(seedItems))
	folder := strings.TrimSuffix(path, filepath.Ext(path))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, m := range cases {
		own := slices.DeleteFunc(slices.Clone(runs), func(r run) bool { return r.Case != m.name })
		if len(own) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## `%s`: %s\n\n%s\n\n![time by items](%s/%s.svg)\n\n", m.job, m.name, m.about, filepath.Base(folder), m.name)
		m.table(&b, own)
		m.ratios(&b, own)
		m.then(&b, before)
		if err := os.WriteFile(filepath.Join(folder, m.name+".svg"), []byte(m.plot(own)), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

const tableHead = `| | %s | answers after | time | a second | at least | round trips | requests | reads | writes | deletes | pages listed | memory | CPU |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
`

func (m measured) table(b *strings.Builder, runs []run) {
	fmt.Fprintf(b, tableHead, m.items)
	for _, r := range runs {
		r.row(b, m)
		if r.Seed && r.Link.Firestore > 0 && m.usual > r.Items {
			times := m.usual / r.Items
			took := time.Duration(times) * r.Elapsed
			fmt.Fprintf(b, "| reckoned | %s | %s | %s | %s | | %s | | %s | | | | | |\n", thousands(m.usual), r.Link.Firestore, seconds(took), thousands(int(r.perSecond())),
				thousands(times*int(r.Traffic.Chain)), thousands(times*int(r.Report.Usage.FirestoreReads)))
		}
	}
}

func (r run) row(b *strings.Builder, m measured) {
	u := r.Report.Usage
	least, trips := "", "–"
	if m.least != nil {
		least = seconds(m.least(r.Items))
	}
	if r.Link.Firestore > 0 {
		trips = thousands(int(r.Traffic.Chain))
	}
	status := ""
	if r.Report.Status != "completed" {
		status = " (" + string(r.Report.Status) + ")"
	}
	fmt.Fprintf(b, "| %s%s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %d MiB | %s |\n", r.who(), status, thousands(r.Items), r.Link.Firestore, seconds(r.Elapsed),
		thousands(int(r.perSecond())), least, trips, thousands(int(r.Traffic.Requests)), thousands(int(u.FirestoreReads)), thousands(int(u.FirestoreWrites)),
		thousands(int(u.FirestoreDeletes+u.StorageDeletes)), thousands(int(u.StorageClassA)), r.Memory>>20, seconds(r.CPU))
}

// ratios says how much longer the runs with most items took over a link than without.
func (m measured) ratios(b *strings.Builder, runs []run) {
	var none run
	most := 0
	for _, r := range runs {
		if !r.Seed {
			most = max(most, r.Items)
		}
	}
	for _, r := range runs {
		switch {
		case r.Seed || r.Items != most:
		case r.Link.Firestore == 0:
			none = r
		case none.Items > 0:
			fmt.Fprintf(b, "\nWith %s %s, answers after %s make it %.2f times as long as none.\n", thousands(most), m.items, r.Link.Firestore, r.Elapsed.Seconds()/none.Elapsed.Seconds())
		}
	}
}

// then says what was measured before.
func (m measured) then(b *strings.Builder, before []run) {
	before = slices.DeleteFunc(slices.Clone(before), func(r run) bool { return r.Case != m.name })
	if len(before) == 0 {
		return
	}
	b.WriteString("\nBefore anything ran side by side (commit 8d7683e), on the same stand-in:\n\n")
	fmt.Fprintf(b, tableHead, m.items)
	for _, r := range before {
		r.row(b, m)
	}
}
