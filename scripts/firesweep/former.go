package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/manifest"
)

// What is said of a run whose rule was taken out or renamed, and what is given to a command that needs the rule.
const (
	noRule = "no rule has that name any more"
	ofThen = "--rules OLD.json"
)

// former returns the jobs of which a database has a record, and whose name no job and no rule of the application has any more.
func (a *app) former(ctx context.Context) ([]heldJob, error) {
	h, err := a.holding(ctx, true, nil)
	return slices.DeleteFunc(h.Jobs, func(j heldJob) bool { return jobstate.ForAll(j.Job) || a.knows(j.Job) }), err
}

// knows reports whether a job or a rule of the application has a name.
func (a *application) knows(job string) bool { _, known := a.Jobs[job]; return known }

// leftBy returns after how many commits a job has left something to do that its rule, as it is now, does not do.
func (a *app) leftBy(ctx context.Context, job manifest.Entry, r jobstate.Record) (int, error) {
	if a.Jobs[job.Name].Leaves() || r.Leased(r.Now) != "" {
		return 0, nil
	}
	p, err := a.reading(ctx, job)
	if err != nil {
		return 0, err
	}
	return p.DB.Count(ctx, runlog.PendingOf(job.Name, ""), 0)
}

// halfDone returns the former jobs that have begun items which no run finishes any more.
func (a *app) halfDone(ctx context.Context) (left []heldJob, err error) {
	if a.rules == "" { // somebody looks from another folder than that of the rules
		return nil, nil
	}
	all, err := a.former(ctx)
	for _, f := range all {
		found, failed := f.in.DB.First(ctx, documents.Query{Collection: runlog.TodosOf(f.Job), Select: documents.NameOnly}, "", 1)
		err = cmp.Or(err, failed)
		if len(found) > 0 && f.record.Leased(f.record.Now) == "" {
			left = append(left, f)
		}
	}
	return left, err
}
