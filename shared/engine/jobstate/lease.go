package jobstate

import (
	"cmp"
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/engine/report"
)

// Candidate is who wants the lease: a run that begins, or an undo.
type Candidate struct {
	Who   string
	Begun *report.Report // what the report of a run begins with; nil of an undo
	Retry bool           // Cloud Scheduler may call again for a time for which a run has ended
	Now   time.Time
	For   time.Duration
}

// A LeasedError says that somebody else, a run or an undo, holds the lease.
type LeasedError struct {
	Holder string
	Until  time.Time
}

func (e *LeasedError) Error() string {
	return fmt.Sprintf("run %s holds the lease until %s", e.Holder, e.Until.Format(time.RFC3339))
}

// An EndedError says that an earlier run for the same schedule time was aborted or stopped, and holds its report.
type EndedError struct{ Report *report.Report }

func (e *EndedError) Error() string { return "run " + e.Report.RunID + " was aborted or stopped" }

// A LostError says that the caller does not hold the lease any more.
type LostError struct{ Holder string }

func (e *LostError) Error() string {
	if e.Holder == "" {
		return "the lease was lost"
	}
	return "the lease was lost to " + e.Holder
}

// Acquire has somebody hold the lease. The error is a [*HeldError], [*LeasedError] or [*EndedError].
func (s State) Acquire(c Candidate) (State, error) {
	if s.Holder == c.Who { // an earlier attempt took effect and its answer was lost
		s.Until = c.Now.Add(c.For)
		return s, nil
	}
	if s.Held != nil && c.Begun != nil {
		return s, &HeldError{*s.Held}
	}
	if s.Leased(c.Now) != "" {
		return s, &LeasedError{s.Holder, s.Until}
	}
	last := s.Last
	if c.Retry && last != nil && last.Now.Equal(c.Begun.Now) && (last.Stopped || last.Status == report.Aborted) {
		return s, &EndedError{last}
	}
	s.Checkpoint = s.Begins()
	if c.Begun == nil { // what an undo brings back may lie before the checkpoint, and nobody is there to stop
		s.Checkpoint, s.Stop = "", nil
	}
	s.Holder, s.Until, s.Begun, s.Rewound = c.Who, c.Now.Add(c.For), c.Begun, false
	return s, nil
}

// Renew has the holder hold the lease for longer. What has ended it does not get again: somebody may have held it since.
func (s State) Renew(who string, now time.Time, length time.Duration) (State, error) {
	if s.Leased(now) != who {
		return s, &LostError{s.Holder}
	}
	s.Until = now.Add(length)
	return s, nil
}

// Released reports whether a run was the last one to save its report and give the lease back.
func (s State) Released(who string) bool { return s.Last != nil && s.Last.RunID == who }

// Release gives a run's lease back, with its report and the checkpoint of the next one. The error is a [*LostError].
func (s State) Release(r *report.Report, checkpoint string) (State, error) {
	switch {
	case s.Released(r.RunID): // an earlier attempt took effect and its answer was lost
		return s, nil
	case s.Holder != r.RunID:
		lost := &LostError{s.Holder}
		if s.Last != nil {
			lost.Holder = cmp.Or(lost.Holder, s.Last.RunID)
		}
		return s, lost
	}
	s = s.Free(r.RunID)
	s.Checkpoint, s.Last, s.Stop = checkpoint, r, nil
	s.Schedule = cmp.Or(r.Schedule, s.Schedule) // a run from a terminal does not know it
	return s, nil
}

// Free gives the lease back, and nothing else.
func (s State) Free(who string) State {
	if s.Holder == who {
		s.Holder, s.Until, s.Begun = "", time.Time{}, nil
	}
	return s
}

// Rewind has the next run begin at the beginning. One that is under way goes on where it is.
func (s State) Rewind() State {
	s.Rewound = true
	return s
}
