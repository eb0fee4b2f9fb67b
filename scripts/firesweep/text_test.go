package main

import (
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/engine/report"
)

func TestShort(t *testing.T) {
	t.Parallel()
	for d, text := range map[time.Duration]string{
		0: "0 ms", 999 * time.Millisecond: "999 ms", time.Second: "1.0 s", 61 * time.Second: "1m01s", 90 * time.Minute: "1h30m",
		49 * time.Hour: "2 days",
	} {
		want(t, d.String(), text, short(d))
	}
}

func TestShardsOfARun(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := &printer{Printer: screen.Printer{W: &out, Width: 80}}
	p.shards(&report.Report{})
	want(t, "a run that was not split", "", out.String())
	p.shards(&report.Report{Shards: []report.Shard{
		{Status: report.Completed, Runs: 1, Scanned: 1200, Done: 7, Through: true}, {Status: report.Partial, Runs: 2, Scanned: 90},
		{Status: report.Failed, Runs: 1, Left: true}, {},
	}})
	for _, line := range []string{"0  completed 1 1200 7", "1  partial, continues 2 90 0", "2  failed, some is left 1 0 0",
		"3  not ended yet 0 0 0"} {
		if !strings.Contains(oneLine(out.String()), oneLine(line)) {
			t.Errorf("no %q in\n%s", line, out.String())
		}
	}
}
