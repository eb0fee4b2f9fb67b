package state

import (
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// Reserve says that the holder of range i may do n actions after these lookups, if check has nothing against it. It is given what
// counts against the limits besides: the actions, and the lookups of all ranges. The error is that of check, or a [*LostError].
func (s State) Reserve(
	who string, i, n int, looking map[string]cleanup.Lookups, check func(spent int, looked map[string]cleanup.Lookups) error,
) (State, error) {
	s = s.normal()
	if !s.HeldBy(who, i) {
		return s, &LostError{s.lastID()}
	}
	s.Ranges[i].Looking = looking
	if err := check(s.Spent(i), s.Looked()); err != nil {
		return s, err
	}
	s.Ranges[i].Reserved = n
	return s, nil
}

// Release is how a call gives a range back.
type Release struct {
	Who        string
	Range      int
	Checkpoint string         // where the next call begins, or the next run if Through
	Through    bool           // it went through to the range's end
	Report     *report.Report // of the call
	Token      string         // of its task; empty: the run began with the call
	Why        string         // nobody continues it, if somebody should know
	Alone      bool           // no task may continue it
	Now        time.Time
}

// Released reports whether a call was the last one to give range i back.
func (s State) Released(who string, i int) bool {
	return i < len(s.Ranges) && s.Ranges[i].Ended.Run == who
}

// HeldBy reports whether a call holds range i.
func (s State) HeldBy(who string, i int) bool { return i < len(s.Ranges) && s.Ranges[i].Holder == who }

// Release gives a range back, and counts what the call did. The error is a [*LostError].
func (s State) Release(g Release) (State, error) {
	s = s.normal()
	switch {
	case s.Released(g.Who, g.Range): // an earlier attempt took effect and its answer was lost
		return s, nil
	case !s.HeldBy(g.Who, g.Range):
		return s, &LostError{s.lastID()}
	}
	sum := s.sumWith(g)
	r := s.Ranges[g.Range].closed(g.Report.Counted())
	r.Sum = sum
	r.Holder, r.Until = "", time.Time{}
	r.Checkpoint, r.Through = g.Checkpoint, g.Through
	r.Ended = Ended{
		Run: g.Who, Token: g.Token, Calls: r.Ended.Calls + 1, Status: g.Report.Status, Stopped: g.Report.Stopped,
		Next: g.Report.Continued,
		Left: !g.Alone && !g.Report.Stopped && (g.Report.Status == report.Partial || g.Report.Status == report.Failed), Why: g.Why,
	}
	s.Ranges[g.Range] = r
	return s.counted(g.Report, g.Token == "", g.Now), nil
}

// sumWith returns the figures of a range's calls, with those of one more.
func (s State) sumWith(g Release) report.Report {
	r := s.Ranges[g.Range]
	sum := r.Sum
	again := r.Ended.Status == report.Failed && !r.Ended.Next // what had failed was tried once more
	if again {
		sum.Failures = nil
	}
	if again && s.Begins(g.Range) == r.Begin { // and all of it was looked at
		sum.Scanned, sum.Kept = 0, nil
	}
	planned := map[string]report.Counts{}
	for kind, c := range sum.Actions { // what was left was planned anew
		if again {
			c.Failed = 0
		}
		c.Planned, c.Begun = c.Done+c.Changed+c.Failed, 0
		planned[kind] = c
	}
	sum.Actions = planned
	sum.Add(g.Report)
	sum.DurationMs = g.Report.StartedAt.Sub(s.Begun.StartedAt).Milliseconds() + g.Report.DurationMs
	return sum
}

// counted adds a call to what is known of the month and of the run. A run that has ended is told to stop no longer.
func (s State) counted(call *report.Report, first bool, now time.Time) State {
	s.Month = s.Month.At(now)
	s.Month.Usage = s.Month.Usage.Plus(call.Usage)
	if first {
		s.Month.Runs++
	}
	s.Last = s.Report()
	if s.Settled() {
		s.Stop = nil
	}
	return s
}

// Split has the run that holds all ranges give them back as others, whose tasks are made now. call is its report. The error is a
// [*LostError].
func (s State) Split(call *report.Report, ranges []cleanup.Bounds, now time.Time) (State, error) {
	s = s.normal()
	who := call.RunID
	switch {
	case s.Released(who, 0): // an earlier attempt took effect and its answer was lost
		return s, nil
	case !s.holds(who):
		return s, &LostError{s.lastID()}
	}
	s.Begun.Usage, s.Begun.Warnings, s.Begun.DurationMs = call.Usage, call.Warnings, call.DurationMs
	s.Ranges = nil
	for _, b := range ranges {
		s.Ranges = append(s.Ranges, Range{Bounds: b, Checkpoint: b.Begin, Ended: Ended{Run: who, Left: true, Next: true}})
	}
	return s.counted(call, true, now), nil
}

// Free has the holder of all ranges hold nothing any more.
func (s State) Free(who string) State {
	if s = s.normal(); s.holds(who) {
		for i := range s.Ranges {
			s.Ranges[i].Holder, s.Ranges[i].Until = "", time.Time{}
		}
	}
	return s
}

// Rewind has the next run begin at the beginning. One that is under way goes on where it is.
func (s State) Rewind() State {
	s.Rewound = true
	return s
}
