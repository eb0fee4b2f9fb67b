package state

import (
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/engine/report"
)

// Margin is how much longer than its function's timeout a call's lease lasts, so that it can only expire on one that is dead.
// It is also how far clocks may differ.
const Margin = time.Minute

// Longest is for how long anybody may hold a range: Cloud Scheduler waits no longer for a function, wherever it runs.
const Longest = 30 * time.Minute

// Since returns how long ago a time was, by the clock that went further: while a laptop sleeps or a container is frozen, its
// monotonic clock may stand still; its wall clock may be set back.
func Since(at, now time.Time) time.Duration { return max(now.Sub(at), now.Round(0).Sub(at)) }

// UndoLease is for how long an undo takes a job's lease; it renews the lease while it works.
const UndoLease = 2 * time.Minute

// Ask is who wants to hold what. It is a task's call, a run that begins, or an undo.
type Ask struct {
	Who     string         // a call, or an undo
	Task    *Task          // the range to continue
	Within  time.Duration  // after the run's begin, or else nobody continues it; 0: whenever
	Begin   *report.Report // what the report begins with of a run that begins, which takes all ranges
	Alone   bool           // the run cannot hand ranges over
	Retry   bool           // Cloud Scheduler may call again for a time for which a run has ended
	Now     time.Time
	For     time.Duration
	Longest time.Duration // for which anybody may hold a range; 0: not known
}

// A LeasedError says that somebody else holds what was asked for.
type LeasedError struct {
	Holder  string // a run, or an undo
	Until   time.Time
	Ranges  int    // of the run that is under way; 0: it is not split
	Waiting []Task // for the ranges of them that no call has begun; none if the run was told what might be forged
}

func (e *LeasedError) Error() string {
	if e.Ranges > 0 {
		return fmt.Sprintf("run %s is under way in shards, and the last of their leases ends at %s",
			e.Holder, e.Until.Format(time.RFC3339))
	}
	return fmt.Sprintf("run %s holds the lease until %s", e.Holder, e.Until.Format(time.RFC3339))
}

// tooLong reports whether a lease ends later than any may, clocks that differ included.
func (e *LeasedError) tooLong(now time.Time, longest time.Duration) bool {
	return e.Until.After(now.Add(longest + Margin))
}

// A TooLongError says that somebody holds a range for longer than anybody may.
type TooLongError struct{ LeasedError }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("run %s holds the lease until %s, longer than any run may: "+
		"a clock was wrong, or an older deployment is still under way", report.Clip(e.Holder, 64), e.Until.Format(time.RFC3339))
}

// An OvertakenError says that what a task was to continue is not there to continue any more.
type OvertakenError struct{ Token, Last string }

func (e *OvertakenError) Error() string {
	return fmt.Sprintf("it was to continue run %s, which left nothing, which run %s has continued already, which began too long ago, or "+
		"which was told something else (a forced one: by another revision; or about another bucket): the next scheduled run does what is left",
		e.Token, e.Last)
}

// An EndedError says that an earlier run for the same schedule time was aborted or stopped, and holds its report.
type EndedError struct{ Report *report.Report }

func (e *EndedError) Error() string { return "run " + e.Report.RunID + " was aborted or stopped" }

// A LostError says that the caller does not hold the range any more.
type LostError struct{ Holder string }

func (e *LostError) Error() string {
	if e.Holder == "" {
		return "the lease was lost"
	}
	return "the lease was lost to " + e.Holder
}

// Acquire has somebody hold a range, or all. The error is a [*LeasedError], [*TooLongError], [*OvertakenError] or [*EndedError].
func (s State) Acquire(a Ask) (State, error) {
	s = s.normal()
	wanted := s.Ranges
	if t := a.Task; t != nil {
		if t.Run != s.Run || t.Range >= len(s.Ranges) {
			return s, &OvertakenError{Token: t.Token, Last: s.lastID()}
		}
		wanted = s.Ranges[t.Range : t.Range+1]
	}
	for _, r := range wanted {
		if r.Holder != "" && r.Holder != a.Who && a.Now.Before(r.Until) {
			return s, s.leased(a, r)
		}
	}
	until := a.Now.Add(a.For)
	switch {
	case a.Task != nil:
		r := &s.Ranges[a.Task.Range]
		if r.Holder != a.Who {
			late := a.Within > 0 && a.Now.Sub(s.Begun.StartedAt) > a.Within
			if late || !r.Ended.Left || a.Task.Token != r.Ended.Run && a.Task.Token != r.Ended.Token {
				return s, &OvertakenError{Token: a.Task.Token, Last: r.Ended.Run}
			}
			*r = r.closed(r.Reserved) // of a call that was killed, which may have done all of it
		}
		r.Holder, r.Until = a.Who, until
	case s.holds(a.Who): // an earlier attempt took effect and its answer was lost, or it is done once more
		for i := range s.Ranges {
			s.Ranges[i].Until = until
		}
	case a.Begin != nil:
		return s.begin(a, until)
	default: // an undo, after which no task continues what was before
		s = s.overtake()
		s.Earlier, s.Run, s.Stop, s.Rewound = s.Spent(-1), "", nil, false
		s.Ranges = []Range{{Holder: a.Who, Until: until}}
	}
	return s, nil
}

// begin has a run take all ranges that are left.
func (s State) begin(a Ask, until time.Time) (State, error) {
	last := s.Last
	if a.Retry && last != nil && last.Now.Equal(a.Begin.Now) && (last.Stopped || last.Status == report.Aborted) {
		return s, &EndedError{last}
	}
	if earlier := s.Spent(-1); s.Begun.Now.Equal(a.Begin.Now) {
		s.Earlier = earlier
	} else {
		s.Earlier = 0
	}
	s = s.overtake()
	ended := s.Ranges[0].Ended.Run
	if left := s.remaining(); len(left) == 0 || s.Rewound || a.Alone {
		checkpoint := s.NextBegins()
		if len(left) > 0 {
			checkpoint = ""
		}
		s.Ranges = []Range{{Checkpoint: checkpoint}}
	} else {
		s.Ranges = left
	}
	for i := range s.Ranges {
		s.Ranges[i].Holder, s.Ranges[i].Until = a.Who, until
		s.Ranges[i].Ended.Run = ended // whose answer may have been lost
	}
	s.Run, s.Begun, s.Rewound = a.Who, *a.Begin, false
	if s.Last != nil {
		s.Begun.PartialRuns = s.Last.PartialRuns
	}
	return s, nil
}

// leased returns the error for what somebody else holds.
func (s State) leased(a Ask, r Range) error {
	e := LeasedError{Holder: r.Holder, Until: r.Until}
	if a.Task == nil && s.Run != "" {
		e.Holder, e.Until = s.Holder()
		// It may be forged, and no call vouches for it: tasks are made only for what the call that asks might do itself.
		plain := a.Begin != nil && !s.Begun.Now.After(a.Begin.Now) && !s.Begun.Force && len(s.Begun.Lift) == 0
		for i, r := range s.Ranges {
			if s.Divided() && plain && r.Holder == "" && r.Ended.Calls == 0 {
				e.Waiting = append(e.Waiting, Task{Run: s.Run, Range: i, Token: s.Run, Told: Told(s.Begun)})
			}
		}
		if s.Divided() {
			e.Ranges = len(s.Ranges)
		}
	}
	if a.Longest > 0 && e.tooLong(a.Now, a.Longest) {
		return &TooLongError{e}
	}
	return &e
}

// TooLong returns a [*TooLongError] if somebody holds a range for longer than anybody may, else nil.
func (s State) TooLong(now time.Time, longest time.Duration) error {
	var e LeasedError
	if e.Holder, e.Until = s.Holder(); e.tooLong(now, longest) {
		return &TooLongError{e}
	}
	return nil
}

func (s State) lastID() string {
	switch {
	case s.Run != "":
		return s.Run
	case s.Last != nil:
		return s.Last.RunID
	}
	return "unknown"
}

// Renew has the holder of all ranges hold them for longer. What has ended it does not get again: somebody may have held it since.
func (s State) Renew(who string, now time.Time, length time.Duration) (State, error) {
	s = s.normal()
	for i := range s.Ranges {
		r := &s.Ranges[i]
		if r.Holder != who || !now.Before(r.Until) {
			return s, &LostError{r.Holder}
		}
		r.Until = now.Add(length)
	}
	return s, nil
}
