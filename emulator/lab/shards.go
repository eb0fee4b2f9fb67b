package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/firesweep/firesweep/emulator/lab/standin"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// shardsCase names the case live, split into shards.
const shardsCase = "shards"

// shards is how many shards are measured.
const shards = 8

// usualInShards is how many objects are measured in shards.
const usualInShards = 1_000_000 * shards

// theSplit is what the run that splits is called among those of the case shards.
const theSplit = "the split"

// measureShards calls the function for a run that splits n objects, and then for the tasks that it made, each in a process of its
// own and with nothing beside it, as on an instance of its own. It returns what each took. It is an error if a shard takes more
// than one call, or if they together do not look at each object once.
func measureShards(ctx context.Context, n int, answer time.Duration, out io.Writer) (runs []run, err error) {
	m := caseOf("live")
	google, err := standin.Start(project, bucket, m.world(n, time.Time{}), standin.Link{Answer: answer})
	if err != nil {
		return nil, err
	}
	defer google.Close()
	o := order{Case: m.name, Job: m.job, Items: n, Google: google.Address, Env: map[string]string{
		"SHARDS": strconv.Itoa(shards), "CONTINUE_FOR": "6h", "CONTINUE_QUEUE": "continue", "CONTINUE_URL": "https://lab.example.com/",
	}}
	scanned, before := 0, standin.Traffic{}
	call := func(headers map[string]string) error {
		o.Headers = headers
		r, rep, err := o.measure(ctx, google)
		if err != nil {
			return err
		}
		r.Case, r.Kind, r.Items, r.Answer = shardsCase, theSplit, rep.Scanned, answer
		if rep.Part != nil {
			r.Kind = fmt.Sprintf("shard %d", rep.Part.Number)
		}
		r.Traffic, before = standin.Traffic{Requests: r.Traffic.Requests - before.Requests}, r.Traffic
		scanned += rep.Scanned
		runs = append(runs, r)
		fmt.Fprintln(out, r.line())
		return nil
	}
	if err := call(scheduled(time.Now().UTC())); err != nil {
		return nil, err
	}
	for _, task := range google.Tasks() {
		if err := call(maps.Clone(task.GetHttpRequest().GetHeaders())); err != nil {
			return nil, err
		}
		if last := runs[len(runs)-1]; last.Status != report.Completed {
			return nil, fmt.Errorf("%s of %d objects ended as %s, failures %v", last.Kind, n, last.Status, last.failures)
		}
	}
	if scanned != n || len(runs) != 1+shards {
		return nil, fmt.Errorf("%d shards looked at %d of %d objects", len(runs)-1, scanned, n)
	}
	return runs, nil
}

// writeShards writes what the run that splits took, and the shards with the most objects and with the fewest a second.
func (all results) writeShards(b *strings.Builder) {
	runs := all.runsOf(shardsCase, "")
	if len(runs) == 0 {
		return
	}
	runs[0].writeLarge(b, runs[0].Kind, "")
	parts := slices.SortedFunc(slices.Values(runs[1:]), func(a, b run) int { return b.Items - a.Items })
	slow := slices.MinFunc(parts, func(a, b run) int { return int(a.perSecond() - b.perSecond()) })
	parts[0].writeLarge(b, "its largest shard", "")
	slow.writeLarge(b, "its slowest shard", "")
}
