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

// ForeignError says which field of a record is not one that this program wrote, and the request that deletes it. No run begins
// until then.
type ForeignError = state.ForeignError

// Read reads what cleanupJobs/{job} says, with what is for all jobs, and says when, by Firestore's clock. cfg says where the
// database is. The error may be a [*ForeignError].
func Read(ctx context.Context, db documents.Reader, cfg config.Config, job string) (State, time.Time, error) {
	return state.Read(ctx, db, cfg, job)
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

// Records in cleanupJobs that are of no job, but hold all jobs, or all that nobody knew when they were held.
const (
	AllJobs = state.AllJobs
	NewJobs = state.NewJobs
)

// What is said of a job that somebody holds, and of what the jobs keep.
type (
	// Hold says since when a job is held, by whom and why.
	Hold = state.Hold
	// Kept is an item that the jobs keep.
	Kept = state.Kept
)

// Reasons of a run to keep an item because of the list of what the jobs keep.
const (
	KeptListed     = state.KeptListed
	KeptWithListed = state.KeptWithListed
)

// CheckKept returns an error unless a path names items that jobs can keep.
func CheckKept(path string) error { return state.CheckKept(path) }
