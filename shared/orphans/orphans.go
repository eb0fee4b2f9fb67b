// Package orphans plans cleanups of objects whose owner does not exist: their name or metadata names a document. A job gives the
// folders, and its rules. This package goes through the objects, looks up the owners, and knows where the next run continues. A
// job may have further passes of its own.
//
// To conclude from absence is dangerous. So each id that is looked up counts for the safety limit on missing ids. What names
// an invalid id is kept. And right before a delete, the owner is looked up once more.
package orphans

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/objects"
)

// Pass is one kind of thing to go through. The safety limits judge it by itself if it has a name.
type Pass struct {
	Name  string          // what ORPHANS and messages call it; empty: it is the job's only one
	Files []cleanup.Files // the folders whose objects it deletes
	// Plan proposes what is due of the names in a range. It calls save after each page, with the name of the last one.
	Plan func(ctx context.Context, p *cleanup.Planner, in objects.Names, save func(after string) error) error
}

// Plan returns the [cleanup.Job.Plan] of a job that makes these passes, one after the other.
func Plan(passes ...Pass) func(ctx context.Context, p *cleanup.Planner) error {
	return func(ctx context.Context, p *cleanup.Planner) error {
		from := beginning(p, passes)
		for i := from.Pass; i < len(passes); i++ {
			var in objects.Names
			if i == from.Pass && from.Name != "" {
				in = objects.Names{From: from.Name, After: true}
			}
			if !wanted(p, passes[i]) {
				continue
			}
			save := func(after string) error { return p.SaveCheckpoint(place{Pass: i, Name: after}.text()) }
			of := cleanup.Section{Name: passes[i].Name, Next: place{Pass: i + 1}.text()}
			if err := p.Section(ctx, of, func() error { return passes[i].Plan(ctx, p, in, save) }); err != nil {
				return err
			}
		}
		return nil
	}
}

// Reach returns the [cleanup.Job.Reach] of a job that makes these passes: the objects of their folders.
func Reach(passes ...Pass) (r cleanup.Reach) {
	for _, pass := range passes {
		r.Objects = append(r.Objects, pass.Files...)
	}
	return r
}

// setting says which passes a deployment wants: all unless it says so.
const setting = "ORPHANS"

// own reads which passes are wanted, by their names, out of a configuration.
var own config.Own[map[string]bool]

// Settings returns the [cleanup.Job.Settings] of a job whose passes have names.
func Settings(passes ...Pass) config.Settings {
	var names []string
	for _, pass := range passes {
		names = append(names, pass.Name)
	}
	what := "names, separated by commas, of " + strings.Join(names, ", ")
	return config.Own[map[string]bool](func(l *config.Loader) map[string]bool {
		return config.Parsed(l, setting, strings.Join(names, ","), what, func(text string) (map[string]bool, error) {
			chosen := map[string]bool{}
			for name := range strings.SplitSeq(text, ",") {
				if name = strings.TrimSpace(name); !slices.Contains(names, name) {
					return nil, fmt.Errorf("there is no %q", name)
				}
				chosen[name] = true
			}
			return chosen, nil
		})
	})
}

// wanted reports whether the deployment wants a pass.
func wanted(p *cleanup.Planner, pass Pass) bool {
	chosen := own.In(p.Config)
	return chosen == nil || chosen[pass.Name]
}

// beginning returns where a run begins.
func beginning(p *cleanup.Planner, passes []Pass) place {
	// A checkpoint that cannot be read is from another version: the run begins at the beginning.
	begin, ok := placeOf(p.Checkpoint)
	if !ok || begin.Pass < 0 || begin.Pass >= len(passes) {
		return place{}
	}
	return begin
}

// place is a place in the order of all things: where a run stopped.
type place struct {
	Pass int    `json:"pass"` // index of the passes
	Name string `json:"name"` // the last name that was planned
}

// placeOf parses the text of a place.
func placeOf(text string) (at place, ok bool) {
	err := json.Unmarshal([]byte(text), &at)
	return at, err == nil
}

func (a place) text() string {
	text, _ := json.Marshal(a) // texts and numbers
	return string(text)
}
