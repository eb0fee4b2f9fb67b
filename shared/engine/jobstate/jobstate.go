// Package jobstate says how a job's runs stand, for whoever looks from outside, and stops one.
package jobstate

import (
	"context"
	"errors"
	"time"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/state"
)

// State is what cleanupJobs/{job} says of a job's runs.
type State = state.State

// Of reads cleanupJobs/{job}. The error says which field is not one that this program wrote, and the request that deletes
// it. No run begins until then. cfg says where the database is.
func Of(cfg config.Config, job string, doc documents.Document) (State, error) {
	return state.Of(cfg, job, doc)
}

// ErrNotUnderWay says that a run to be stopped is not under way any more.
var ErrNotUnderWay = errors.New("the run is not under way any more")

// Stop tells a run to stop, which it does within some seconds: it begins nothing more, and saves its report. No clock decides whether
// that is told. The error is [ErrNotUnderWay] where the run has ended.
func Stop(ctx context.Context, w documents.Writer, cfg config.Config, job, runID string) error {
	store := state.Store{Writer: w, Config: cfg, Job: job}
	_, err := store.Change(ctx, nil, func(s State, _ time.Time) (State, map[string]any, error) {
		if runID == "" || s.Run() != runID {
			return s, nil, ErrNotUnderWay
		}
		s.Stop = runID
		return s, nil, nil
	})
	return err
}

// What cleanupJobs/{job} says of a job that somebody holds, and of what the job keeps.
type (
	// Hold says since when a job is held, by whom and why.
	Hold = state.Hold
	// Kept is an item that the job keeps.
	Kept = state.Kept
)

// Reasons of a run to keep an item because of the list of what the job keeps.
const (
	KeptListed     = state.KeptListed
	KeptWithListed = state.KeptWithListed
)

// CheckKept returns an error unless a path names items that a job can keep.
func CheckKept(path string) error { return state.CheckKept(path) }
