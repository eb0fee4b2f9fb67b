package expiredcomped

import (
	"maps"
	"testing"

	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// apply makes changes as another application would: a nil document is deleted.
func (w world) apply(t *testing.T, f *sweeptest.Function) {
	for path, data := range w {
		doc := f.Firestore(t).Doc(path)
		var err error
		if data == nil {
			_, err = doc.Delete(t.Context())
		} else {
			_, err = doc.Set(t.Context(), data)
		}
		if err != nil {
			t.Errorf("write %s: %v", path, err)
		}
	}
}

// changed returns the world after such changes.
func (w world) changed(changes world) world {
	rest := w.with(changes)
	maps.DeleteFunc(rest, func(_ string, data map[string]any) bool { return data == nil })
	return rest
}

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
			t.Parallel()
			f := newFunction(t)
			before := world{"members_products/r": row("m", yesterday), "members/m": member("comped")}
			before.load(t, f)
			f.Hooks.BeforeApply = func() { tt.change.apply(t, f) }
			got := f.Run(t, "")
			after, counts := before.changed(tt.change), sweep.Counts{Planned: 1, Changed: 1}
			if !tt.stays {
				after, counts = after.without("members_products/r"), sweep.Counts{Planned: 1, Done: 1}
			}
			sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{kind: counts})
			after.is(t, f)
			sweeptest.Want(t, "lines", []string{starting, removedLine(counts.Done, 0, got)}, ownLines(t, f))
		})
	}
}
