package expiredcomped

import (
	"maps"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

// race is what another application does while a member's only row, expired yesterday, is about to be deleted.
type race struct {
	change world
	stays  bool // the row does, unless it is gone already
}

var races = map[string]race{
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
}

// end returns what must be left, and how the action counts.
func (r race) end(before world) (world, sweep.Counts) {
	after := before.changed(r.change)
	if r.stays {
		return after, sweep.Counts{Planned: 1, Changed: 1}
	}
	return after.without("members_products/r"), sweep.Counts{Planned: 1, Done: 1}
}

func TestChangedBetweenPlanAndApply(t *testing.T) {
	for name, r := range races {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFunction(t)
			before := world{"members_products/r": row("m", yesterday), "members/m": member("comped")}.load(t, f)
			f.Hooks.BeforeApply = func() { r.change.apply(t, f) }
			got := f.Run(t, "")
			after, counts := r.end(before)
			ended(t, got, sweep.Completed, counts)
			after.is(t, f)
			logged(t, f, starting, removedLine(counts.Done, 0, got))
		})
	}
}

// TestChangedDuringTheTransaction has the first commit lose against the other application, which wrote what the transaction
// had read.
func TestChangedDuringTheTransaction(t *testing.T) {
	for name, r := range races {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFunction(t)
			before := world{"members_products/r": row("m", yesterday), "members/m": member("comped")}.load(t, f)
			var lost, changed atomic.Bool
			onUnary(f, func(req any, send func() error) error {
				if touches(req, f, "members_products/r") && lost.CompareAndSwap(false, true) {
					return status.Error(codes.Aborted, "too much contention")
				}
				// The locks of the lost transaction are released before the next begins.
				if _, begins := req.(*firestorepb.BeginTransactionRequest); begins && lost.Load() && changed.CompareAndSwap(false, true) {
					r.change.apply(t, f)
				}
				return send()
			})
			got := f.Run(t, "")
			if !changed.Load() {
				t.Fatal("nothing changed")
			}
			after, counts := r.end(before)
			ended(t, got, sweep.Completed, counts)
			after.is(t, f)
			logged(t, f, starting, removedLine(counts.Done, 0, got))
		})
	}
}

// TestNewRowBetweenTheCommitsOfOneMember gives a member with too many rows for one commit another before the last of them.
func TestNewRowBetweenTheCommitsOfOneMember(t *testing.T) {
	for name, expiry := range map[string]any{"endless": nil, "later": today.AddDate(0, 1, 0), "undated": "soon"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := functionOf(t, fewRows())
			w := world{"members/m": member("comped")}
			for _, id := range []string{"b", "c", "d", "e", "f"} {
				w["members_products/"+id] = row("m", yesterday)
			}
			w.load(t, f)
			begun, given := 0, world{"members_products/a": row("m", expiry)}
			onUnary(f, func(req any, send func() error) error {
				if _, begins := req.(*firestorepb.BeginTransactionRequest); begins {
					if begun++; begun == 3 { // two commits, and now the last
						given.apply(t, f)
					}
				}
				return send()
			})
			ended(t, f.Run(t, ""), sweep.Completed, sweep.Counts{Planned: 1, Done: 1})
			world{"members/m": member("comped"), "members_products/a": row("m", expiry)}.is(t, f)
		})
	}
}
