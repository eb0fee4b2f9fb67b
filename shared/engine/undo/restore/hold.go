package restore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// What comes back would be due again, perhaps by another job. So an undo holds every job that could delete or change it again,
// before the first thing is back. An undo of a part lets the jobs go on, but has them keep what comes back.

// ErrMany says that a part of a run is more than jobs keep.
var ErrMany = errors.New("it is too much to keep by name: take back all of the run, which holds the jobs")

// touched is what an undo may bring back.
type touched struct {
	by     map[string]bool     // the jobs that can delete or change some of it
	shared bool                // some of it is an object or an account, which the jobs of each database are about
	with   map[string][]string // of an undo of a part, by what comes back, what was done for it
}

func (u *undoing) newTouched() *touched {
	return &touched{by: map[string]bool{u.job: true}, with: map[string][]string{}}
}

// touch notes the records of an entry that are to be taken back.
func (u *undoing) touch(t *touched, records []undo.Record) {
	for i, r := range records {
		target := u.targetOf(r)
		if r.Item != "" || target == "" || r.Write != nil && r.Write.Sent || r.Object != nil && u.Bucket == nil {
			continue // nothing of it comes back
		}
		for job, covers := range u.covers {
			t.by[job] = t.by[job] || covers(r)
		}
		t.shared = t.shared || r.Write == nil
		if !u.partial() || len(t.with) > jobstate.MaxKept {
			continue
		}
		if r.Deletes() {
			t.with[target] = append(t.with[target], target)
		}
		if item := undo.ItemOf(records, i); item != "" && u.isChosen(item, item) {
			t.with[item] = append(t.with[item], target)
		}
	}
}

// place is the record of a job in a database.
type place struct{ database, job string }

// everywhere calls f with the jobs of each database that may be about what comes back: objects and accounts are in all.
func (u *undoing) everywhere(ctx context.Context, t *touched, f func(ctx context.Context, in Project, t *touched, jobs []string) error) error {
	call := func(in Project, t *touched) error {
		jobs, err := in.jobs(ctx, t.by, u.Jobs)
		if err != nil {
			return err
		}
		return f(ctx, in, t, jobs)
	}
	if err := call(u.Project, t); err != nil || u.Elsewhere == nil || !t.shared {
		return err
	}
	others := *t
	others.with = maps.Clone(t.with)
	maps.DeleteFunc(others.with, func(path string, _ []string) bool { return !isShared(path) })
	return u.Elsewhere(func(other Project) error { return call(other, &others) })
}

func isShared(path string) bool {
	return strings.HasPrefix(path, "gs://") || strings.HasPrefix(path, report.AccountPrefix)
}

// jobs returns the given jobs, and those that have a record in the database although nobody here knows them: of another
// checkout, say.
func (p Project) jobs(ctx context.Context, some map[string]bool, known map[string]cleanup.Job) ([]string, error) {
	records, err := p.all(ctx, documents.Query{Collection: collections.Jobs, Select: documents.NameOnly})
	if err != nil {
		return nil, fmt.Errorf("look which jobs have a record: %w", err)
	}
	all := maps.Clone(some)
	for _, d := range records {
		if _, is := known[d.ID()]; !is {
			all[d.ID()] = true
		}
	}
	maps.DeleteFunc(all, func(_ string, touches bool) bool { return !touches })
	return slices.Sorted(maps.Keys(all)), nil
}

// hold holds the jobs, or has them keep what comes back.
func (u *undoing) hold(ctx context.Context, in Project, t *touched, jobs []string) error {
	const why = "it came back by undoing a run"
	hold := jobstate.Hold{At: u.Clock().UTC().Truncate(time.Microsecond), By: u.By, Why: why, RunID: u.runID}
	var kept []jobstate.Kept
	for _, path := range slices.Sorted(maps.Keys(t.with)) {
		kept = append(kept, jobstate.Kept{Path: path, At: hold.At, By: hold.By, Why: hold.Why, RunID: hold.RunID})
	}
	for _, job := range jobs {
		if err := u.stillOurs(ctx); err != nil {
			return err
		}
		at, ours := place{in.Config.Database, job}, []jobstate.Kept(nil)
		err := in.change(ctx, job, func(s jobstate.State) (after jobstate.State, err error) {
			if !u.partial() {
				after := s.Hold(hold)
				if before := s.Held; *after.Held == hold && (before == nil || *before != hold) { // or else an answer was lost
					u.held[at] = before
				}
				return after.Rewind(), nil // what comes back may lie before its checkpoint
			}
			after, err = s.Keeping(kept...)
			ours = after.Keep[len(s.Keep):]
			return after, err
		})
		if err != nil {
			return fmt.Errorf("hold %s: %w", job, err)
		}
		for _, one := range ours {
			u.kept[at] = append(u.kept[at], one.Path)
		}
	}
	return nil
}

// letGo lets jobs go on that this undo held, if nothing came back, and takes off their lists what did not.
func (u *undoing) letGo(ctx context.Context, in Project, t *touched, jobs []string) error {
	for _, job := range jobs {
		at := place{in.Config.Database, job}
		before, held := u.held[at]
		held = held && u.back == 0
		stayed := slices.DeleteFunc(slices.Clone(u.kept[at]), func(path string) bool {
			return slices.ContainsFunc(t.with[path], func(target string) bool { return u.came[target] })
		})
		if !held && len(stayed) == 0 {
			continue
		}
		err := in.change(ctx, job, func(s jobstate.State) (jobstate.State, error) {
			if held && s.Held != nil && s.Held.RunID == u.runID { // nobody has held it since
				s.Held = before
			}
			return s.Unkeep(stayed...), nil
		})
		if err != nil {
			return fmt.Errorf("let %s go on: %w", job, err)
		}
	}
	return nil
}

// change makes a transition of a job's record.
func (p Project) change(ctx context.Context, job string, f func(jobstate.State) (jobstate.State, error)) error {
	_, err := p.store(job).Change(ctx, nil, func(s jobstate.State, _ time.Time) (jobstate.State, map[string]any, error) {
		after, err := f(s)
		return after, nil, err
	})
	return err
}

// othersFree returns [ErrUnderWay] if a run of a job is under way that may have begun before the job was held. An undo of
// another job's run is no such run.
func (u *undoing) othersFree(ctx context.Context, in Project, _ *touched, jobs []string) error {
	for _, job := range jobs {
		s, now, err := in.store(job).Read(ctx)
		if err != nil {
			return fmt.Errorf("look whether %s is under way: %w", job, err)
		}
		if holder := s.Leased(now); holder != "" && !jobstate.ByUndo(holder) {
			return fmt.Errorf("%w: %s might delete what comes back: wait for its end, or have it end with firesweep hold %s --stop",
				ErrUnderWay, holder, job)
		}
	}
	return nil
}

// Record is what cleanupJobs/{job} of a database says.
type Record struct {
	Job   string
	State jobstate.State
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
		all[i].State, all[i].Err = jobstate.Of(p.Config, d.ID(), d)
	}
	return all, nil
}

// Hold has a job's runs do nothing from now on. One that is under way goes on. A job that is held stays held as it is.
func (p Project) Hold(ctx context.Context, job, by, why string) error {
	return p.change(ctx, job, func(s jobstate.State) (jobstate.State, error) {
		return s.Hold(jobstate.Hold{At: p.Clock().UTC(), By: by, Why: why}), nil
	})
}

// Resume lets a job's runs begin again.
func (p Project) Resume(ctx context.Context, job string) error {
	return p.change(ctx, job, func(s jobstate.State) (jobstate.State, error) { return s.Resume(), nil })
}

// Keep has a job keep items. A run that is under way knows within seconds.
func (p Project) Keep(ctx context.Context, job, by, why string, paths ...string) error {
	items := make([]jobstate.Kept, len(paths))
	for i, path := range paths {
		items[i] = jobstate.Kept{Path: path, At: p.Clock().UTC(), By: by, Why: why}
	}
	return p.change(ctx, job, func(s jobstate.State) (jobstate.State, error) { return s.Keeping(items...) })
}

// Unkeep lets a job's runs judge items again.
func (p Project) Unkeep(ctx context.Context, job string, paths ...string) error {
	return p.change(ctx, job, func(s jobstate.State) (jobstate.State, error) { return s.Unkeep(paths...), nil })
}
