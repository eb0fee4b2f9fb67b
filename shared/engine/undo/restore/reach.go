package restore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// Errors that say that the undo log does not tell what a run of the job did. Whoever can write to the database can write to the
// log, and what the log says is written with the rights of whoever takes the run back.
var (
	ErrNoReport = errors.New("the run has left no report, as a worker's, so nothing but the undo log says what it did: " +
		"look at the log with firesweep show, then give --without-report")
	ErrRefused = errors.New("the undo log says what no run of the job can have done, and it was left out: if the rule has changed " +
		"since, give the file of then with --rules; if not, somebody else wrote that: find out who can write to cleanupRuns")
)

// tellRefused tells what was left out, and returns [ErrRefused] if anything was that is to be taken back.
func (u *undoing) tellRefused() error {
	for _, target := range slices.Sorted(maps.Keys(u.refused)) {
		why := "not by this rule: as it is now, no run of " + u.job + " can have done it"
		if err := u.tell(Outcome{Target: target, Step: undo.Conflict, Why: why}); err != nil {
			return err
		}
	}
	if n := len(u.refused); n > 0 {
		return fmt.Errorf("%d of its records: %w", n, ErrRefused)
	}
	return nil
}

// report returns an error if the run's report is missing, or is of another job or bucket.
func (p Project) report(ctx context.Context, runID, job string, without bool) error {
	record := jobstate.Path(job)
	all, err := p.DB.GetAll(ctx, []string{collections.Runs + "/" + runID, record})
	if err != nil {
		return fmt.Errorf("read the run's report: %w", err)
	}
	report, found := all[collections.Runs+"/"+runID]
	bucket, _ := report.Data["bucket"].(string)
	switch {
	case !found && without:
		return nil
	case !found:
		// A run that was killed has a report when the next one takes its lease over.
		s, err := jobstate.Of(job, all[record])
		if err != nil {
			return err
		}
		killed := s.Killed(all[record].ReadTime)
		if killed == nil || killed.RunID != runID {
			return ErrNoReport
		}
		bucket = killed.Bucket
	case report.Data["job"] != job:
		return fmt.Errorf("%w: its report is of the job %v", ErrUnknown, report.Data["job"])
	}
	if ours := p.Config.Bucket; ours != "" && bucket != "" && bucket != ours {
		return fmt.Errorf("the run worked on the bucket %q, and not on %s: set STORAGE_BUCKET=%[1]q", bucket, ours)
	}
	return nil
}
