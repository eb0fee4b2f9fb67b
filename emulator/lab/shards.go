package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/emulator/lab/standin"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/usage"
)

// shardsCase names the case live, split into shards.
const shardsCase = "shards"

// shards is how many shards are measured.
const shards = 8

// How many objects are measured in shards.
const (
	usualInShards = 100_000 * shards
	hugeInShards  = 1_000_000 * shards // with -full
)

// sharded is a measurement of a run that is split. Each part runs in a process of its own, as on an instance of its own.
type sharded struct {
	Items  int
	Beside int // processes that run at once
	Link   standin.Link
	Cut    part   // the run that splits
	Parts  []part // the shards
}

// part is what the runs of one process came to.
type part struct {
	Scanned, Runs int
	Elapsed, CPU  time.Duration
	Memory        int64 // bytes
	Usage         usage.Usage
}

func (p *part) add(came outcome) {
	p.Scanned += came.Report.Scanned
	p.Runs++
	p.Elapsed += came.Elapsed
	p.CPU += came.CPU
	p.Memory = max(p.Memory, came.Memory)
	p.Usage = p.Usage.Plus(came.Report.Usage)
}

// perSecond returns how many objects a part looked at in a second.
func (p part) perSecond() float64 { return float64(p.Scanned) / p.Elapsed.Seconds() }

func (p part) line(name string) string {
	return fmt.Sprintf("%-12s %-20s %9s objects: %8s, %7s a second, %d reads, %d pages listed, %d MiB, CPU %s",
		shardsCase, name, thousands(p.Scanned), seconds(p.Elapsed), thousands(int(p.perSecond())), p.Usage.FirestoreReads, p.Usage.StorageClassA, p.Memory>>20, seconds(p.CPU))
}

// beside is how many processes with one CPU fit on this machine: the stand-in needs about as much as they do.
func beside() int { return max(1, runtime.NumCPU()/2) }

// measureShards calls the function for a run that splits n objects, and then for the tasks that it made, as many at once as fit,
// until there are no more. It is an error if the shards together do not look at each object once.
func measureShards(ctx context.Context, n int, link standin.Link, out io.Writer) (s sharded, err error) {
	m := cases[caseNumber("live")]
	google, err := standin.Start(project, bucket, m.world(n, time.Time{}), link)
	if err != nil {
		return sharded{}, err
	}
	defer func() {
		if closed := google.Close(); err == nil {
			err = closed
		}
	}()
	o := order{Case: m.name, Job: m.job, Items: n, Google: google.Address, Env: map[string]string{
		"SHARDS": strconv.Itoa(shards), "CONTINUE_FOR": "6h", "CONTINUE_QUEUE": "continue", "CONTINUE_URL": "https://lab.example.com/",
	}}
	s = sharded{Items: n, Beside: beside(), Link: link, Parts: make([]part, shards)}
	o.Headers = scheduled(time.Now().UTC())
	came, err := o.inItsProcess(ctx)
	if err != nil {
		return sharded{}, fmt.Errorf("measure the run that splits %d objects: %w", n, err)
	}
	s.Cut.add(came)
	fmt.Fprintln(out, s.Cut.line("split"))
	for tasks := google.Tasks(); len(tasks) > 0; tasks = google.Tasks() {
		results := make([]outcome, len(tasks))
		var processes errgroup.Group
		processes.SetLimit(s.Beside)
		for i, task := range tasks {
			o := o
			o.Headers = maps.Clone(task.GetHttpRequest().GetHeaders())
			processes.Go(func() (err error) {
				results[i], err = o.inItsProcess(ctx)
				return err
			})
		}
		if err := processes.Wait(); err != nil {
			return sharded{}, fmt.Errorf("measure shards of %d objects: %w", n, err)
		}
		for _, came := range results {
			of := came.Report.Part
			if of == nil || of.Shards != shards || came.Report.Status != engine.Completed && came.Report.Status != engine.Partial {
				return sharded{}, fmt.Errorf("measure shards of %d objects: run %s ended as %s, failures %v", n, came.Report.RunID, came.Report.Status, came.Report.Failures)
			}
			s.Parts[of.Number].add(came)
		}
	}
	scanned := 0
	for i, p := range s.Parts {
		scanned += p.Scanned
		fmt.Fprintln(out, p.line(fmt.Sprintf("shard %d", i)))
	}
	if scanned != n {
		return sharded{}, fmt.Errorf("the shards looked at %d of %d objects", scanned, n)
	}
	return s, nil
}

// slowest returns the part that looked at the fewest objects a second.
func (s sharded) slowest() part {
	return slices.MinFunc(s.Parts, func(a, b part) int { return cmp.Compare(a.perSecond(), b.perSecond()) })
}

// write writes the page's section: what was measured, and what follows for a hundred million objects.
func (s sharded) write(b *strings.Builder, missing section) {
	const objects = 100_000_000
	fmt.Fprintf(b, `
## A hundred million objects in %d shards

With SHARDS=%d each shard is a run of its own, on an instance of its own. The scheduled run lists all names to find where to cut, and Cloud Tasks calls the
function for each part. Here %s live objects were split, with answers after %s and pages of a listing after %s. Each shard ran in a process with one CPU of its own, %s at
a time, as many as fit on this machine beside the stand-in. That a shard whose process is killed changes nothing in the result is tested by
`+"`go test ./emulator/load -run TestShards`"+`.

| | objects | time | a second | reads | pages listed | memory | CPU |
|---|--:|--:|--:|--:|--:|--:|--:|
`, shards, shards, thousands(s.Items), s.Link.Firestore, s.Link.Listing, strconv.Itoa(s.Beside))
	row := func(name, objects, perSecond string, p part) {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %d MiB | %s |\n", name, objects, seconds(p.Elapsed), perSecond,
			thousands(int(p.Usage.FirestoreReads)), thousands(int(p.Usage.StorageClassA)), p.Memory>>20, seconds(p.CPU))
	}
	row("the run that splits", "", "", s.Cut)
	largest, longest, all := 0, time.Duration(0), part{}
	for i, p := range s.Parts {
		row(fmt.Sprintf("shard %d", i), thousands(p.Scanned), rate(p.perSecond()), p)
		largest, longest = max(largest, p.Scanned), max(longest, p.Elapsed)
		all.Scanned, all.Elapsed, all.Usage = all.Scanned+p.Scanned, all.Elapsed+p.Elapsed, all.Usage.Plus(p.Usage)
	}
	slowest := s.slowest()
	each := int(slowest.perSecond())
	equal := objects / shards
	share := float64(largest) * shards / float64(all.Scanned)
	took := time.Duration(float64(equal) * share / float64(each) * float64(time.Second))
	fmt.Fprintf(b, "\nOn %d instances that is the time of the split and of the longest shard: %s. The largest shard has %.2f times an equal part, and the slowest goes "+
		"through %s objects a second.\n\n", shards, seconds(s.Cut.Elapsed+longest), share, thousands(each))
	inSum := func(n int64) int { return int(float64(n) / all.Elapsed.Seconds() * shards) } // a second, if all run at once
	fmt.Fprintf(b, "- **All live**: 100,000,000 / %d × %.2f / %s a second = %s, in %s of %s. Together the shards ask for %s pages of a listing a second, where a bucket "+
		"answers %s at first, and make %s look-ups a second.\n", shards, share, thousands(each), lasting(took),
		runsOf(runsFor(took)), seconds(planTime), thousands(inSum(all.Usage.StorageClassA)), thousands(listingsOfAll), thousands(inSum(all.Usage.FirestoreReads)))
	lists := time.Duration(float64(s.Cut.Elapsed) * objects / float64(s.Items))
	fmt.Fprintf(b, "- **The split** lists all names: 100,000,000 in %s.", lasting(lists))
	if lists > splitTime {
		fmt.Fprintf(b, " A run has %s for it, so the last shard would be larger than the others, unless the function's timeout is longer.", seconds(splitTime))
	}
	b.WriteByte('\n')
	r := missing.largest(missing.slowest())
	if r.Items == 0 {
		return
	}
	deletions := missing.due(objects)
	quota := time.Duration(float64(deletions) / deletesOfAll * float64(time.Second))
	byRate := time.Duration(float64(equal) / r.perSecond() * float64(time.Second))
	fmt.Fprintf(b, "- **One post of eleven missing**: the %s deletions go at %s a second, which all shards share, so in %s at least. By the rate of one instance, %s "+
		"objects a second, the shards would take %s. Both are within the six hours of a night. MAX_ACTIONS holds for all shards together, so this takes "+
		"`{\"force\":true}`, as above.\n", thousands(deletions), thousands(deletesOfAll), lasting(quota), rate(r.perSecond()), lasting(byRate))
}
