// Package jobstate is what cleanupJobs/{job} says: who has the job's lease, whether the job is held, where its next run begins,
// and how the last one ended; and what is for all jobs: that they are held, and what they keep. Its transitions are pure: each
// takes a state and returns the next one, or says why not, and comes to the same when it is repeated because its answer was
// lost. Only [Store] reads and writes.
package jobstate

import (
	"fmt"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// Margin is how much longer than its function's timeout a run's lease lasts, so that it can only expire on one that is dead.
// It is also how far clocks may differ.
const Margin = time.Minute

// Longest is for how long anybody may hold the lease: Cloud Scheduler waits no longer for a function, wherever it runs.
const Longest = 30 * time.Minute

// UndoLease is for how long an undo takes a job's lease; it renews the lease while it works.
const UndoLease = 2 * time.Minute

// Since returns how long ago a time was, by the clock that went further: while a laptop sleeps or a container is frozen, its
// monotonic clock may stand still; its wall clock may be set back.
func Since(at, now time.Time) time.Duration { return max(now.Sub(at), now.Round(0).Sub(at)) }

// State is what is known of a job. The zero value is that of a job that never ran.
type State struct {
	Holder     string         `json:"holder" firestore:"holder"`         // the run, or undo, that has the lease; empty: nobody
	Until      time.Time      `json:"until" firestore:"until"`           // when the holder is dead
	Begun      *report.Report `json:"begun" firestore:"begun"`           // what the holder's report began with; nil of an undo
	Checkpoint string         `json:"checkpoint" firestore:"checkpoint"` // where the next run begins; empty: at the beginning
	Cuts       []string       `json:"cuts" firestore:"cuts"`             // where the next run's listings of objects may be cut
	Warned     []string       `json:"warned" firestore:"warned"`         // digests of what the last run warned of
	Leaves     bool           `json:"leaves" firestore:"leaves"`         // runs may have left something to do
	Rewound    bool           `json:"rewound" firestore:"rewound"`       // the next run begins at the beginning all the same
	Held       *Hold          `json:"held" firestore:"held"`             // by an undo or an operator; nil: nobody holds the job
	Keep       []Kept         `json:"keep" firestore:"keep"`             // what the jobs keep, whatever their rules say; for AllJobs
	Known      []string       `json:"known" firestore:"known"`           // stored for NewJobs: the jobs that it does not hold
	Stop       any            `json:"stop" firestore:"stop"`             // the run that is told to stop; a person may write anything
	Schedule   string         `json:"schedule" firestore:"schedule"`     // by which Cloud Scheduler calls the job; empty: not known
	Last       *report.Report `json:"lastReport" firestore:"lastReport"` // of the last run that saved one; nil: none
}

// ByUndo reports whether a holder is an undo.
func ByUndo(holder string) bool { return strings.HasPrefix(holder, undo.HolderPrefix) }

// Run returns the run that holds the lease, though it may be dead; empty if none does.
func (s State) Run() string {
	if s.Begun == nil || s.Begun.RunID != s.Holder {
		return ""
	}
	return s.Holder
}

// Leased returns who holds the lease at a time; empty if nobody does.
func (s State) Leased(now time.Time) string {
	if now.Before(s.Until) {
		return s.Holder
	}
	return ""
}

// Begins returns the checkpoint at which the next run begins.
func (s State) Begins() string {
	if s.Rewound {
		return ""
	}
	return s.Checkpoint
}

// IsStopping reports whether the run that holds the lease is told to stop.
func (s State) IsStopping() bool { return s.Holder != "" && s.Stop == s.Holder }

// Killed returns the report of a run that was killed, as whoever takes its lease over saves it; nil if none was. What the run did
// is not known from it, but from the run's undo log.
func (s State) Killed(now time.Time) *report.Report {
	if s.Run() == "" || now.Before(s.Until) {
		return nil
	}
	r := *s.Begun
	r.Status, r.Actions, r.Kept, r.Failures = report.Killed, map[string]report.Counts{}, map[string]int{}, []report.Failure{}
	r.Fail(r.Job, "run", fmt.Errorf("it was killed, or was out of memory or time: its lease ended at %s, and it had saved no report",
		s.Until.UTC().Format(time.RFC3339)))
	return &r
}
