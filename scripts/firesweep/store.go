package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// store reads the bundle's records of runs in the databases of its jobs. It cannot write.
type store struct {
	*application
	getenv  func(string) string
	clients map[string]*documents.Client // by database
}

func (a *application) newStore(getenv func(string) string) *store {
	return &store{application: a, getenv: getenv, clients: map[string]*documents.Client{}}
}

func (s *store) close() {
	for _, c := range s.clients {
		_ = c.Close() // everything has been read
	}
}

// of returns the settings of a job and a reader of its database.
func (s *store) of(ctx context.Context, job manifest.Entry) (config.Config, documents.Reader, error) {
	cfg, err := s.settings(job, s.getenv, config.Firestore)
	if err != nil {
		return config.Config{}, documents.Reader{}, err
	}
	c := s.clients[cfg.Database]
	if c == nil {
		c, err = documents.Open(ctx, documents.Database{
			Project: cfg.Project, ID: cfg.Database, EmulatorHost: cfg.Emulators.Firestore,
		}, documents.ReadOnly()...)
		if err != nil {
			return config.Config{}, documents.Reader{}, err
		}
		s.clients[cfg.Database] = c
	}
	return cfg, c.Reader(), nil
}

// record reads cleanupJobs/{job}. The record of a job that never ran is empty.
func (s *store) record(ctx context.Context, job manifest.Entry) (record, error) {
	cfg, db, err := s.of(ctx, job)
	if err != nil {
		return record{}, err
	}
	doc, _, err := db.Get(ctx, "cleanupJobs/"+job.Name)
	if err != nil {
		return record{}, err
	}
	state, err := jobstate.Of(cfg, job.Name, doc)
	r := record{State: state, Err: err}
	r.Holder, r.Until = state.Holder()
	return r, nil
}

// record is what cleanupJobs/{job} says.
type record struct {
	jobstate.State
	Holder string    // the run, or undo, that holds the lease; empty: none
	Until  time.Time // when that ends
	Err    error     // which field no run wrote, and the request that deletes it: no run begins until then, and the rest is empty
}

// killed returns the report of the run that was killed and that no other has followed yet, so that none is saved; nil if there is
// none.
func (s *store) killed(ctx context.Context, job manifest.Entry, now time.Time) (*report.Report, error) {
	record, err := s.record(ctx, job)
	if err != nil {
		return nil, err
	}
	return record.Killed(now), nil
}

// maxRunsInAWindow is how many reports a query may return: more than a job that runs every ten minutes has in 90 days.
const maxRunsInAWindow = 20_000

// between returns the reports of a job's runs that started from one time until before another, oldest first. A run's id begins
// with the job's name and the start to the second, so ids are in the order of time and the query needs no index.
func (s *store) between(ctx context.Context, job manifest.Entry, from, until time.Time) ([]*report.Report, error) {
	_, db, err := s.of(ctx, job)
	if err != nil {
		return nil, err
	}
	id := func(t time.Time) []any { return []any{job.Name + "-" + t.UTC().Format("20060102T150405Z")} }
	found, err := db.First(ctx, documents.Query{
		Collection: "cleanupRuns", OrderBy: []string{firestore.DocumentID}, From: id(from), Until: id(until),
	}, "", maxRunsInAWindow)
	if err != nil {
		return nil, fmt.Errorf("read the runs of %s: %w", job.Name, err)
	}
	reports := make([]*report.Report, 0, len(found))
	for _, doc := range found {
		rep, err := report.Of(doc)
		if err != nil {
			return nil, fmt.Errorf("%w: no run wrote it, so delete it by hand", err)
		}
		reports = append(reports, rep)
	}
	return reports, nil
}

// newest returns the reports of a job's last runs, newest first, at most limit. period is the time between two runs. killed is
// the report of the last one, if that was killed and none is saved.
func (s *store) newest(
	ctx context.Context, job manifest.Entry, now time.Time, period time.Duration, limit int, killed *report.Report,
) ([]*report.Report, error) {
	newest := []*report.Report{}
	if killed != nil {
		newest = append(newest, killed)
	}
	oldest := now.Add(-report.RunRetention)
	until := now.Add(time.Hour) // for clocks that differ
	for window := period * time.Duration(limit+1); until.After(oldest) && len(newest) < limit; window *= 4 {
		from := until.Add(-window)
		reports, err := s.between(ctx, job, from, until)
		if err != nil {
			return nil, err
		}
		for i := len(reports) - 1; i >= 0 && len(newest) < limit; i-- {
			newest = append(newest, reports[i])
		}
		until = from
	}
	return newest, nil
}

// run reads the report of a run, which for one that was killed a moment ago is not saved yet.
func (s *store) run(ctx context.Context, job manifest.Entry, runID string, now time.Time) (
	rep *report.Report, found bool, err error,
) {
	_, db, err := s.of(ctx, job)
	if err != nil {
		return nil, false, err
	}
	doc, found, err := db.Get(ctx, "cleanupRuns/"+runID)
	if err != nil {
		return nil, false, err
	}
	if !found {
		killed, err := s.killed(ctx, job, now)
		if err != nil || killed == nil || killed.RunID != runID {
			return nil, false, err
		}
		return killed, true, nil
	}
	rep, err = report.Of(doc)
	return rep, true, err
}

// entryOfRun returns the job or worker that a run's id begins with. It makes known a job that forgot a user.
func (a *application) entryOfRun(runID string) (manifest.Entry, bool) {
	if name, _, _ := strings.Cut(runID, "-"); advice.Forgets(name) && a.Jobs[name].Name == "" {
		e, _, err := a.forgets(name, "anybody")
		return e, err == nil
	}
	for _, e := range a.All {
		if strings.HasPrefix(runID, e.Name+"-") {
			return e, true
		}
	}
	return manifest.Entry{}, false
}

// readsOfLastRun returns how many documents a job's last run read, for an estimate; 0 if that is not known.
func (a *application) readsOfLastRun(ctx context.Context, job manifest.Entry, getenv func(string) string) int64 {
	s := a.newStore(getenv)
	defer s.close()
	record, err := s.record(ctx, job)
	if err != nil || record.Last == nil {
		return 0
	}
	return record.Last.Usage.FirestoreReads
}
