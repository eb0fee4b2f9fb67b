package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/backtest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// backtested is the result of a backtest. docs/command.md documents it as JSON.
type backtested struct {
	Job     string    `json:"job"`
	At      time.Time `json:"at"`
	Skipped string    `json:"skipped,omitempty"` // why the job cannot be planned as of an earlier time
	Error   string    `json:"error,omitempty"`   // why the figures are missing, or not complete
	*backtest.Result
}

type backtestFlags struct {
	days     int
	at       string
	maxReads int64
	all      bool
}

func (a *app) backtestCommand() *cobra.Command {
	var f backtestFlags
	c := &cobra.Command{
		Use:   "backtest [JOB...]",
		Short: "Show what jobs would have deleted a week ago that is in use today",
		Long: `Show what jobs would have done a week ago, and what became of it: what somebody
changed since, so that it would be kept today, is what they would have missed.
All jobs but those that go through files, or only those that are named. It
writes nothing.

Firestore keeps what was there for seven days where point-in-time recovery is
on, and else for an hour: --at -50m shows that hour. Beyond that, and for jobs
that look at accounts, it takes the plan that the job's last whole preview of
the day before logged. It reads as much as a plan does, and each item that was
due once more. It needs roles/datastore.viewer, for accounts
roles/firebaseauth.viewer, and roles/logging.viewer for what a preview logged.`,
		Example: `  firesweep backtest --project my-project
  firesweep backtest --days 3 cleanupReports
  firesweep backtest --at -50m --json`,
	}
	c.Flags().IntVar(&f.days, "days", keptDays, "how many `DAYS` ago")
	c.Flags().StringVar(&f.at, "at", "", "a `TIME` instead: 2026-01-31T15:00:00Z or -50m")
	c.Flags().Int64Var(&f.maxReads, "max-reads", 1_000_000, "read at most `N` documents a job")
	c.Flags().BoolVar(&f.all, "all", false, "list all that would be kept")
	c.RunE = func(c *cobra.Command, names []string) error { return a.backtest(c.Context(), f, names) }
	return c
}

const (
	// Firestore keeps so many days where somebody asked it to, and takes whole minutes of them alone; else the last hour.
	keptDays = 7
	// A daily preview is looked for in the day before, and in what its run may have taken longer than the one of another day.
	previewed = 25 * time.Hour
	// Somebody may have previewed by hand meanwhile.
	maxPreviews = 100
)

// then returns the time to plan as of. Days are an hour shorter, so that the last one is not over before it has been read.
func (f backtestFlags) then(now time.Time) (time.Time, error) {
	at, err := moment("at", cmp.Or(f.at, fmt.Sprintf("-%dh", 24*f.days-1)), now)
	switch {
	case err == nil && !at.Before(now) || f.days < 1 || f.maxReads < 1 || f.at != "" && f.days != keptDays:
		return at, wrongUse("it must be --days 1 or more, or instead --at a time before now, and --max-reads 1 or more")
	case err != nil || now.Sub(at) <= time.Hour:
		return at.Truncate(time.Microsecond), err
	}
	return at.Truncate(time.Minute), nil
}

func (a *app) backtest(ctx context.Context, f backtestFlags, names []string) error {
	at, err := f.then(a.clock())
	if err != nil {
		return err
	}
	jobs, err := a.toPlan(names, false)
	if err != nil {
		return err
	}
	failed, all := false, []backtested{}
	for _, job := range jobs {
		b := backtested{Job: job.Name, At: at, Skipped: backtest.WhyNot(a.Jobs[job.Name])}
		switch {
		case b.Skipped != "" && len(names) == 1:
			return wrongUse("%s has no backtest: %s", job.Name, b.Skipped)
		case b.Skipped == "":
			if err := a.backtestOne(ctx, f, job, &b); err != nil {
				b.Error, failed = err.Error(), true
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		noun := "document"
		if a.Jobs[job.Name].AccountRule != nil {
			noun = "account"
		}
		if all = append(all, b); !a.json {
			a.printer().backtested(b, noun, f.all)
		}
	}
	return a.show(map[string]any{"backtests": all}, shown, failed)
}

// backtestOne backtests a job into b. What it will read is said first.
func (a *app) backtestOne(ctx context.Context, f backtestFlags, job manifest.Entry, b *backtested) error {
	cfg, err := a.settings(job, config.Firestore)
	if err != nil {
		return err
	}
	will := "about as much as a plan does"
	if n := a.readsOfLastRun(ctx, job); n > 0 {
		will = grouped("some %d documents, as its last run did", n)
	}
	fmt.Fprint(a.errs, grouped("%s: reads %s, and each one that was due once more; %d at most (--max-reads)\n", job.Name, will, f.maxReads))
	progress := planning{text: job.Name}
	defer a.progress(ctx, progress.now)()
	function, err := a.function(job, io.Discard)
	if err != nil {
		return err
	}
	o := engine.PlanOptions{Now: b.At, MaxReads: f.maxReads, Meter: &progress.meter}
	if b.Result, err = function.Backtest(ctx, o, nil); !errors.Is(err, backtest.ErrNoHistory) {
		if err != nil && cfg.Emulators.Firestore != "" && !errors.Is(err, backtest.ErrMaxReads) {
			err = fmt.Errorf("%w (Firestore is an emulator here, which keeps no history that one can rely on)", err)
		}
		return err
	}
	preview, none := a.lastPreview(ctx, job.Name, cfg.Database, b.At)
	if none == nil {
		b.At = preview.Now
		b.Result, none = function.Backtest(ctx, o, preview)
		if none == nil || !errors.Is(none, backtest.ErrNoHistory) {
			return none
		}
	}
	err = fmt.Errorf("%w, and %w", err, none)
	if !a.Jobs[job.Name].Accounts {
		err = fmt.Errorf("%w. Firestore keeps seven days where point-in-time recovery is on, and else an hour, which --at -50m looks at. "+
			"To turn it on: %s", err, fmt.Sprintf("gcloud firestore databases update --project=%s --database='%s' --enable-pitr", cfg.Project, cfg.Database))
	}
	return err
}

// lastPreview returns what the log has of a job's last preview before a time, if that was in the day before: of the last that
// completed, if any did. The error says why it tells nothing.
func (a *app) lastPreview(ctx context.Context, job, database string, before time.Time) (*report.Report, error) {
	l, err := a.openLog(ctx)
	if err != nil {
		return nil, err
	}
	filter := fmt.Sprintf("jsonPayload.report.job=%q AND jsonPayload.report.database=%q AND jsonPayload.report.dryRun=true AND "+
		"NOT (jsonPayload.report.approved:*) AND timestamp<=%q", job, database, before.Format(time.RFC3339Nano))
	entries, err := l.read(ctx, filter, before.Add(-previewed), true, maxPreviews)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("the log has no preview of the day before (firesweep runs --log %s lists those that it has)", job)
	}
	whole := slices.IndexFunc(entries, func(e entry) bool { return e.Report.Status == report.Completed })
	return entries[max(0, whole)].Report, nil
}

// grouped formats numbers with a comma after each three digits.
func grouped(format string, args ...any) string {
	return message.NewPrinter(language.English).Sprintf(format, args...)
}

// backtested prints a backtest for people.
func (p *printer) backtested(b backtested, noun string, all bool) {
	p.Line(p.Style(screen.Bold, b.Job))
	switch {
	case b.Skipped != "":
		p.Say("", 2, 2, "no backtest: %s", b.Skipped)
	case b.Error != "":
		p.Say(screen.Red, 2, 2, "nothing can be said: %s", b.Error)
	case b.Planned == 0:
		p.Say("", 2, 2, "Nothing was due on %s.", b.At.Format("2 January 2006"))
	default:
		if b.Preview != "" {
			p.Say("", 2, 2, "as the preview %s planned, because Firestore does not keep what was there; of a rule that has changed "+
				"since, what the change keeps counts too", b.Preview)
		}
		if b.Cut != "" {
			p.Say(screen.Yellow, 2, 2, "not the whole plan: %s", b.Cut)
		}
		p.Say("", 2, 2, "%s", grouped("Of %d %s that %s would have cleaned up on %s, %d would be kept today, touched since: %.2f %%.",
			b.Planned, noun+"s", b.Job, b.At.Format("2 January 2006"), len(b.Kept), 100*float64(len(b.Kept))/float64(b.Planned)))
		p.Say("", 2, 2, "%s", grouped("Written since, and due all the same: %d. Gone since, so nobody can tell whether they were missed: %d.",
			b.Written, b.Gone))
		var rows []screen.Row
		for _, item := range b.Kept {
			used := ""
			if !item.Used.IsZero() {
				used = item.Used.Format("2006-01-02 15:04")
			}
			rows = append(rows, screen.Row{Cells: []string{item.Target, used}, Notes: []string{item.Kept}})
		}
		if len(rows) > 0 {
			p.Line("")
			p.first(all, noun, []screen.Column{{Name: "TARGET", Path: true}, {Name: "LAST USED"}}, rows)
		}
	}
	p.Line("")
}
