package expiredcomped

import (
	"testing"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestChangedBetweenPlanAndApply has another application do something while a member's only row, expired yesterday, is about
// to be deleted.
func TestChangedBetweenPlanAndApply(t *testing.T) {
	for name, tt := range map[string]struct {
		change world
		stays  bool // the row does, unless it is gone already
	}{
		"changed to paid":  {change: world{"members/m": member("paid")}},
		"made free":        {change: world{"members/m": member("free")}},
		"member gone":      {change: world{"members/m": nil}},
		"renewed":          {change: world{"members_products/r": row("m", today.AddDate(0, 1, 0))}, stays: true},
		"renewed to today": {change: world{"members_products/r": row("m", today)}, stays: true},
		"made endless":     {change: world{"members_products/r": row("m", nil)}, stays: true},
		"made undated":     {change: world{"members_products/r": {"member_id": "m"}}, stays: true},
		"given away":       {change: world{"members_products/r": row("m2", yesterday)}, stays: true},
		"row gone":         {change: world{"members_products/r": nil, "members/m": member("free")}, stays: true},
		"new row":          {change: world{"members_products/a": row("m", today.AddDate(0, 1, 0))}},
		"new endless row":  {change: world{"members_products/z": row("m", nil)}},
		"new odd row":      {change: world{"members_products/a": row("m", "soon")}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t)
			before := world{"members_products/r": row("m", yesterday), "members/m": member("comped")}
			before.Write(t, f)
			f.Hooks.BeforeApply = func() { tt.change.Write(t, f) }
			got := f.Run(t, "")
			after, counts := before.With(tt.change), report.Counts{Planned: 1, Changed: 1}
			if !tt.stays {
				after, counts = after.Without("members_products/r"), report.Counts{Planned: 1, Done: 1}
			}
			enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{kind: counts})
			after.Is(t, f)
			enginetest.Want(t, "lines", []string{starting, removedLine(counts.Done, 0, got)}, ownLines(t, f))
		})
	}
}
