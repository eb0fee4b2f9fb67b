package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/shared/backends"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

// jobsNamed returns the jobs of these names, also in the lower case of their Cloud Run services, as alerts write them, or all
// that the application uses if no name is given. The error says which name is no job, or that there is nothing to use.
func (a *application) jobsNamed(names []string) ([]manifest.Entry, error) {
	if len(names) == 0 {
		return a.used(), a.declares()
	}
	jobs := a.scheduled()
	var chosen []manifest.Entry
	for _, name := range names {
		i := slices.IndexFunc(jobs, func(e manifest.Entry) bool { return e.Name == name || strings.ToLower(e.Name) == name })
		if i < 0 {
			var known []string
			for _, e := range a.used() {
				known = append(known, e.Name)
			}
			return nil, wrongUse("no job is called %q; the jobs are %s", name, strings.Join(known, ", "))
		}
		if slices.ContainsFunc(chosen, func(e manifest.Entry) bool { return e.Name == jobs[i].Name }) {
			return nil, wrongUse("%s is named twice", name)
		}
		chosen = append(chosen, jobs[i])
	}
	return chosen, nil
}

// entryOfRun returns the job or worker that a run's id begins with. Of a rule that is there no more, it has the name alone.
func (a *application) entryOfRun(runID string) manifest.Entry {
	name, _, _ := strings.Cut(runID, "-")
	if i := slices.IndexFunc(a.All, func(e manifest.Entry) bool { return e.Name == name }); i >= 0 {
		return a.All[i]
	}
	return manifest.Entry{Name: name}
}

// settings reads the settings of a job that uses the given backends, from the variables that the function has.
func (a *app) settings(ctx context.Context, e manifest.Entry, uses ...config.Backend) (config.Config, error) {
	project, err := a.project()
	if err != nil {
		return config.Config{}, err
	}
	if own := config.For(e.Name, a.getenv)("GOOGLE_CLOUD_PROJECT"); own != project {
		return config.Config{}, wrongUse("GOOGLE_CLOUD_PROJECT_%s is %s, and the project is %s: unset it", e.Name, own, project)
	}
	if slices.Contains(uses, config.Storage) && config.For(e.Name, a.getenv)("STORAGE_BUCKET") == "" {
		if err := a.chooseBucket(ctx, project); err != nil {
			return config.Config{}, err
		}
	}
	cfg, err := config.Load(config.Previewing(config.For(e.Name, a.getenv)), a.Jobs[e.Name].Settings, uses...)
	if err != nil {
		return config.Config{}, wrongUse("%s: %w", e.Name, err)
	}
	return cfg, nil
}

// on opens backends of a function with the caller's credentials, calls f, and closes them.
func (a *app) on(ctx context.Context, e manifest.Entry, f func(restore.Project) error, uses ...config.Backend) error {
	cfg, err := a.settings(ctx, e, uses...)
	if err != nil {
		return err
	}
	p, closeAll, err := restore.Open(ctx, a.hooks, cfg, uses, a.clock, a.Jobs)
	if err != nil {
		return err
	}
	return errors.Join(f(p), closeAll())
}

// eachDatabase calls f with a function for each database that functions work on, but some. Each has records of its own.
func (a *app) eachDatabase(ctx context.Context, f func(on manifest.Entry) error, but ...string) error {
	for _, e := range a.All {
		c, err := a.settings(ctx, e, config.Firestore)
		if err == nil && !slices.Contains(but, c.Database) {
			but = append(but, c.Database)
			err = f(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// who returns who is at the terminal, for records; empty if that is not known.
func who() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	host, err := os.Hostname()
	if err != nil {
		return u.Username
	}
	return u.Username + "@" + host
}

// opened opens backends by connections that refuse writes, and stay open until the command ends.
func (a *app) opened(ctx context.Context, cfg config.Config, uses ...config.Backend) (o *backends.Opened, err error) {
	what := fmt.Sprint(cfg.Database, " ", cfg.Bucket, " ", uses)
	if o = a.readers[what]; o == nil {
		// They are used longer than what reads first.
		if o, err = a.hooks.ReadOnly().Open(context.WithoutCancel(ctx), cfg, uses, true); err == nil {
			a.readers[what] = o
		}
	}
	return o, err
}

// openedFor is [app.opened] of what a job works on, with its settings.
func (a *app) openedFor(ctx context.Context, job manifest.Entry, uses ...config.Backend) (
	cfg config.Config, o *backends.Opened, err error,
) {
	if cfg, err = a.settings(ctx, job, uses...); err == nil {
		o, err = a.opened(ctx, cfg, uses...)
	}
	return cfg, o, err
}

// reading opens the database of a job by a connection that refuses writes.
func (a *app) reading(ctx context.Context, job manifest.Entry) (p restore.Project, err error) {
	cfg, o, err := a.openedFor(ctx, job, config.Firestore)
	if err != nil {
		return p, err
	}
	return restore.Project{Config: cfg, DB: o.Documents.Writer(nil), Clock: a.clock, Jobs: a.Jobs}, nil
}

func (a *app) closeReaders() {
	for _, o := range a.readers {
		_ = o.Close() // everything has been read
	}
}

// record reads cleanupJobs/{job}, with what is for all jobs. The record of a job that never ran is empty.
func (a *app) record(ctx context.Context, job manifest.Entry) (r jobstate.Record, err error) {
	p, err := a.reading(ctx, job)
	if err != nil {
		return r, err
	}
	r.State, r.Now, err = jobstate.Read(ctx, p.DB.Reader, job.Name)
	var foreign *jobstate.ForeignError
	if errors.As(err, &foreign) {
		r.Err, err = err, nil
	}
	return r, err
}

// maxRunsInAWindow is how many reports a query may return: more than a job that runs every ten minutes has in 90 days.
const maxRunsInAWindow = 20_000

// between returns the reports of a job's runs that started from one time until before another, oldest first. A run's id begins
// with the job's name and the start to the second, so ids are in the order of time and the query needs no index.
func (a *app) between(ctx context.Context, job manifest.Entry, from, until time.Time) ([]*report.Report, error) {
	p, err := a.reading(ctx, job)
	if err != nil {
		return nil, err
	}
	id := func(t time.Time) []any { return []any{job.Name + "-" + t.UTC().Format(idTime)} }
	found, err := p.DB.First(ctx, documents.Query{
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
) (newest []*report.Report, err error) {
	newest = []*report.Report{}
	if killed != nil {
		newest = append(newest, killed)
	}
	err = a.backwards(period*time.Duration(limit+1), func(from, until time.Time) (bool, error) {
		reports, err := a.between(ctx, job, from, until)
		slices.Reverse(reports)
		newest = append(newest, reports[:min(len(reports), limit-len(newest))]...)
		return len(newest) == limit, err
	})
	return newest, err
}

// backwards calls a function with spans of the time of which reports are kept, the latest first and each longer than the one
// before, until it has enough.
func (a *app) backwards(first time.Duration, look func(from, until time.Time) (enough bool, err error)) error {
	oldest, until := a.clock().Add(-report.RunRetention), a.clock().Add(time.Hour) // for clocks that differ
	for span := min(first, report.RunRetention); until.After(oldest); span *= 4 {
		from := until.Add(-span)
		if enough, err := look(from, until); enough || err != nil {
			return err
		}
		until = from
	}
	return nil
}

// reportOf looks for the report of a run.
func (a *app) reportOf(ctx context.Context, job manifest.Entry, runID string) (seen, error) {
	p, err := a.reading(ctx, job)
	if err != nil {
		return seen{}, err
	}
	doc, saved, err := p.DB.Get(ctx, "cleanupRuns/"+runID)
	if err != nil {
		return seen{}, err
	}
	found := seen{runID: runID}
	if saved {
		found.report, err = report.Of(doc)
		return found, err
	}
	if found, err = a.unsaved(ctx, job, func(id string) bool { return id == runID }); found.runID == "" {
		found = seen{runID: runID, why: "there is no report of " + runID + ": it is a worker's, or older than 90 days"}
	}
	return found, err
}

// unsaved returns what a job's record says of a run whose report is not saved yet: the report of one that was killed a moment
// ago, why one has none that is under way, and nothing of others.
func (a *app) unsaved(ctx context.Context, job manifest.Entry, isIt func(runID string) bool) (found seen, err error) {
	now := a.clock()
	record, err := a.record(ctx, job)
	switch killed := record.Killed(now); {
	case err == nil && killed != nil && isIt(killed.RunID):
		found = seen{runID: killed.RunID, report: killed}
	case err == nil && isIt(record.Holder) && !jobstate.ByUndo(record.Holder) && now.Before(record.Until):
		found = seen{runID: record.Holder, why: a.underWay(job.Name, record.State)}
	}
	return found, err
}
