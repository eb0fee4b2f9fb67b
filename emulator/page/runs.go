package page

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/backends"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

// overview is what the page knows before any function is called.
type overview struct {
	Project    string `json:"project"`
	SoftDelete bool   `json:"softDelete"`
	Ahead      int    `json:"ahead"` // seconds
	Jobs       []job  `json:"jobs"`
}

type job struct {
	Name        string `json:"name"`
	Description string `json:"description"` // of a declared rule, the rule in words
	Schedule    string `json:"schedule"`    // with the time zone
	Worker      string `json:"worker,omitempty"`
	Database    string `json:"database"`
	UndoDays    int    `json:"undoDays"`          // for how long a run can be taken back
	Problem     string `json:"problem,omitempty"` // what is wrong with its settings
}

// jobs answers with the jobs. Workers are left out: Cloud Tasks calls them.
func (o Options) jobs(context.Context, struct{}) (overview, error) {
	all := overview{Project: o.Getenv("GOOGLE_CLOUD_PROJECT"), SoftDelete: o.SoftDelete, Ahead: int(o.Ahead / time.Second)}
	for _, e := range o.List.All {
		if e.Trigger != manifest.Schedule {
			continue
		}
		j := job{Name: e.Name, Description: e.Description, Schedule: e.Schedule + " " + e.TimeZone, Worker: e.Worker}
		if e.Rule != nil {
			j.Description = "It " + e.Words() + "."
		}
		cfg, err := o.settings(e)
		if err != nil {
			j.Problem = err.Error()
		}
		j.Database, j.UndoDays = cfg.Database, cfg.UndoDays
		all.Jobs = append(all.Jobs, j)
	}
	return all, nil
}

// maxThings is how many things of a run are shown.
const maxThings = 1000

// did is what a run did, as its undo log says.
type did struct {
	Saved  bool         `json:"saved"` // there is an undo log; without one, the run did nothing or UNDO_DAYS is 0
	Things []undo.Thing `json:"things"`
	Total  int          `json:"total"` // there may be more than are listed
}

// did answers with what a run did.
func (o Options) did(ctx context.Context, q struct{ Run string }) (answer did, err error) {
	err = o.on(ctx, q.Run, func(p restore.Project) (err error) {
		answer.Things, answer.Saved, err = p.Things(ctx, q.Run, undo.Sum{Bucket: p.Config.Bucket}, nil)
		return err
	})
	all := slices.DeleteFunc(answer.Things, func(t undo.Thing) bool { return t.What == "" })
	answer.Total, answer.Things = len(all), all[:min(len(all), maxThings)]
	return answer, err
}

// Undoing says which run to take back. Without Apply, nothing is done.
type Undoing struct {
	Run   string
	Apply bool
}

// Undone is what became of a run's items, also if an error ended the undo.
type Undone struct {
	Outcomes []restore.Outcome `json:"outcomes"`
	Problem  string            `json:"problem,omitempty"` // why it ended early
}

// Undo takes a run back, or says what that would do.
func (o Options) Undo(ctx context.Context, q Undoing) (answer Undone, err error) {
	answer.Outcomes = []restore.Outcome{}
	err = o.on(ctx, q.Run, func(p restore.Project) error {
		return p.Undo(ctx, q.Run, restore.Options{Apply: q.Apply}, func(one restore.Outcome) error {
			answer.Outcomes = append(answer.Outcomes, one)
			return nil
		})
	})
	slices.SortFunc(answer.Outcomes, func(a, b restore.Outcome) int { return strings.Compare(a.Target, b.Target) })
	if err != nil && len(answer.Outcomes) > 0 {
		answer.Problem, err = err.Error(), nil
	}
	return answer, err
}

// on opens what the job of a run works on, calls f, and closes it.
func (o Options) on(ctx context.Context, runID string, f func(restore.Project) error) error {
	name, _, _ := strings.Cut(runID, "-")
	i := slices.IndexFunc(o.List.All, func(e manifest.Entry) bool { return e.Name == name })
	if i < 0 {
		return fmt.Errorf("there is no function %q", name)
	}
	e := o.List.All[i]
	cfg, err := o.settings(e)
	if err != nil {
		return err
	}
	p, closeAll, err := restore.Open(ctx, backends.Hooks{}, cfg, e.Uses(), time.Now, o.List.Jobs)
	if err != nil {
		return err
	}
	return errors.Join(f(p), closeAll())
}

// settings reads the settings of a function.
func (o Options) settings(e manifest.Entry) (config.Config, error) {
	return config.Load(config.For(e.Name, o.Getenv), o.List.Jobs[e.Name].Settings, e.Uses()...)
}
