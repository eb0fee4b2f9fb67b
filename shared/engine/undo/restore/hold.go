package restore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/state"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// What comes back would be due again, perhaps by another job. So an undo holds every job that could delete or change it again,
// before the first thing is back. An undo of a part lets the jobs go on, but has them keep what comes back.

// ErrMany says that a part of a run is more than jobs keep.
var ErrMany = errors.New("it is too much to keep by name: take back all of the run, which holds the jobs")

// touch notes the records of an entry that are to be taken back.
func (u *undoing) touch(records []undo.Record) {
	for i, r := range records {
		target := u.targetOf(r)
		if r.Item != "" || target == "" || r.Write != nil && r.Write.Sent {
			continue // nothing of it comes back
		}
		for job, covers := range u.covers {
			u.by[job] = u.by[job] || covers(r)
		}
		u.shared = u.shared || r.Write == nil
		if !u.partial() || len(u.with) > state.MaxKept {
			continue
		}
		if r.Deletes() {
			u.with[target] = append(u.with[target], target)
		}
		if item := undo.ItemOf(records, i); item != "" && u.isChosen(item, item) {
			u.with[item] = append(u.with[item], target)
		}
	}
}

// place is the record of a job in a database.
type place struct{ database, job string }

// everywhere calls f with the jobs of each database that may be about what comes back: objects and accounts are in all.
func (u *undoing) everywhere(ctx context.Context, f func(ctx context.Context, in Project, job string) error) error {
	of := func(in Project) error {
		jobs, err := u.jobsIn(ctx, in)
		for _, job := range jobs {
			if err == nil {
				err = f(ctx, in, job)
			}
		}
		return err
	}
	if err := of(u.Project); err != nil || u.Elsewhere == nil || !u.shared {
		return err
	}
	return u.Elsewhere(of)
}

// jobsIn returns the jobs that can delete or change again what comes back, and those that have a record in the database although
// nobody here knows them: of another checkout, say.
func (u *undoing) jobsIn(ctx context.Context, in Project) ([]string, error) {
	records, err := in.all(ctx, documents.Query{Collection: collections.Jobs, Select: documents.NameOnly})
	if err != nil {
		return nil, fmt.Errorf("look which jobs have a record: %w", err)
	}
	all := maps.Clone(u.by)
	for _, d := range records {
		if _, known := u.Jobs[d.ID()]; !known {
			all[d.ID()] = true
		}
	}
	maps.DeleteFunc(all, func(_ string, touches bool) bool { return !touches })
	return slices.Sorted(maps.Keys(all)), nil
}

// because is the hold of this undo.
func (u *undoing) because() state.Hold {
	return state.Hold{At: u.at, By: u.By, Why: "it came back by undoing a run", RunID: u.runID}
}

// hold holds a job, or has it keep what comes back.
func (u *undoing) hold(ctx context.Context, in Project, job string) error {
	if err := u.stillOurs(ctx); err != nil {
		return err
	}
	hold, at := u.because(), place{in.Config.Database, job}
	var kept []state.Kept
	for _, path := range slices.Sorted(maps.Keys(u.with)) {
		isShared := strings.HasPrefix(path, report.ObjectPrefix) || strings.HasPrefix(path, report.AccountPrefix)
		if isShared || at.database == u.Config.Database {
			kept = append(kept, state.Kept{Path: path, At: hold.At, By: hold.By, Why: hold.Why, RunID: hold.RunID})
		}
	}
	err := in.change(ctx, job, func(s state.State) (state.State, error) {
		if s.Held == nil || *s.Held != hold { // or else an answer was lost
			u.held[at] = s.Held
		}
		if u.partial() {
			return s.Keeping(kept...)
		}
		return s.Hold(hold).Rewind(), nil // what comes back may lie before its checkpoint
	})
	if err != nil {
		return fmt.Errorf("hold %s: %w", job, err)
	}
	return nil
}

// letGo lets a job go on that this undo held, if nothing came back, and takes off its list what did not.
func (u *undoing) letGo(ctx context.Context, in Project, job string) error {
	before, ours := u.held[place{in.Config.Database, job}]
	if !ours {
		return nil
	}
	hold := u.because()
	err := in.change(ctx, job, func(s state.State) (state.State, error) {
		if s.Held != nil && *s.Held == hold && len(u.came) == 0 { // nobody has held it since
			s.Held = before
		}
		var stayed []string
		for _, k := range s.Keep {
			came := slices.ContainsFunc(u.with[k.Path], func(target string) bool { return u.came[target] })
			if k.RunID == hold.RunID && k.At.Equal(hold.At) && !came {
				stayed = append(stayed, k.Path)
			}
		}
		return s.Unkeep(stayed...), nil
	})
	if err != nil {
		return fmt.Errorf("let %s go on: %w", job, err)
	}
	return nil
}

// change makes a transition of a job's record.
func (p Project) change(ctx context.Context, job string, f func(state.State) (state.State, error)) error {
	_, err := p.store(job).Change(ctx, nil, func(s state.State, _ time.Time) (state.State, map[string]any, error) {
		after, err := f(s)
		return after, nil, err
	})
	return err
}

// othersFree returns [ErrUnderWay] if a run of a job is under way that may have begun before the job was held. An undo of
// another job's run is no such run.
func (u *undoing) othersFree(ctx context.Context, in Project, job string) error {
	s, now, err := in.State(ctx, job)
	if err != nil {
		return fmt.Errorf("look whether %s is under way: %w", job, err)
	}
	if holder := s.Leased(now); holder != "" && !state.ByUndo(holder) {
		return fmt.Errorf("%w: %s might delete what comes back: wait for its end, or have it end with firesweep hold %s --stop",
			ErrUnderWay, holder, job)
	}
	return nil
}

// Record is what cleanupJobs/{job} of a database says.
type Record struct {
	Job   string
	State state.State
	Now   time.Time // when it was read, by Firestore's clock
	Err   error     // it is not one that this program wrote
}

// Records returns what the records of all jobs of the database say, in the order of their names.
func (p Project) Records(ctx context.Context) ([]Record, error) {
	found, err := p.all(ctx, documents.Query{Collection: collections.Jobs})
	if err != nil {
		return nil, fmt.Errorf("read the jobs' records: %w", err)
	}
	all := make([]Record, len(found))
	for i, d := range found {
		all[i] = Record{Job: d.ID(), Now: d.ReadTime}
		all[i].State, all[i].Err = state.Of(p.Config, d.ID(), d)
	}
	return all, nil
}

// State returns what a job's record says, and when that was read, by Firestore's clock.
func (p Project) State(ctx context.Context, job string) (state.State, time.Time, error) {
	return p.store(job).Read(ctx)
}

// Hold has a job's runs do nothing from now on. One that is under way goes on. A job that is held stays held as it is.
func (p Project) Hold(ctx context.Context, job, by, why string) error {
	return p.change(ctx, job, func(s state.State) (state.State, error) {
		return s.Hold(state.Hold{At: p.Clock().UTC(), By: by, Why: why}), nil
	})
}

// Resume lets a job's runs begin again.
func (p Project) Resume(ctx context.Context, job string) error {
	return p.change(ctx, job, func(s state.State) (state.State, error) { return s.Resume(), nil })
}

// Keep has a job keep items. A run that is under way knows within seconds.
func (p Project) Keep(ctx context.Context, job, by, why string, paths ...string) error {
	items := make([]state.Kept, len(paths))
	for i, path := range paths {
		items[i] = state.Kept{Path: path, At: p.Clock().UTC(), By: by, Why: why}
	}
	return p.change(ctx, job, func(s state.State) (state.State, error) { return s.Keeping(items...) })
}

// Unkeep lets a job's runs judge items again.
func (p Project) Unkeep(ctx context.Context, job string, paths ...string) error {
	return p.change(ctx, job, func(s state.State) (state.State, error) { return s.Unkeep(paths...), nil })
}
