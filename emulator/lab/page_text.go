package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/engine"
)

const pageHead = `# Performance

The time and the cost of a run, as measured by

` + "```" + `
%s
` + "```" + `

which writes this page. With ` + "`-case missing`" + ` it measures that case again and leaves the others as they are; ` + "`-help`" + ` tells the rest.
`

const howMeasured = `
## How it is measured

A job runs by its function's own HTTP handler, in a process of its own with the memory limit and the one CPU that it is deployed with, on a stand-in for Google's
services (` + "`emulator/lab/standin`" + `, whose package documentation says what it assumes). The stand-in costs next to nothing itself: its documents and objects are
computed from their number, not stored. It answers after a time that is chosen, a quarter earlier or later by chance: Firestore, Authentication, Cloud
Tasks and deletes of Cloud Storage after the time in the table, a page of a listing after three times that.

- **Round trips** is the length of the longest chain of requests, each of which was sent after the answer to the one before had come. Nobody
  can see whether it needed that answer, so this is an upper bound. Without a link the figure means nothing, because answers then come one after the other.
- **Reads** to **calls** are what Google bills, from the run's own report: documents read, written and deleted (objects among these), pages of listings, and calls of Authentication and
  tasks together. One read every five seconds, by which a run sees whether it is to stop, is left out.
- **Memory** is the most that the process held, **CPU** what it computed. Times depend on the machine, which other programs may share: compare figures only within one table.
- **At least** is the time that the quota named in the section allows. It leaves out what a run writes to its undo log, and of what is left to do.
- **The seed's algorithm** is what the document that a job comes from does, with Google's plain clients: for each item one question after the other. It keeps nothing to take back, checks
  nothing a second time and has no safety limits. It is measured with few items. A row that says *extrapolated* is for more: it takes as much longer as there are more items.

**All times of services are assumed.** The stand-in has no hot spots and no contention, and it does not know how long Firestore takes for a query or a commit: the figures show
what the program waits for and what it asks at once, not how fast Google's services are. ` + "`go run ./emulator/lab -backend emulator`" + ` runs the
same cases on Google's emulator of Firestore and the other local backends, with the same link before them. Its semantics are the real ones, and its times are the emulator's own.
`

// inShort writes a table: of each case, the run with most items over the slowest link.
func inShort(b *strings.Builder, sections []section) {
	b.WriteString(`
## In short

Each case with the most items that it was measured with, over the slowest link. Every run waits for a few answers before it knows what there is. So over
a link a small run takes many times as long as without one: look at its time, not at the ratio.

| job | case | items | answers after | time | a second | times the time without a link | at least, by the quota | the seed's algorithm | memory |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
`)
	for _, s := range sections {
		link := s.slowest()
		r := s.largest(link)
		if r.Items == 0 {
			continue
		}
		times, least, seed := "", "", ""
		if by, ok := s.ratio(r); ok {
			times = fmt.Sprintf("%.2f", by)
		}
		if s.least != nil {
			least = lasting(s.least(r.Items))
		}
		for _, of := range s.runs {
			if of.Seed && of.Link.Firestore == link {
				seed = lasting(of.times(max(r.Items, of.Items)).Elapsed)
			}
		}
		fmt.Fprintf(b, "| `%s` | [%s](#%s) | %s %s | %s | %s | %s | %s | %s | %s | %d MiB |\n", s.job, s.name, s.anchor(), thousands(r.Items), s.items, link, lasting(r.Elapsed),
			rate(r.perSecond()), times, least, seed, r.Memory>>20)
	}
}

// title is the section's headline, and anchor what a link to it names.
func (s section) title() string { return "`" + s.job + "`: " + s.name }

func (s section) anchor() string {
	return strings.ToLower(strings.NewReplacer("`", "", ":", "", " ", "-").Replace(s.title()))
}

// nothingToDo writes what each job costs on a project without data.
func nothingToDo(b *strings.Builder, idle []run) {
	if len(idle) == 0 {
		return
	}
	b.WriteString(`
## Nothing to do

A run on a project without data: the least that a run costs.

| job | answers after | time | round trips | requests | reads | writes | pages listed |
|---|--:|--:|--:|--:|--:|--:|--:|
`)
	for _, r := range idle {
		u := r.Usage
		fmt.Fprintf(b, "| `%s` | %s | %s | %d | %d | %d | %d | %d |\n", r.Job, r.Link.Firestore, seconds(r.Elapsed), r.Traffic.Chain, r.Traffic.Requests, u.FirestoreReads, u.FirestoreWrites, u.StorageClassA)
	}
}

// rate writes how many items there are a second.
func rate(perSecond float64) string {
	if perSecond < 10 {
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	}
	return thousands(int(math.Round(perSecond)))
}

const tableHead = `| | %s | answers after | time | a second | at least | round trips | requests | reads | writes | deletes | pages listed | calls | memory | CPU |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
`

func (s section) write(b *strings.Builder, folder string) {
	fmt.Fprintf(b, "\n## %s\n\n%s", s.title(), s.about)
	if s.quota != "" {
		fmt.Fprintf(b, " The quota that bounds it: %s.", s.quota)
	}
	if s.why != "" {
		fmt.Fprintf(b, " It is measured with up to %s %s. %s", thousands(s.most), s.items, s.why)
	}
	if s.turns > 0 {
		fmt.Fprintf(b, " With %s %s each time is the median of %d runs, over each link in turn.", thousands(s.usual), s.items, s.turns)
	}
	fmt.Fprintf(b, "\n\n![time by items](%s/%s.svg)\n\n", folder, s.name)
	s.table(b, s.runs)
	for _, r := range s.runs {
		if by, ok := s.ratio(r); ok && !r.Seed && (r.Items == s.largest(0).Items || r.Items == s.usual) {
			fmt.Fprintf(b, "\nWith %s %s, answers after %s make the run %.2f times as long as without a link. Its longest chain of round trips alone waits up to %s.\n",
				thousands(r.Items), s.items, r.Link.Firestore, by, seconds(r.Traffic.Waits))
		}
	}
	if s.bears > 0 {
		var turn time.Duration
		for _, r := range s.runs {
			turn = max(turn, r.Traffic.Turn)
		}
		fmt.Fprintf(b, "\nThe longest that a lookup waited for its turn, and with it whoever else asks for such documents, is %s. With 200 lookups under way from the beginning "+
			"(commit 46a5f4c), it was %s, and the run took about as long.\n", seconds(turn), seconds(atOnce))
	}
	if len(s.before) > 0 {
		b.WriteString("\nBefore anything ran side by side (commit 8d7683e), on the same stand-in:\n\n")
		s.table(b, s.before)
	}
}

func (s section) table(b *strings.Builder, runs []run) {
	fmt.Fprintf(b, tableHead, s.items)
	for _, r := range runs {
		s.row(b, r)
		if most := s.largest(r.Link.Firestore).Items; r.Seed && r.Link.Firestore > 0 && most > r.Items {
			s.row(b, r.times(most))
		}
	}
}

// row writes a line of a table. A run without a figure of its memory is extrapolated.
func (s section) row(b *strings.Builder, r run) {
	u := r.Usage
	number := func(n int64) string {
		if n == 0 {
			return ""
		}
		return thousands(int(n))
	}
	who, memory, computed := r.who(), fmt.Sprintf("%d MiB", r.Memory>>20), seconds(r.CPU)
	if r.Memory == 0 {
		who, memory, computed = "*extrapolated*", "", ""
	}
	if r.Runs > 1 {
		who += fmt.Sprintf(", %d runs", r.Runs)
	}
	if r.Status != engine.Completed {
		who += " (" + string(r.Status) + ")"
	}
	least, trips := "", "–"
	if s.least != nil {
		least = lasting(s.least(r.Items))
	}
	if r.Link.Firestore > 0 {
		trips = thousands(int(r.Traffic.Chain))
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", who, thousands(r.Items), r.Link.Firestore, lasting(r.Elapsed),
		rate(r.perSecond()), least, trips, number(r.Traffic.Requests), number(u.FirestoreReads), number(u.FirestoreWrites),
		number(u.FirestoreDeletes+u.StorageDeletes), number(u.StorageClassA), number(u.AuthCalls+u.Tasks), memory, computed)
}

// What the functions and Terraform allow a run of cleanupOrphanedMedia.
const (
	splitTime   = 570 * time.Second // what is left of ten minutes after the last tenth or thirty seconds
	planTime    = splitTime / 2
	continueFor = 6 * time.Hour
)

// tenMillion writes how long ten million objects take, by the rates that were measured.
func tenMillion(b *strings.Builder, sections []section) {
	const objects = 10_000_000
	for _, s := range sections {
		r := s.largest(s.slowest())
		if s.name != "live" && s.name != "missing" || r.Link.Firestore == 0 {
			continue
		}
		if s.name == "live" {
			fmt.Fprintf(b, `
## Ten million objects in one night

One instance, answers after %s, pages of a listing after %s. A run of cleanupOrphanedMedia plans for at most %s and hands the rest to itself at once; a night is the six hours of CONTINUE_FOR.

`, r.Link.Firestore, r.Link.Listing, seconds(planTime))
		}
		each := math.Floor(r.perSecond())
		took := time.Duration(objects / each * float64(time.Second))
		if s.name == "live" {
			fmt.Fprintf(b, "- **All live**: %s objects took %s in %s, so %s a second. ", thousands(r.Items), lasting(r.Elapsed), runsOf(r.Runs), thousands(int(each)))
			if r.Items >= objects {
				b.WriteString("This is measured, not extrapolated. ")
			} else {
				fmt.Fprintf(b, "10,000,000 / %s = %s, in %s of %s. ", thousands(int(each)), lasting(took), runsOf(runsFor(took)), seconds(planTime))
			}
			fmt.Fprintf(b, "In six hours it would be %s million.\n", thousands(int(each*continueFor.Seconds()/1e6)))
			continue
		}
		deletions := s.due(objects)
		fmt.Fprintf(b, "- **One post of eleven missing**: %s objects took %s, so %s a second, deletions included. 10,000,000 / %s = %s; Cloud Storage's 1,000 deletions a second leave %s at least for the %s. "+
			"That is more than MAX_ACTIONS (100,000 unless set), which holds for all runs of the night together, so such a run is aborted. "+
			"After somebody has looked, `{\"force\":true}` does it in windows of 10,000 actions, in no more memory.\n",
			thousands(r.Items), lasting(r.Elapsed), thousands(int(each)), thousands(int(each)), lasting(took), lasting(s.least(objects)), thousands(deletions))
	}
}

// runsFor returns how many runs plan for so long.
func runsFor(took time.Duration) int { return int(math.Ceil(took.Seconds() / planTime.Seconds())) }

func runsOf(n int) string {
	if n == 1 {
		return "one run"
	}
	return strconv.Itoa(n) + " runs"
}

// What Google's services take from all shards together.
const (
	deletesOfAll  = 1000 // a second, of objects; shards share them
	listingsOfAll = 5000 // requests a second that a bucket answers at first, before Cloud Storage scales it
)

// machine returns where and when the figures were measured.
func machine(at time.Time) string {
	processor := "an unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, found := strings.Cut(string(text), "model name\t: "); found {
			processor, _, _ = strings.Cut(rest, "\n")
		}
	}
	memory := ""
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		_, rest, _ := strings.Cut(string(text), "MemTotal:")
		if kib, err := strconv.Atoi(strings.Fields(rest + " 0")[0]); err == nil {
			memory = fmt.Sprintf(", %d GiB of memory", (kib+1<<19)>>20)
		}
	}
	return fmt.Sprintf("Measured on %d cores of %s%s, with %s on %s/%s; the last run ended at %s.",
		runtime.NumCPU(), processor, memory, strings.Replace(runtime.Version(), "go", "Go ", 1), runtime.GOOS, runtime.GOARCH, at.UTC().Format("2006-01-02 15:04 MST"))
}
