package engine

import (
	"maps"
	"slices"

	"github.com/firesweep/firesweep/shared/engine/report"
)

// What a run reports is of package report. Jobs and their tests need no other import than the engine for it.
type (
	// Report is a [report.Report].
	Report = report.Report
	// Status is a [report.Status].
	Status = report.Status
	// Counts is a [report.Counts].
	Counts = report.Counts
	// Failure is a [report.Failure].
	Failure = report.Failure
	// Planned is a [report.Planned].
	Planned = report.Planned
	// Shard is a [report.Shard].
	Shard = report.Shard
	// Undone is a [report.Undone].
	Undone = report.Undone
	// Month is a [report.Month].
	Month = report.Month
)

// The statuses.
const (
	Completed = report.Completed
	Partial   = report.Partial
	Skipped   = report.Skipped
	Aborted   = report.Aborted
	Failed    = report.Failed
	Killed    = report.Killed
)

// maxProblem is how many bytes the log's field problem has, which goes into an alert's message.
const maxProblem = 300

func planned(a Action) Planned {
	return Planned{Target: a.Target, Action: a.Kind, Reason: a.Reason, Writes: a.Writes, More: a.More}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func clip(s string, n int) string { return report.Clip(s, n) }
