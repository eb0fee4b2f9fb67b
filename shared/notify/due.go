package notify

import (
	"context"
	"iter"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// Due returns what is told when a run of a job has ended; nil for nothing. The saved reports tell what a week's summary holds.
func Due(ctx context.Context, cfg config.Config, job string, db documents.Reader, of *report.Report) (*Message, error) {
	project, days := cfg.Project, cfg.UndoDays
	failed := of.Status == report.Failed || of.Status == report.Aborted || of.Status == report.Killed
	switch {
	case cfg.Notify == config.Weekly:
		week, err := week(ctx, db, job, of)
		if err != nil || len(week) == 0 {
			return nil, err
		}
		return ofWeek(project, week, days), nil
	case failed || cfg.Notify == config.Always:
		return ofRun(project, of, days), nil
	}
	return nil, nil
}

// week returns the saved reports of a job's runs since the last summary, the oldest first, if a run is to send one: the first of
// the week that was not killed. The last summary is that of the first such run of the week before, so nothing is stored. Weeks
// begin on Monday, in UTC, and a run is of the week in which it started.
func week(ctx context.Context, db documents.Reader, job string, ended *report.Report) (since []*report.Report, err error) {
	if ended.DryRun || ended.Status == report.Killed {
		return nil, nil
	}
	day := ended.StartedAt.UTC().Truncate(24 * time.Hour)
	monday := day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	for of, err := range reports(ctx, db, job, monday, ended, 10) { // most often the first will do
		if err != nil || of.Status != report.Killed {
			return nil, err
		}
	}
	sent := false
	for of, err := range reports(ctx, db, job, monday.AddDate(0, 0, -7), ended, 0) {
		if err != nil {
			return nil, err
		}
		since = append(since, of)
		if !sent && of.StartedAt.Before(monday) && of.Status != report.Killed {
			sent, since = true, nil
		}
	}
	return append(since, ended), nil
}

// reports returns the saved reports of a job's runs from a time to a run, without that one and what was skipped, by time: ids
// of runs begin with job and time. It reads so many at once.
func reports(
	ctx context.Context, db documents.Reader, job string, from time.Time, to *report.Report, pageSize int,
) iter.Seq2[*report.Report, error] {
	id := func(name string) any { return db.Ref(collections.Runs + "/" + name) }
	q := documents.Query{Collection: collections.Runs, PageSize: pageSize, Where: []documents.Filter{
		{Field: firestore.DocumentID, Op: ">=", Value: id(job + "-" + from.Format("20060102T150405Z"))},
		{Field: firestore.DocumentID, Op: "<", Value: id(to.RunID)},
	}}
	return func(yield func(*report.Report, error) bool) {
		for page, err := range db.Pages(ctx, q, "") {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, d := range page.Documents {
				of, err := report.Of(d)
				if err == nil && of.Status == report.Skipped {
					continue
				}
				if !yield(of, err) {
					return
				}
			}
		}
	}
}
