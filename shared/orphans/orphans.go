// Package orphans plans what becomes of things whose owner does not exist: of [Objects], whose name or metadata names a
// document, and of [Documents], a field of which does. A job gives the folders and collections, and its rules; here is how they
// are gone through, how the owners are looked up, and where a run that was out of time goes on.
//
// A conclusion from absence is a dangerous one. So what is looked up counts for the safety limit on missing ids, an id that names
// no document keeps what it belongs to, and that an owner is missing is asked again right before something is deleted.
package orphans

import (
	"context"
	"maps"
	"slices"

	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Pass is one kind of thing to go through: [Objects] or [Documents].
type Pass interface {
	// begin begins to go through the things in a stretch of names.
	begin(ctx context.Context, p *sweep.Planner, in objects.Names) begun
	// pieces divides all of them, in order, into pieces that are small beside one of so many shards.
	pieces(ctx context.Context, p *sweep.Planner, shards int) ([]piece, error)
}

// begun is a pass that has begun: what comes first is being read. It proposes nothing and says nothing of what it found until
// end.
type begun struct {
	// end plans what becomes of all, and says after each page which the last was.
	end func(save func(after string) error) error
	// stop ends what is under way. It may be called after end as well.
	stop func()
}

// Plan returns the plan of a job that makes these passes, one after the other. All begin at once, so that a run waits once for
// the first page of everything: one that has much of one kind keeps a few pages of the others meanwhile.
func Plan(passes ...Pass) func(ctx context.Context, p *sweep.Planner) error {
	return func(ctx context.Context, p *sweep.Planner) error {
		from, to := bounds(p, passes)
		all := map[int]begun{}
		defer func() {
			for _, pass := range all {
				pass.stop()
			}
		}()
		for i := from.Pass; i < len(passes) && i <= to.Pass; i++ {
			in := objects.Names{}
			if i == from.Pass {
				in = objects.Names{From: from.Name, After: from.Name != "" && !from.Included}
			}
			if i == to.Pass {
				if in.Before = to.Name; in.Before == "" { // it ends before this pass
					break
				}
			}
			all[i] = passes[i].begin(ctx, p, in)
		}
		for _, i := range slices.Sorted(maps.Keys(all)) {
			err := all[i].end(func(after string) error {
				text, err := place{Pass: i, Name: after}.text()
				if err != nil {
					return err
				}
				return p.SaveCheckpoint(text)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// bounds returns where a run begins, and where it ends if it is a shard's.
func bounds(p *sweep.Planner, passes []Pass) (begin, end place) {
	// A checkpoint that cannot be read is one of another version: the whole is looked through again.
	begin, ok := placeOf(p.Checkpoint())
	if !ok || begin.Pass < 0 || begin.Pass >= len(passes) {
		begin = place{}
	}
	if end, ok = placeOf(p.End()); !ok {
		end = place{Pass: len(passes)}
	}
	return begin, end
}
