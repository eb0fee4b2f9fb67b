package main

import (
	"context"
	"errors"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

// readLog adds what the log of a run has. The error is [restore.ErrNoLog] if it has none.
func readLog(ctx context.Context, p restore.Project, runID string, at *far, to *undo.Sum) error {
	return p.Contents(ctx, runID, func(done, total int, records []undo.Record) error {
		at.set("reading what "+runID+" did", done, total)
		to.Add(records)
		return nil
	})
}

// thingsOf returns what a run of a job did. kept is false if the run has no log.
func (a *app) thingsOf(ctx context.Context, job manifest.Entry, runID string, sum undo.Sum) (
	things []undo.Thing, kept bool, err error,
) {
	var at far
	defer a.progress(ctx, at.now)()
	err = a.on(ctx, job, func(p restore.Project) error { return readLog(ctx, p, runID, &at, &sum) }, config.Firestore)
	if errors.Is(err, restore.ErrNoLog) {
		return nil, false, nil
	}
	return sum.Things(), err == nil, err
}
