// Package orphans plans cleanups of things whose owner does not exist: [Objects], whose name or metadata names a document,
// and [Documents], which have a field that names one. A job gives the folders and collections, and its rules. This package
// goes through them, looks up the owners, and knows where the next run continues.
//
// To conclude from absence is dangerous. So each id that is looked up counts for the safety limit on missing ids. What names
// an invalid id is kept. And right before a delete, the owner is looked up once more.
package orphans

import (
	"context"

	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Pass is one kind of thing to go through: [Objects] or [Documents].
type Pass interface {
	// begin starts reading the things in a range of names. Planning them calls save after each page, with the name of the last one.
	begin(ctx context.Context, p *sweep.Planner, in objects.Names, save func(after string) error) sweep.Reading
	// pieces divides all things, in order, into pieces. Each should be small compared with one of so many shards.
	pieces(ctx context.Context, p *sweep.Planner, shards int) ([]piece, error)
}

// Begin returns the [sweep.Job.Begin] of a job that makes these passes, one after the other. All begin to read at once, so that a
// run waits only once for first pages. While it plans a long pass, it holds a few pages of the others.
func Begin(passes ...Pass) func(ctx context.Context, p *sweep.Planner) sweep.Reading {
	return func(ctx context.Context, p *sweep.Planner) sweep.Reading {
		from, to := bounds(p, passes)
		var all []sweep.Reading
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
			all = append(all, passes[i].begin(ctx, p, in, func(after string) error { return save(p, place{Pass: i, Name: after}) }))
		}
		return sweep.Reading{
			Plan: func() error {
				for _, pass := range all {
					if err := pass.Plan(); err != nil {
						return err
					}
				}
				return nil
			},
			Stop: func() {
				for _, pass := range all {
					pass.Stop()
				}
			},
		}
	}
}

// Reach returns the [sweep.Job.Reach] of a job that makes these passes: the objects of their folders.
func Reach(passes ...Pass) (r sweep.Reach) {
	for _, pass := range passes {
		if f, ok := pass.(Objects); ok {
			r.Objects = append(r.Objects, sweep.Files{Folder: f.Folder})
		}
	}
	return r
}

func save(p *sweep.Planner, at place) error {
	text, err := at.text()
	if err != nil {
		return err
	}
	return p.SaveCheckpoint(text)
}

// bounds returns where a run begins, and where it ends: for a shard, where the next one begins.
func bounds(p *sweep.Planner, passes []Pass) (begin, end place) {
	// A checkpoint that cannot be read is from another version: the run begins at the beginning.
	begin, ok := placeOf(p.Checkpoint())
	if !ok || begin.Pass < 0 || begin.Pass >= len(passes) {
		begin = place{}
	}
	if end, ok = placeOf(p.End()); !ok {
		end = place{Pass: len(passes)}
	}
	return begin, end
}
