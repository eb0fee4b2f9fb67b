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
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/usage"
)

// shardsCase names the case live, split into shards.
const shardsCase = "shards"

// shards is how many shards are measured.
const shards = 8

// usualInShards is how many objects are measured in shards.
const usualInShards = 1_000_000 * shards

// sharded is a measurement of a run that is split. Each part runs in a process of its own, as on an instance of its own.
type sharded struct {
	Items  int
	Beside int           // processes that run at once
	Answer time.Duration // the link's
	Cut    part          // the run that splits
	Parts  []part        // the shards
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
		shardsCase, name, thousands(p.Scanned), seconds(p.Elapsed), thousands(int(p.perSecond())),
		p.Usage.FirestoreReads, p.Usage.StorageClassA, p.Memory>>20, seconds(p.CPU))
}

// beside is how many processes with one CPU fit on this machine: the stand-in needs about as much as they do.
func beside() int { return max(1, runtime.NumCPU()/2) }

// measureShards calls the function for a run that splits n objects, and then for the tasks that it made, as many at once as fit,
// until there are no more. It is an error if the shards together do not look at each object once.
func measureShards(ctx context.Context, n int, answer time.Duration, out io.Writer) (_ *sharded, err error) {
	m := caseOf("live")
	google, err := standin.Start(project, bucket, m.world(n, time.Time{}), standin.Link{Answer: answer})
	if err != nil {
		return nil, err
	}
	defer google.Close()
	o := order{Case: m.name, Job: m.job, Items: n, Google: google.Address, Env: map[string]string{
		"SHARDS": strconv.Itoa(shards), "CONTINUE_FOR": "6h", "CONTINUE_QUEUE": "continue", "CONTINUE_URL": "https://lab.example.com/",
	}}
	s := &sharded{Items: n, Beside: beside(), Answer: answer, Parts: make([]part, shards)}
	o.Headers = scheduled(time.Now().UTC())
	came, err := o.inItsProcess(ctx)
	if err != nil {
		return nil, fmt.Errorf("measure the run that splits %d objects: %w", n, err)
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
			return nil, fmt.Errorf("measure shards of %d objects: %w", n, err)
		}
		for _, came := range results {
			of := came.Report.Part
			if of == nil || of.Shards != shards || came.Report.Status != report.Completed && came.Report.Status != report.Partial {
				return nil, fmt.Errorf("measure shards of %d objects: run %s ended as %s, failures %v",
					n, came.Report.RunID, came.Report.Status, came.Report.Failures)
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
		return nil, fmt.Errorf("the shards looked at %d of %d objects", scanned, n)
	}
	return s, nil
}

// slowest returns the part that looked at the fewest objects a second.
func (s sharded) slowest() part {
	return slices.MinFunc(s.Parts, func(a, b part) int { return cmp.Compare(a.perSecond(), b.perSecond()) })
}

// write writes what was measured, and what follows for a hundred million objects.
func (s sharded) write(b *strings.Builder) {
	const objects = 100_000_000
	fmt.Fprintf(b, `
## A hundred million objects in %d shards

With SHARDS=%d the scheduled run lists all names to find where to cut, and each shard is a run of its own, on an
instance of its own. Here %s live objects were split, over answers after %s.
Each shard ran in a process with one CPU, %d at a time.

| | objects | time | a second | reads | pages listed | memory | CPU |
|---|--:|--:|--:|--:|--:|--:|--:|
`, shards, shards, thousands(s.Items), s.Answer, s.Beside)
	row := func(name, objects, perSecond string, p part) {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %d MiB | %s |\n", name, objects, seconds(p.Elapsed), perSecond,
			thousands(int(p.Usage.FirestoreReads)), thousands(int(p.Usage.StorageClassA)), p.Memory>>20, seconds(p.CPU))
	}
	row("the run that splits", "", "", s.Cut)
	most, slow, longest := s.largest(), s.slowest(), time.Duration(0)
	row("the largest shard", thousands(most.Scanned), rate(most.perSecond()), most)
	row("the slowest shard", thousands(slow.Scanned), rate(slow.perSecond()), slow)
	for _, p := range s.Parts {
		longest = max(longest, p.Elapsed)
	}
	share := float64(most.Scanned) * shards / float64(s.Items)
	took := time.Duration(objects / shards * share / slow.perSecond() * float64(time.Second))
	fmt.Fprintf(b, "\nOn %d instances that is the time of the split and of the longest shard: %s. The largest shard has %.2f\n"+
		"times an equal part. A hundred million would be split in %s, and the longest shard would take %s,\n"+
		"in %s of %s. Of one post of eleven missing, the deletions take %s at least, because\n"+
		"the shards share Cloud Storage's %s a second.\n",
		shards, seconds(s.Cut.Elapsed+longest), share,
		lasting(time.Duration(float64(s.Cut.Elapsed)*objects/float64(s.Items))), lasting(took), runsOf(runsFor(took)),
		seconds(planTime), lasting(caseOf("missing").least(objects)), thousands(deletesOfAll))
}

// largest returns the part that looked at the most objects.
func (s sharded) largest() part {
	return slices.MaxFunc(s.Parts, func(a, b part) int { return cmp.Compare(a.Scanned, b.Scanned) })
}
