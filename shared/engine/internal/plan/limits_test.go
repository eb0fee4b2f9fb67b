package plan

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// plannerOf returns a planner in a pass.
func plannerOf(lifted bool) *Planner {
	return &Planner{
		section: &section{Section: cleanup.Section{Name: "odd"}}, Teller: &tell.Teller{Report: &report.Report{Force: lifted}},
	}
}

// TestNumbersAndShares holds counts against the limits on numbers and shares, at their bounds.
func TestNumbersAndShares(t *testing.T) {
	t.Parallel()
	of := func(looked, due, percent int) cleanup.Count {
		return cleanup.Count{Collection: "posts", Looked: looked, Due: due, Percent: percent}
	}
	tripped := func(looked, due, most int) *cleanup.LimitError {
		return &cleanup.LimitError{Pass: "odd", Limit: "MAX_DUE_PERCENT", Due: due, Looked: looked, Most: most, Collection: "posts"}
	}
	ofRule := tripped(20, 5, 24)
	ofRule.Limit = "maxDuePercent"
	for name, tt := range map[string]struct {
		counts []cleanup.Count
		lifted bool
		want   []*cleanup.LimitError
	}{
		"nothing":                {},
		"half":                   {counts: []cleanup.Count{of(20, 10, 0)}},
		"more than half":         {counts: []cleanup.Count{of(20, 11, 0)}, want: []*cleanup.LimitError{tripped(20, 11, 50)}},
		"all of too few to tell": {counts: []cleanup.Count{of(19, 19, 0)}},
		"they add up":            {counts: []cleanup.Count{of(10, 10, 0), of(10, 1, 0)}, want: []*cleanup.LimitError{tripped(20, 11, 50)}},
		"a rule's own":           {counts: []cleanup.Count{of(20, 5, 25)}},
		"more than a rule's own": {counts: []cleanup.Count{of(20, 5, 24)}, want: []*cleanup.LimitError{ofRule}},
		"all may be due":         {counts: []cleanup.Count{of(2000, 2000, 100)}},
		"each collection on its own": {counts: []cleanup.Count{of(20, 20, 0), {Collection: "circles", Looked: 1000}},
			want: []*cleanup.LimitError{tripped(20, 20, 50)}},
		"lifted": {counts: []cleanup.Count{of(20, 20, 0)}, lifted: true},
	} {
		p := plannerOf(tt.lifted)
		p.Config.MaxDuePercent = 50
		for _, c := range tt.counts {
			p.Count(c)
		}
		got, err := p.trips(t.Context())
		check.OK(t, err)
		check.Same(t, name, tt.want, got)
	}
}

// TestWhatIsUnknownTripsUnlessLifted: nobody knows whether the share is too large.
func TestWhatIsUnknownTripsUnlessLifted(t *testing.T) {
	t.Parallel()
	unknown := errors.New("nobody knows")
	for _, lifted := range []bool{false, true} {
		p := plannerOf(lifted)
		p.Count(cleanup.Count{Collection: "posts", Unknown: unknown})
		if _, err := p.trips(t.Context()); errors.Is(err, unknown) == lifted {
			t.Errorf("lifted %v: %v", lifted, err)
		}
	}
}

func TestActionsOfAPass(t *testing.T) {
	t.Parallel()
	for planned, want := range map[int]*cleanup.LimitError{
		0: nil, 100: nil, 101: {Pass: "odd", Limit: "MAX_ACTIONS", Due: 101, Most: 100},
	} {
		for _, lifted := range []bool{false, true} {
			p := plannerOf(lifted)
			p.Config.MaxActions, p.section.actions.Due = 100, planned
			if lifted {
				want = nil
			}
			if got, err := p.trips(t.Context()); len(got) == 1 && !cmp.Equal(want, got[0]) || len(got) != 1 && want != nil || err != nil {
				t.Errorf("%d actions, lifted %v: %v, %v, want %v", planned, lifted, got, err, want)
			}
		}
	}
}

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
