// Package orphans plans cleanups of things whose owner does not exist: [Objects], whose name or metadata names a document,
// and [Documents], which have a field that names one. A job gives the folders and collections, and its rules. This package
// goes through them, looks up the owners, and knows where the next run continues.
//
// To conclude from absence is dangerous. So each id that is looked up counts for the safety limit on missing ids. What names
// an invalid id is kept. And right before a delete, the owner is looked up once more.
package orphans

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
)

// Pass is one kind of thing to go through: [Objects] or [Documents]. The safety limits judge it by itself if it has a name.
type Pass interface {
	// name is what ORPHANS and messages call it; empty if it is the job's only one.
	name() string
	// plan proposes what is due of what a run goes through.
	plan(ctx context.Context, p *cleanup.Planner, in stretch) error
}

// stretch is what a run goes through in a pass: the names from one on.
type stretch struct {
	objects.Names
	save  func(after string) error // planning calls it after each page, with the name of the last one
	later func(after string)       // planning calls it where the pass has gone far enough: the next run begins behind this name
}

// Plan returns the [cleanup.Job.Plan] of a job that makes these passes, one after the other.
func Plan(passes ...Pass) func(ctx context.Context, p *cleanup.Planner) error {
	return func(ctx context.Context, p *cleanup.Planner) error {
		from := beginning(p, passes)
		for i := from.Pass; i < len(passes); i++ {
			in := stretch{
				save: func(after string) error {
					return p.SaveCheckpoint(place{Pass: i, Name: after, Owner: from.Owner}.text())
				},
				later: func(after string) { p.Continue(func([]documents.Ref) string { return place{Owner: after}.text() }) },
			}
			switch _, ofDocuments := passes[i].(Documents); {
			case i == from.Pass && from.Name != "":
				in.Names = objects.Names{From: from.Name, After: true}
			case ofDocuments && from.Owner != "":
				in.Names = objects.Names{From: from.Owner, After: true}
			}
			if !wanted(p, passes[i]) {
				continue
			}
			of := cleanup.Section{Name: passes[i].name(), Next: place{Pass: i + 1}.text()}
			if err := p.Section(ctx, of, func() error { return passes[i].plan(ctx, p, in) }); err != nil {
				return err
			}
		}
		return nil
	}
}

// Reach returns the [cleanup.Job.Reach] of a job that makes these passes: the objects of their folders.
func Reach(passes ...Pass) (r cleanup.Reach) {
	for _, pass := range passes {
		if f, ok := pass.(Objects); ok {
			r.Objects = append(r.Objects, cleanup.Files{Folder: f.Folder})
		}
	}
	return r
}

// What a deployment may set: which passes it wants, all unless it says so, and how many owners' ids a run reads at most to find
// documents between them.
const (
	setting          = "ORPHANS"
	ownersSetting    = "MAX_OWNERS"
	defaultMaxOwners = 100_000
)

// settings are those of a job whose passes have names.
type settings struct {
	passes map[string]bool // by name
	owners int
}

// own reads the settings out of a configuration.
var own config.Own[settings]

// Settings returns the [cleanup.Job.Settings] of a job whose passes have names.
func Settings(passes ...Pass) config.Settings {
	var names []string
	for _, pass := range passes {
		names = append(names, pass.name())
	}
	what := "names, separated by commas, of " + strings.Join(names, ", ")
	return config.Own[settings](func(l *config.Loader) settings {
		chosen := config.Parsed(l, setting, strings.Join(names, ","), what, func(text string) (map[string]bool, error) {
			chosen := map[string]bool{}
			for name := range strings.SplitSeq(text, ",") {
				if name = strings.TrimSpace(name); !slices.Contains(names, name) {
					return nil, fmt.Errorf("there is no %q", name)
				}
				chosen[name] = true
			}
			return chosen, nil
		})
		return settings{chosen, l.Integer(ownersSetting, defaultMaxOwners, 1000, math.MaxInt32)}
	})
}

// wanted reports whether the deployment wants a pass.
func wanted(p *cleanup.Planner, pass Pass) bool {
	chosen := own.In(p.Config).passes
	return chosen == nil || chosen[pass.name()]
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
	Name string `json:"name"` // the last object's name, or owner's id, that was planned

	// Owner is where the pass of documents begins, if the run begins before it: up to there, earlier runs have gone. A job has one
	// such pass at most.
	Owner string `json:"owner,omitempty"`
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
