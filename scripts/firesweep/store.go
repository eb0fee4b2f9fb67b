package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// reader returns the settings of a job and a reader of its database, which stays open until the command ends. Its connection refuses
// writes.
func (a *app) reader(ctx context.Context, job manifest.Entry) (cfg config.Config, db documents.Reader, err error) {
	if cfg, err = a.settings(job, config.Firestore); err != nil {
		return cfg, db, err
	}
	c := a.readers[cfg.Database]
	if c == nil {
		// It is used longer than what reads first.
		c, err = documents.Open(context.WithoutCancel(ctx), databaseOf(cfg), documents.ReadOnly()...)
		if err != nil {
			return cfg, db, err
		}
		if a.readers == nil {
			a.readers = map[string]*documents.Client{}
		}
		a.readers[cfg.Database] = c
	}
	return cfg, c.Reader(), nil
}

func databaseOf(cfg config.Config) documents.Database {
	return documents.Database{Project: cfg.Project, ID: cfg.Database, EmulatorHost: cfg.Emulators.Firestore}
}

func (a *app) closeReaders() {
	for _, c := range a.readers {
		_ = c.Close() // everything has been read
	}
}

// record is what cleanupJobs/{job} says.
type record struct {
	jobstate.State
	Holder string    // the run, or undo, that holds the lease; empty: none
	Until  time.Time // when that ends
	Err    error     // which field no run wrote, and the request that deletes it: no run begins until then, and the rest is empty
}

// record reads cleanupJobs/{job}. The record of a job that never ran is empty.
func (a *app) record(ctx context.Context, job manifest.Entry) (r record, err error) {
	cfg, db, err := a.reader(ctx, job)
	if err != nil {
		return r, err
	}
	doc, _, err := db.Get(ctx, "cleanupJobs/"+job.Name)
	if err != nil {
		return r, err
	}
	r.State, r.Err = jobstate.Of(cfg, job.Name, doc)
	r.Holder, r.Until = r.State.Holder()
	return r, nil
}

// goodRecord is [app.record], which fails where no run can begin.
func (a *app) goodRecord(ctx context.Context, job manifest.Entry) (record, error) {
	r, err := a.record(ctx, job)
	if err == nil {
		err = r.Err
	}
	return r, err
}

// maxRunsInAWindow is how many reports a query may return: more than a job that runs every ten minutes has in 90 days.
const maxRunsInAWindow = 20_000

// between returns the reports of a job's runs that started from one time until before another, oldest first. A run's id begins
// with the job's name and the start to the second, so ids are in the order of time and the query needs no index.
func (a *app) between(ctx context.Context, job manifest.Entry, from, until time.Time) ([]*report.Report, error) {
	_, db, err := a.reader(ctx, job)
	if err != nil {
		return nil, err
	}
	id := func(t time.Time) []any { return []any{job.Name + "-" + t.UTC().Format(idTime)} }
	found, err := db.First(ctx, documents.Query{
		Collection: "cleanupRuns", OrderBy: []string{firestore.DocumentID}, From: id(from), Until: id(until),
	}, "", maxRunsInAWindow)
	if err != nil {
		return nil, fmt.Errorf("read the runs of %s: %w", job.Name, err)
	}
	reports := make([]*report.Report, len(found))
	for i, doc := range found {
		if reports[i], err = report.Of(doc); err != nil {
			return nil, fmt.Errorf("%w: no run wrote it, so delete it by hand", err)
		}
	}
	return reports, nil
}

// newest returns the reports of a job's last runs, newest first, at most limit. period is the time between two runs. killed is
// the report of the last one, if that was killed and none is saved.
func (a *app) newest(
	ctx context.Context, job manifest.Entry, period time.Duration, limit int, killed *report.Report,
) ([]*report.Report, error) {
	newest := []*report.Report{}
	if killed != nil {
		newest = append(newest, killed)
	}
	oldest := a.clock().Add(-report.RunRetention)
	until := a.clock().Add(time.Hour) // for clocks that differ
	for window := period * time.Duration(limit+1); until.After(oldest) && len(newest) < limit; window *= 4 {
		from := until.Add(-window)
		reports, err := a.between(ctx, job, from, until)
		if err != nil {
			return nil, err
		}
		slices.Reverse(reports)
		newest = append(newest, reports[:min(len(reports), limit-len(newest))]...)
		until = from
	}
	return newest, nil
}

// reportOf returns the report of a run; nil if there is none. That of one that was killed a moment ago is not saved yet.
func (a *app) reportOf(ctx context.Context, job manifest.Entry, runID string) (*report.Report, error) {
	_, db, err := a.reader(ctx, job)
	if err != nil {
		return nil, err
	}
	doc, found, err := db.Get(ctx, "cleanupRuns/"+runID)
	if err != nil {
		return nil, err
	}
	if found {
		return report.Of(doc)
	}
	record, err := a.record(ctx, job)
	if killed := record.Killed(a.clock()); err == nil && killed != nil && killed.RunID == runID {
		return killed, nil
	}
	return nil, err
}

// readsOfLastRun returns how many documents a job's last run read, for an estimate; 0 if that is not known.
func (a *app) readsOfLastRun(ctx context.Context, job manifest.Entry) int64 {
	record, err := a.record(ctx, job)
	if err != nil || record.Last == nil {
		return 0
	}
	return record.Last.Usage.FirestoreReads
}
