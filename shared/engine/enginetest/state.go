package enginetest

import (
	"strings"
	"time"
)

// Leased returns what cleanupJobs/{job} says while the first call of a run, or an undo, holds the job until a time.
func Leased(by string, until any) map[string]any {
	record := From("")
	record["ranges"].([]any)[0].(map[string]any)["holder"] = by
	record["ranges"].([]any)[0].(map[string]any)["until"] = until
	if job, rest, _ := strings.Cut(by, "-"); job != "undo" {
		begun := map[string]any{"runId": by, "job": job}
		at, _, _ := strings.Cut(rest, "-")
		if started, err := time.Parse("20060102T150405Z", at); err == nil {
			begun["startedAt"] = started
		}
		record["run"], record["begun"] = by, begun
	}
	return record
}

// From returns what cleanupJobs/{job} says of a run that ended at a checkpoint.
func From(checkpoint string) map[string]any {
	return map[string]any{"ranges": []any{map[string]any{"checkpoint": checkpoint}}}
}

// Checkpoint returns where the next run of a job that is not split begins, by cleanupJobs/{job}.
func Checkpoint(record map[string]any) string {
	checkpoint, _ := rangeOf(record)["checkpoint"].(string)
	return checkpoint
}

// Holder returns the call, or undo, that holds a job that is not split, by cleanupJobs/{job}; empty if none does.
func Holder(record map[string]any) string {
	holder, _ := rangeOf(record)["holder"].(string)
	return holder
}

// rangeOf returns the first range of a job's record.
func rangeOf(record map[string]any) map[string]any {
	ranges, _ := record["ranges"].([]any)
	if len(ranges) == 0 {
		return nil
	}
	first, _ := ranges[0].(map[string]any)
	return first
}
