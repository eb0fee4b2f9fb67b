package plan

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
)

func TestProposedOnce(t *testing.T) {
	t.Parallel()
	var p proposed
	of := func(i int) documents.Ref { return documents.Ref{Collection: "members", ID: fmt.Sprintf("%01000d", i)} }
	n := 0
	for ; p.bytes < maxRemembered; n++ {
		if !p.add("member", of(n)) || p.add("member", of(n)) {
			t.Fatalf("item %d is not new, or new twice", n)
		}
	}
	if p.add("member", of(0)) || len(p.items) != n || n > maxRemembered/1000 {
		t.Errorf("%d items are remembered, want %d", len(p.items), n)
	}
	if !p.add("note", of(0)) || len(p.items) != 1 { // by another rule, and one more than is remembered
		t.Errorf("%d items are remembered, want the last", len(p.items))
	}
	if !p.add("member", of(0)) || p.add("member", of(0)) {
		t.Error("what was forgotten is not remembered anew")
	}
}

// TestWhatIsHeldIsCounted holds what is counted of actions against what they take in memory.
func TestWhatIsHeldIsCounted(t *testing.T) { //nolint:paralleltest // others would be counted, too
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
			a := &decide.Item{Kind: "delete", Target: "gs://bucket/" + text(i), Reason: "because of " + text(i), Version: text(i)[:20], Object: &o}
			p.Items = append(p.Items, a)
			p.held += bytesOf(a)
		}
		took := alive() - before
		t.Logf("%s: %d bytes an action are counted, %d taken", what, p.held/n, took/n)
		if p.held < took*3/4 || p.held > took*3/2 {
			t.Errorf("%s: %d bytes an action are counted, %d taken", what, p.held/n, took/n)
		}
		runtime.KeepAlive(p)
	}
}
