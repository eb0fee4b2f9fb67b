package engine

import (
	"context"
	"fmt"
	"iter"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/notify"
)

// notifyTime is how long telling somebody may take at most, retries included.
const notifyTime = 20 * time.Second

// notify tells whoever is to be told (NOTIFY) of the runs that this call ended: its own, and one before it that nobody else had
// ended. It changes nothing of them, and a message that cannot be sent is a line of the log.
func (r *run) notify(ctx context.Context) {
	if !r.config.NotifyURL.IsSet() || r.job.Task != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, notifyTime)
	defer cancel()
	for _, of := range []*report.Report{r.overtaken, r.ended()} {
		if of == nil || of.Status == report.Skipped || of.DryRun && !r.scheduled {
			continue
		}
		m, err := r.message(ctx, of)
		if err == nil && m != nil {
			err = notify.Poster{Wait: r.hooks.WaitToNotify}.Post(ctx, r.config.NotifyURL, *m)
		}
		if err != nil {
			r.Logger.WarnContext(ctx, fmt.Sprintf("%s could not tell %s of run %s: %v", r.job.Name, r.config.NotifyURL, of.RunID, err))
		}
	}
}

// message returns what is told when a run has ended; nil for nothing.
func (r *run) message(ctx context.Context, of *report.Report) (*notify.Message, error) {
	project, days := r.config.Project, r.config.UndoDays
	failed := of.Status == report.Failed || of.Status == report.Aborted || of.Status == report.Killed
	switch {
	case r.config.Notify == config.Weekly:
		week, err := r.week(ctx, of)
		if err != nil || len(week) == 0 {
			return nil, err
		}
		m := notify.OfWeek(project, week, days)
		return &m, nil
	case failed || r.config.Notify == config.Always:
		m := notify.OfRun(project, of, days)
		return &m, nil
	}
	return nil, nil
}

// ended returns the report of the run that ended with this call; nil if it goes on, or had ended before and this is a retry.
func (r *run) ended() *report.Report {
	switch {
	case r.Report.Part == nil && r.continues == nil && !r.Report.Continued:
		return r.Report
	case r.Report.Part != nil && r.leased && r.saved.Settled() && !r.retried:
		return r.saved.Report()
	}
	return nil
}

// week returns the reports of the job's runs since the last summary, the oldest first, if a run is to send one: the first of the
// week that was not killed. The last summary is that of the first such run of the week before, so nothing is stored. Weeks
// begin on Monday, in UTC, and a run is of the week in which it started.
func (r *run) week(ctx context.Context, ended *report.Report) (since []*report.Report, err error) {
	if ended.DryRun || ended.Status == report.Killed {
		return nil, nil
	}
	day := ended.StartedAt.UTC().Truncate(24 * time.Hour)
	monday := day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	for of, err := range r.reports(ctx, monday, ended, 10) { // most often the first will do
		if err != nil || of.Status != report.Killed {
			return nil, err
		}
	}
	sent := false
	for of, err := range r.reports(ctx, monday.AddDate(0, 0, -7), ended, 0) {
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

// reports returns the saved reports of the job's runs from a time to a run, without that one and what was skipped, by time: ids
// of runs begin with job and time. It reads so many at once.
func (r *run) reports(ctx context.Context, from time.Time, to *report.Report, pageSize int) iter.Seq2[*report.Report, error] {
	db := r.clients.documents.Writer(nil).Reader
	id := func(name string) any { return db.Ref(collections.Runs + "/" + name) }
	q := documents.Query{Collection: collections.Runs, PageSize: pageSize, Where: []documents.Filter{
		{Field: firestore.DocumentID, Op: ">=", Value: id(r.job.Name + "-" + from.Format("20060102T150405Z"))},
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
