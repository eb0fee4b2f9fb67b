// Package orphans plans what becomes of things whose owner does not exist: of [Objects], whose name or metadata names a
// document, and of [Documents], a field of which does. A job gives the folders and collections, and its rules; here is how they
// are gone through, how the owners are looked up, and where a run that was out of time goes on.
//
// A conclusion from absence is a dangerous one. So what is looked up counts for the safety limit on missing ids, an id that names
// no document keeps what it belongs to, and that an owner is missing is asked again right before something is deleted.
package orphans

import (
	"context"

	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Pass is one kind of thing to go through: [Objects] or [Documents].
type Pass interface {
	// plan goes through the things in a stretch of names, and says after each page which the last was.
	plan(ctx context.Context, p *sweep.Planner, in objects.Names, save func(after string) error) error
	// pieces divides all of them, in order, into pieces that are small beside one of so many shards.
	pieces(ctx context.Context, p *sweep.Planner, shards int) ([]piece, error)
}

// Plan returns the plan of a job that makes these passes, one after the other.
func Plan(passes ...Pass) func(ctx context.Context, p *sweep.Planner) error {
	return func(ctx context.Context, p *sweep.Planner) error {
		begin, end := bounds(p, passes)
		for i := begin.Pass; i < len(passes) && i <= end.Pass; i++ {
			in := objects.Names{From: begin.Name, After: begin.Name != "" && !begin.Included}
			if i == end.Pass {
				if in.Before = end.Name; in.Before == "" { // it ends before this pass
					break
				}
			}
			err := passes[i].plan(ctx, p, in, func(after string) error {
				text, err := place{Pass: i, Name: after}.text()
				if err != nil {
					return err
				}
				return p.SaveCheckpoint(text)
			})
			if err != nil {
				return err
			}
			begin = place{}
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
