package engine

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
)

// A run whose process is killed saves no report. Whoever takes its lease over, once that has ended, saves one for it in the same
// commit, so that people find the run and can take it back.

// begunField is the field of a lease in which the run says of itself what its report begins with.
const begunField = "begun"

// endOfRunID is what a run's id ends with, after its job's name: when it started, and what tells it from others.
var endOfRunID = regexp.MustCompile(`^-(\d{8}T\d{6}Z)-[0-9a-f]{8}$`)

// KilledIn returns the report of the run that held the lease in a job's record until that ended, and so was killed; nil if there
// is none. What the run did is not known from it, but from its undo log.
func KilledIn(job string, doc documents.Document, now time.Time) *Report {
	doc.Path = "cleanupJobs/" + job
	holder, until, err := lease{job: job}.of(doc)
	id := endOfRunID.FindStringSubmatch(strings.TrimPrefix(holder, job))
	if err != nil || id == nil || !isRunOf(holder, job) || now.Before(until) {
		return nil
	}
	started, err := time.Parse("20060102T150405Z", id[1])
	if err != nil {
		return nil
	}
	r := Report{StartedAt: started}
	// What cannot be read stays unknown: the run's id says enough to find it.
	held, _ := doc.Data["lease"].(map[string]any)
	if text, err := json.Marshal(held[begunField]); err != nil || json.Unmarshal(text, &r) != nil || r.RunID != holder {
		r = Report{StartedAt: started}
	}
	r.Job, r.RunID, r.Status = job, holder, Killed
	r.Actions, r.Kept = map[string]Counts{}, map[string]int{}
	r.Failures = []Failure{{Target: job, Action: "run", Error: fmt.Sprintf(
		"it was killed, or was out of memory or time: its lease ended at %s, and it had saved no report",
		until.UTC().Format(time.RFC3339))}}
	return &r
}
