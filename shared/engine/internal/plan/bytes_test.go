package plan

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestBytesOfAPlan holds what is counted of actions against what they take in memory.
func TestBytesOfAPlan(t *testing.T) { //nolint:paralleltest // others would be counted, too
	const n = 10_000
	for what, length := range map[string]int{"short": 20, "longest": 1000} {
		text := func(i int) string { return fmt.Sprintf("%06d", i) + strings.Repeat("x", length) }
		alive := func() int {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int(m.HeapAlloc)
		}
		before := alive()
		p := &Planner{section: &section{}}
		for i := range n {
			o := cleanup.DeleteObject{Absent: []documents.Ref{{Collection: "posts", ID: text(i)}}}
			o.Name = text(i)
			a := &decide.Item{Object: &o, Planned: report.Planned{
				Action: "delete", Target: "gs://bucket/" + text(i), Reason: "because of " + text(i), Version: text(i)[:20],
			}}
			p.Items = append(p.Items, a)
			p.bytes += bytesOf(a)
		}
		took := alive() - before
		t.Logf("%s: %d bytes an action are counted, %d taken", what, p.bytes/n, took/n)
		if p.bytes < took*3/4 || p.bytes > took*3/2 {
			t.Errorf("%s: %d bytes an action are counted, %d taken", what, p.bytes/n, took/n)
		}
		runtime.KeepAlive(p)
	}
}
