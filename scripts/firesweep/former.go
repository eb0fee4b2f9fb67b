package main

import (
	"cmp"
	"context"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

// What is said of a run whose rule was taken out or renamed, and what is given to a command that needs the rule.
const (
	noRule = "no rule has that name any more"
	ofThen = "--rules OLD.json"
)

// formerJob is a job of which a database has a record, and whose name no job and no rule of the application has any more.
type formerJob struct {
	restore.Record
	in restore.Project
}

func (a *app) former(ctx context.Context) (all []formerJob, err error) {
	err = a.eachDatabase(func(on manifest.Entry) error {
		p, err := a.reading(ctx, on)
		if err != nil {
			return err
		}
		records, err := p.Records(ctx)
		for _, r := range records {
			if _, known := a.Jobs[r.Job]; !known && !jobstate.ForAll(r.Job) {
				all = append(all, formerJob{r, p})
			}
		}
		return err
	})
	return all, err
}

// halfDone returns the former jobs that have begun items which no run finishes any more.
func (a *app) halfDone(ctx context.Context) (left []formerJob, err error) {
	if a.rules == "" { // somebody looks from another folder than that of the rules
		return nil, nil
	}
	all, err := a.former(ctx)
	for _, f := range all {
		found, failed := f.in.DB.First(ctx, documents.Query{Collection: runlog.TodosOf(f.Job), Select: documents.NameOnly}, "", 1)
		err = cmp.Or(err, failed)
		if len(found) > 0 && f.State.Leased(f.Now) == "" {
			left = append(left, f)
		}
	}
	return left, err
}
