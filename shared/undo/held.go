package undo

import (
	"fmt"

	"github.com/firesweep/firesweep/shared/documents"
)

// HeldOf returns the collection that says which items a job keeps because they came back by undoing a run.
func HeldOf(job string) string { return "cleanupJobs/" + job + "/held" }

// HeldField is the field of cleanupJobs/{job} that says that there may be such items. It is set before the first of them is.
const HeldField = "held"

// SplitField is the field of cleanupJobs/{job} that says who does what of a run that was split into shards.
const SplitField = "split"

// HolderPrefix precedes the id of the run that is taken back, in the lease that an undo holds.
const HolderPrefix = "undo-"

// MaxHeld is how many items one document of that collection names, so that a job reads many of them at the price of few reads.
const MaxHeld = 500

// TargetsField is the field that holds the items as a job's plan names them.
const TargetsField = "targets"

// HeldTargets returns the items that a document of [HeldOf] names. An error says that this program did not write it.
func HeldTargets(d documents.Document) ([]string, error) {
	values, ok := d.Data[TargetsField].([]any)
	targets := make([]string, 0, len(values))
	for _, v := range values {
		text, isText := v.(string)
		ok = ok && isText
		targets = append(targets, text)
	}
	if !ok {
		return nil, fmt.Errorf("%s does not say what is held: look at it and delete it", d.Path)
	}
	return targets, nil
}
