package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

const pageHead = `# Performance

The time and the cost of a run, as measured by ` + "`go run ./emulator/lab`" + `, which writes this page in some twenty
minutes; ` + "`--help`" + ` says what each case holds.

A job runs by its function's own HTTP handler, in a process of its own with the memory limit and the one CPU that it
is deployed with, on a stand-in for Google's services that costs next to nothing itself (` + "`emulator/lab/standin`" + `
says what it assumes). It answers after a time that is chosen, a quarter more or less by chance, and with a page of a
listing after three times that. **All times of services are assumed**: the figures show what the program waits for and
what it asks at once, not how fast Google's services are.

- **Times** is the time over the link by the time without one. Every run waits for a few answers before it knows what
  there is: look at a small run's time, not at this ratio.
- **At least** is what Google's quotas leave, 500 writes of documents a second unless the case says otherwise, without
  what a run writes to its undo log and its todos.
- **Round trips** is the longest chain of requests of which each was sent after the answer to the one before.
  **Reads** and pages are what Google bills, from the run's own report; the read every five seconds that sees whether
  to stop is left out.
- **Memory** is the most that the process held, **CPU** what it computed.

## The jobs

Each case with its usual items; the last columns are of the run over the link, whose answers come after 40ms.

![time of each case](performance/jobs.svg)

| job | case | items | no link | 40ms | times | at least | round trips | requests | reads | memory |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
`

const busyText = `
In the case busy, the longest that a lookup waited for its turn, and with it whoever else asks for such documents, is
%s. With 200 lookups under way from the beginning (commit 46a5f4c) it was %s.
`

const largeHead = `
## Large runs

With SHARDS=%d a run lists all names to find where to cut, and each shard is a call of its own, on an instance of its
own: the last rows are of %s objects.

![time by items](performance/live.svg)

| case | objects | answers after | time | times | a second | requests | reads | pages listed | memory | CPU |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
`

// zeros are counts of nothing in JSON.
var zeros = regexp.MustCompile(`"\w+":0,|,"\w+":0\b`)

// perSecond returns how many items a run handled in a second.
func (r run) perSecond() float64 { return float64(r.Items) / r.Elapsed.Seconds() }

// line returns a run as a line for the terminal.
func (r run) line() string {
	u := r.Usage
	return fmt.Sprintf("%-12s %-29s %10s items, answers after %4s: %8s, %5d round trips of %6d requests, %d reads, %d writes, "+
		"%d pages listed, %d MiB, CPU %s, %s",
		cmp.Or(r.Kind, r.Case), r.Job, thousands(r.Items), r.Answer, seconds(r.Elapsed), r.Traffic.Chain, r.Traffic.Requests,
		u.FirestoreReads, u.FirestoreWrites, u.StorageClassA, r.Memory>>20, seconds(r.CPU), r.Status)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s" }

// lasting writes a time that may be long.
func lasting(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return seconds(d)
	case d < 2*time.Hour:
		return strconv.FormatFloat(d.Minutes(), 'f', 0, 64) + " min"
	default:
		return strconv.FormatFloat(d.Hours(), 'f', 1, 64) + " h"
	}
}

// thousands writes a number with commas.
func thousands(n int) string { return message.NewPrinter(language.English).Sprint(n) }

// rate writes how many items there are a second.
func rate(perSecond float64) string {
	if perSecond < 10 {
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	}
	return thousands(int(math.Round(perSecond)))
}

// machine returns where and when the figures were measured.
func machine(at time.Time) string {
	processor := "an unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, found := strings.Cut(string(text), "model name\t: "); found {
			processor, _, _ = strings.Cut(rest, "\n")
		}
	}
	return fmt.Sprintf("Measured on %d cores of %s, with %s on %s/%s; %s.",
		runtime.NumCPU(), processor, strings.Replace(runtime.Version(), "go", "Go ", 1), runtime.GOOS, runtime.GOARCH,
		at.UTC().Format("2006-01-02 15:04 MST"))
}
