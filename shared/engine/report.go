package engine

import (
	"maps"
	"slices"

	"github.com/firesweep/firesweep/shared/engine/report"
)

// What a run reports is described in package report.
//
//go:fix inline
type (
	Report  = report.Report
	Status  = report.Status
	Counts  = report.Counts
	Failure = report.Failure
	Planned = report.Planned
	Shard   = report.Shard
	Undone  = report.Undone
	Month   = report.Month
)

// The statuses.
//
//go:fix inline
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
