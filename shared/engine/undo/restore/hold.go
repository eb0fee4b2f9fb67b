package restore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// What comes back would be due again, perhaps by another job. So an undo holds every job that could delete or change it again,
// before the first thing is back, and those that nobody knows yet: a rule may get another name. An undo of a part lets the jobs
// go on, but has all jobs keep what comes back.

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
		if !u.partial() || len(u.with) > jobstate.MaxKept {
			continue
		}
		if r.Deletes() {
			u.with[target] = append(u.with[target], target)
		}
		item := undo.ItemOf(records, i)
		isDeleted := func(r undo.Record) bool { return r.Deletes() && u.targetOf(r) == item }
		// What was written for an item that is still there would be written again.
		if item != "" && (u.isChosen(item, item) || !r.Deletes() && !slices.ContainsFunc(records, isDeleted)) {
			u.with[item] = append(u.with[item], target)
		}
	}
}

// place is a record in a database.
type place struct{ database, record string }

// everywhere calls f with the records of the jobs of each database that may be about what comes back, and with those that are
// for all jobs. Objects and accounts are in all databases.
func (u *undoing) everywhere(ctx context.Context, f func(ctx context.Context, in Project, record string) error) error {
	of := func(in Project) error {
		jobs, err := u.jobsIn(ctx, in)
		for _, record := range append(jobs, jobstate.NewJobs, jobstate.AllJobs) {
			if err == nil {
				err = f(ctx, in, record)
			}
		}
		return err
	}
	if err := of(u.Project); err != nil || u.Elsewhere == nil || !u.shared {
		return err
	}
	return u.Elsewhere(of)
}

// jobsIn returns the jobs that have a record in the database, because they ran, and that can delete or change again what comes
// back, or that nobody here knows: of another checkout, say, or from an entry that was edited since it ran. The record of
// [jobstate.NewJobs] holds those that never ran.
func (u *undoing) jobsIn(ctx context.Context, in Project) ([]string, error) {
	records, err := in.all(ctx, documents.Query{Collection: collections.Jobs, Select: []string{"lastReport.entry"}})
	if err != nil {
		return nil, fmt.Errorf("look which jobs have a record: %w", err)
	}
	all := map[string]bool{u.job: true}
	for _, d := range records {
		job, known := u.Jobs[d.ID()]
		if entry, said := d.Value("lastReport.entry").(string); said && entry != job.Entry { // it is deployed as something else
			known = false
		}
		u.ran[place{in.Config.Database, d.ID()}] = true
		if u.by[d.ID()] || !known && !jobstate.ForAll(d.ID()) {
			all[d.ID()] = true
		}
	}
	return slices.Sorted(maps.Keys(all)), nil
}

// mayRun returns the jobs that an undo lets run in a database: those that have their own record, and those that can delete or
// change nothing of what comes back.
func (u *undoing) mayRun(in Project) (jobs []string) {
	for job := range u.Jobs {
		if !u.by[job] || job == u.job || u.ran[place{in.Config.Database, job}] {
			jobs = append(jobs, job)
		}
	}
	slices.Sort(jobs)
	return jobs
}

// because is the hold of this undo, as a record says it.
func (u *undoing) because(record string) jobstate.Hold {
	return jobstate.Hold{Record: record, At: u.at, By: u.By, Why: "it came back by undoing a run", RunID: u.runID}
}

// hold holds a job, or has all jobs keep what comes back.
func (u *undoing) hold(ctx context.Context, in Project, record string) error {
	if u.partial() != (record == jobstate.AllJobs) {
		return nil
	}
	if err := u.stillOurs(ctx); err != nil {
		return err
	}
	hold, at := u.because(record), place{in.Config.Database, record}
	var kept []jobstate.Kept
	for _, path := range slices.Sorted(maps.Keys(u.with)) {
		isShared := strings.HasPrefix(path, report.ObjectPrefix) || strings.HasPrefix(path, report.AccountPrefix)
		if isShared || at.database == u.Config.Database {
			kept = append(kept, jobstate.Kept{Path: path, Hold: hold})
		}
	}
	err := in.Store(record).Update(ctx, func(s jobstate.State) (jobstate.State, error) {
		if s.Held == nil || *s.Held != hold { // or else an answer was lost
			u.held[at] = s
		}
		switch record {
		case jobstate.AllJobs:
			return s.Keeping(kept...)
		case jobstate.NewJobs:
			return s.HoldNew(hold, u.mayRun(in)), nil
		}
		return s.Hold(hold).Rewind(), nil // what comes back may lie before its checkpoint
	})
	if err != nil {
		return fmt.Errorf("hold %s: %w", record, err)
	}
	return nil
}

// letGo lets a job go on that this undo held, if nothing came back, and takes off the list what did not.
func (u *undoing) letGo(ctx context.Context, in Project, record string) error {
	before, ours := u.held[place{in.Config.Database, record}]
	if !ours {
		return nil
	}
	hold := u.because(record)
	err := in.Store(record).Update(ctx, func(s jobstate.State) (jobstate.State, error) {
		if s.Held != nil && *s.Held == hold && len(u.came) == 0 { // nobody has held it since
			s.Held, s.Known = before.Held, before.Known
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
		return fmt.Errorf("let %s go on: %w", record, err)
	}
	return nil
}
