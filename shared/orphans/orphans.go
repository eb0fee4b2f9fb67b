// Package orphans plans what becomes of things whose owner does not exist: of [Objects], whose name or metadata names a
// document, and of [Documents], a field of which does. A job gives the folders and collections, and its rules; here is how they
// are gone through, how the owners are looked up, and where a run that was out of time goes on.
//
// A conclusion from absence is a dangerous one. So what is looked up counts for the safety limit on missing ids, an id that names
// no document keeps what it belongs to, and that an owner is missing is asked again right before something is deleted.
package orphans

import (
	"context"
	"encoding/json"

	"github.com/firesweep/firesweep/shared/sweep"
)

// Pass is one kind of thing to go through: [Objects] or [Documents].
type Pass interface {
	// plan goes through the things behind one of them, and says after each page which the last was.
	plan(ctx context.Context, p *sweep.Planner, after string, save func(after string) error) error
}

// checkpoint is where a run that was out of time got to.
type checkpoint struct {
	Pass  int    `json:"target"` // index of the passes
	After string `json:"after"`  // the last object's name or owner's id looked at
}

// Plan returns the plan of a job that makes these passes, one after the other.
func Plan(passes ...Pass) func(ctx context.Context, p *sweep.Planner) error {
	return func(ctx context.Context, p *sweep.Planner) error {
		var at checkpoint
		if text := p.Checkpoint(); text != "" {
			// A checkpoint that cannot be read is one of another version: the whole is looked through again.
			if err := json.Unmarshal([]byte(text), &at); err != nil || at.Pass < 0 || at.Pass >= len(passes) {
				at = checkpoint{}
			}
		}
		for ; at.Pass < len(passes); at = (checkpoint{Pass: at.Pass + 1}) {
			err := passes[at.Pass].plan(ctx, p, at.After, func(after string) error {
				text, err := json.Marshal(checkpoint{Pass: at.Pass, After: after})
				if err != nil {
					return err
				}
				return p.SaveCheckpoint(string(text))
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
}
