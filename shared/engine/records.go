package engine

import (
	"time"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// Record is what cleanupJobs/{job} says of a job's runs.
type Record struct {
	Holder string    // the run that holds the lease, itself or in shards; empty: none
	Until  time.Time // when that lease expires, or the last of the shards'
	Told   bool      // that run was told to stop
	Last   *Report   // of the last run that held the lease; nil if there is none that can be read
	field  string    // in which that is
	job    string
	doc    documents.Document
	// Err says which field is not one that this program wrote, and the request that deletes it. No run begins until then.
	Err error
}

// RecordOf reads a job's record. cfg says where it is, for the request in [Record.Err].
func RecordOf(cfg config.Config, job string, doc documents.Document) Record {
	doc.Path = "cleanupJobs/" + job
	l := lease{config: cfg, job: job}
	r := Record{Last: lastReport(doc), job: job, doc: doc}
	if r.Holder, r.Until, r.Err = l.holder(doc); r.Err == nil {
		_, r.Err = l.checkpointOf(doc)
	}
	r.field = "lease"
	if itself, _, _ := l.of(doc); itself != r.Holder {
		r.field = splitField
	}
	r.Told = r.Holder != "" && doc.Data[stopField] == r.Holder
	return r
}

// Killed returns the report of the run that held the lease until that ended, as [KilledIn] does.
func (r Record) Killed(now time.Time) *Report { return KilledIn(r.job, r.doc, now) }

// Month returns what the job's runs have used since the month began that now is in.
func (r Record) Month(now time.Time) Month { return monthOf(r.doc, now) }

// HeldInShards returns which run is under way in shards by a job's record, and until when the last of them holds it; empty if none is.
func HeldInShards(doc documents.Document) (runID string, until time.Time) {
	s, err := splitOf(doc)
	if err != nil || s == nil || s.held().IsZero() { // that a record is foreign is said by who takes the lease
		return "", time.Time{}
	}
	return s.RunID, s.held()
}

// TooLong returns an error with the request that deletes the lease if it lies further ahead than any run with this timeout
// may hold it, or else nil.
func (r Record) TooLong(cfg config.Config, job string, timeout time.Duration, now time.Time) error {
	if r.Holder == "" {
		return nil
	}
	return lease{config: cfg, job: job, length: timeout + leaseMargin}.tooLong(r.field, r.Holder, now, r.Until)
}

// ReportOf reads the report that cleanupRuns/{runId} holds.
//
//go:fix inline
func ReportOf(doc documents.Document) (*Report, error) { return report.Of(doc) }

// RunRetention is how long cleanupRuns/{runId} is kept, by a TTL policy on expireAt.
//
//go:fix inline
const RunRetention = report.RunRetention
