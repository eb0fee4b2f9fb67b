package enginetest

import (
	"strings"
	"time"
)

// Leased returns what cleanupJobs/{job} says while a run, or an undo, holds the job's lease until a time.
func Leased(by string, until any) map[string]any {
	record := map[string]any{"holder": by, "until": until}
	if job, rest, _ := strings.Cut(by, "-"); job != "undo" {
		begun := map[string]any{"runId": by, "job": job}
		at, _, _ := strings.Cut(rest, "-")
		if started, err := time.Parse("20060102T150405Z", at); err == nil {
			begun["startedAt"] = started
		}
		record["begun"] = begun
	}
	return record
}

// From returns what cleanupJobs/{job} says of a run that ended at a checkpoint.
func From(checkpoint string) map[string]any { return map[string]any{"checkpoint": checkpoint} }

// Keeping returns what cleanupJobs/all-jobs says where the jobs keep these.
func Keeping(paths ...string) map[string]any {
	items := []any{}
	for _, path := range paths {
		items = append(items, map[string]any{"path": path})
	}
	return map[string]any{"keep": items}
}

// HeldBy returns what cleanupJobs/{job} says of a job that somebody holds.
func HeldBy(by, why string) map[string]any {
	return map[string]any{"held": map[string]any{"at": time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC), "by": by, "why": why}}
}

// Checkpoint returns where the next run of a job begins, by cleanupJobs/{job}.
func Checkpoint(record map[string]any) string {
	checkpoint, _ := record["checkpoint"].(string)
	return checkpoint
}

// Holder returns the run, or undo, that holds a job's lease, by cleanupJobs/{job}; empty if none does.
func Holder(record map[string]any) string {
	holder, _ := record["holder"].(string)
	return holder
}
