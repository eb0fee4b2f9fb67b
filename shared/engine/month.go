package engine

import (
	"encoding/json"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
)

// monthField is the field of cleanupJobs/{job} that holds a [Month].
const monthField = "month"

// monthOf returns the month that a job's record tells of, if it is that of now. Nothing is decided by it, so a record that cannot be
// read begins anew.
func monthOf(doc documents.Document, now time.Time) Month {
	this := Month{Of: now.UTC().Format("2006-01")}
	text, err := json.Marshal(doc.Data[monthField])
	var saved Month
	if err != nil || json.Unmarshal(text, &saved) != nil || saved.Of != this.Of {
		return this
	}
	return saved
}

// plus adds a run.
func plus(m Month, r *Report) Month {
	m.Runs++
	m.Usage = m.Usage.Plus(r.Usage)
	return m
}
