package state

import (
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/engine/report"
)

// Report returns the report of the run as it stands: the sum of what its calls reported.
func (s State) Report() *report.Report {
	r := s.Begun
	r.Failures = []report.Failure{}
	statuses := map[report.Status]bool{}
	for _, of := range s.Ranges {
		r.Add(&of.Sum)
		r.DurationMs = max(r.DurationMs, of.Sum.DurationMs)
		if of.Ended.Calls > 0 {
			statuses[of.Ended.Status] = true
			r.Stopped = r.Stopped || of.Ended.Stopped
		}
		if s.Divided() {
			r.Shards = append(r.Shards, of.shard())
		}
	}
	r.Continued = !s.Settled()
	switch {
	case statuses[report.Aborted]:
		r.Status = report.Aborted
	case statuses[report.Failed], len(r.Failures) > 0:
		r.Status = report.Failed
	case statuses[report.Partial], r.Continued:
		r.Status = report.Partial
	default:
		r.Status = report.Completed
	}
	if r.PartialRuns = 0; r.Status == report.Partial && !r.Stopped {
		r.PartialRuns = s.Begun.PartialRuns + 1
	}
	return &r
}

// shard says in a report how a range stands.
func (r Range) shard() report.Shard {
	s := report.Shard{Runs: r.Ended.Calls, Scanned: r.Sum.Scanned, Done: r.Sum.Done(), Through: r.Through}
	if r.Ended.Calls > 0 {
		s.RunID, s.Status, s.Left = r.Ended.Run, r.Ended.Status, !r.Ended.Next && !r.Through
	}
	return s
}

// Why returns why nobody continues what the run left, if somebody should know.
func (s State) Why() string {
	for _, r := range s.Ranges {
		if r.Ended.Why != "" {
			return r.Ended.Why
		}
	}
	return ""
}

// Killed returns the report of a run that was killed, as who takes its ranges saves it; nil if none was. What the killed call
// did is not known from it, but from the run's undo log.
func (s State) Killed(now time.Time) *report.Report {
	holder, until := s.Holder()
	if holder == "" || holder != s.Run || now.Before(until) {
		return nil
	}
	r := s.Report()
	r.Status, r.Continued, r.PartialRuns = report.Killed, false, 0
	r.Fail(r.Job, "run", fmt.Errorf("it was killed, or was out of memory or time: its lease ended at %s, and it had saved no report",
		until.UTC().Format(time.RFC3339)))
	return r
}

// Overtaken returns the report of the run that the ranges belong to, as it stands once another one, or an undo, takes them; nil
// if it stands already. It is to be saved.
func (s State) Overtaken(by string, now time.Time) *report.Report {
	if s.Run == "" || s.Run == by || s.Settled() {
		return nil
	}
	if killed := s.Killed(now); killed != nil {
		return killed
	}
	r := s.Report()
	r.Continued = false
	return r
}

// overtake says of the last report that nobody continues the run at once any more.
func (s State) overtake() State {
	if s.Last != nil && s.Last.RunID == s.Run && s.Last.Continued {
		last := *s.Last
		last.Continued = false
		s.Last = &last
	}
	return s
}
