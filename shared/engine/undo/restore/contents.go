package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// Contents hands over what a run's log holds, an entry at a time, in the order in which they were written, with how many of how
// many entries were before. It only reads. The error is [ErrNoLog] where there is nothing.
func (p Project) Contents(ctx context.Context, runID string, each func(done, total int, records []undo.Record) error) error {
	all, err := p.doneBy(ctx, runID)
	if err != nil {
		return err
	}
	for i, done := range all {
		records, err := done.Records(ctx, p.DB.Reader)
		if err != nil {
			return err
		}
		if err := each(i, len(all), records); err != nil {
			return err
		}
	}
	return nil
}

// Logged returns the ids of the runs that have an undo log, the latest first. It finds them by their logs: a run that was
// killed, and a worker's, have no report. It reads the name of every entry.
func (p Project) Logged(ctx context.Context) ([]string, error) {
	entries, err := p.all(ctx, documents.Query{Collection: collections.Undo, Group: true, Select: documents.NameOnly})
	if err != nil {
		return nil, fmt.Errorf("look for undo logs: %w", err)
	}
	var runs []string
	seen := map[string]bool{}
	for _, e := range entries {
		run, err := documents.RefOf(strings.TrimSuffix(e.Ref().Collection, "/"+collections.Undo))
		if err == nil && run.Collection == collections.Runs && !seen[run.ID] { // others are the application's, and no run's
			seen[run.ID] = true
			runs = append(runs, run.ID)
		}
	}
	began := func(runID string) string { _, at, _ := strings.Cut(runID, "-"); return at }
	slices.SortFunc(runs, func(x, y string) int { return strings.Compare(began(y), began(x)) })
	return runs, nil
}
