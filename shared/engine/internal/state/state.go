// Package state is what cleanupJobs/{job} says: the ranges of a job, who holds them, how far they got and what was done of them.
// Its transitions are pure: each takes a state and returns the next one, or says why not, and comes to the same when it is
// repeated because its answer was lost. Only [Store] reads and writes.
package state

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// State is what is known of a job. The zero value is that of a job that never ran.
type State struct {
	Run     string         `json:"run" firestore:"run"`         // that the ranges belong to; empty: none, or an undo has them
	Begun   report.Report  `json:"begun" firestore:"begun"`     // what the run's report began with
	Earlier int            `json:"earlier" firestore:"earlier"` // actions of the runs before it for the same now, done or reserved
	Ranges  []Range        `json:"ranges" firestore:"ranges"`   // none: one, of which nothing is known
	Rewound bool           `json:"rewound" firestore:"rewound"` // the next run begins at the beginning
	Stop    any            `json:"stop" firestore:"stop"`       // the run that is told to stop; a person may have written anything
	Cuts    []string       `json:"cuts" firestore:"cuts"`       // where listings of objects are cut
	Month   report.Month   `json:"month" firestore:"month"`
	Last    *report.Report `json:"lastReport" firestore:"lastReport"` // of the last run that saved one; nil: none
}

// Range is a part of what a job goes through: all of it, unless the run was split. A run is one or more calls of the function; a
// call holds a range while it works on it.
type Range struct {
	cleanup.Bounds
	Checkpoint string                     `json:"checkpoint" firestore:"checkpoint"` // where the next call or run begins
	Through    bool                       `json:"through" firestore:"through"`       // the range was gone through to its end
	Holder     string                     `json:"holder" firestore:"holder"`         // the call, or undo, that has it; empty: none
	Until      time.Time                  `json:"until" firestore:"until"`           // when the holder is dead
	Reserved   int                        `json:"reserved" firestore:"reserved"`     // actions that the holder may do
	Done       int                        `json:"done" firestore:"done"`             // by earlier calls; or reserved by one that was killed
	Looking    map[string]cleanup.Lookups `json:"looking" firestore:"looking"`       // ids that the holder looked up, by kind
	Looked     map[string]cleanup.Lookups `json:"looked" firestore:"looked"`         // those of earlier calls
	Ended      Ended                      `json:"ended" firestore:"ended"`
	Sum        report.Report              `json:"sum" firestore:"sum"` // the figures of the calls that ended
}

// Ended is what is known of the last call that gave a range back.
type Ended struct {
	Run     string        `json:"run" firestore:"run"`         // its id; that of the run that split
	Token   string        `json:"token" firestore:"token"`     // that its own task came with: the task may come again
	Calls   int           `json:"calls" firestore:"calls"`     // of this run that have ended
	Status  report.Status `json:"status" firestore:"status"`   // how it ended
	Stopped bool          `json:"stopped" firestore:"stopped"` // because it was told to
	Left    bool          `json:"left" firestore:"left"`       // a task may continue it
	Next    bool          `json:"next" firestore:"next"`       // a task was made that does
	Why     string        `json:"why" firestore:"why"`         // none was made, if somebody should know
}

// Task is what a task of Cloud Tasks says: which range of which run to continue, after which call.
type Task struct {
	Run   string
	Range int
	Token string // the id of that call
	Told  string // [Told] of that call's report
}

// Told returns a digest of what a run was told, and of what it works on. A call goes on by what the state says only if the task of
// the call before it, which knew it, says the same: whoever may write to one of both decides nothing. Without the limits it goes on
// as the revision that it was told to, for nobody looked at what a later one finds.
func Told(r report.Report) string {
	if !r.Force && len(r.Lift) == 0 {
		r.Revision = ""
	}
	return digest.Of(append([]string{r.Now.UTC().Format(time.RFC3339Nano), strconv.FormatBool(r.Force), r.Bucket, r.Revision}, r.Lift...)...)
}

// normal returns a copy that has at least one range.
func (s State) normal() State {
	if s.Ranges = slices.Clone(s.Ranges); len(s.Ranges) == 0 {
		s.Ranges = make([]Range, 1)
	}
	return s
}

// Divided reports whether the run was split, or is to go through what an earlier one left that was.
func (s State) Divided() bool {
	return len(s.Ranges) > 1 || len(s.Ranges) == 1 && s.Ranges[0].Bounds != cleanup.Bounds{}
}

// Begins returns the checkpoint at which the next call for range i begins. A split run's range is tried again from its begin, for
// its checkpoint is where the next run begins that is not split.
func (s State) Begins(i int) string {
	r := s.normal().Ranges[i]
	if r.Through && s.Divided() {
		return r.Begin
	}
	return r.Checkpoint
}

// NextBegins returns the checkpoint at which the next run begins, if it is not split.
func (s State) NextBegins() (checkpoint string) {
	if s.Rewound {
		return ""
	}
	for _, r := range s.Ranges {
		if !s.Divided() || r.Through && r.Checkpoint != "" {
			checkpoint = r.Checkpoint
		}
	}
	return checkpoint
}

// remaining returns the ranges, fresh, that nobody has gone through to the end, of a run that was split.
func (s State) remaining() (all []Range) {
	for _, r := range s.Ranges {
		if s.Divided() && !r.Through {
			all = append(all, Range{Bounds: cleanup.Bounds{Begin: r.Checkpoint, End: r.End}, Checkpoint: r.Checkpoint})
		}
	}
	return all
}

// Holder returns the run, or the undo, that holds any range, and when its last lease ends or ended; empty if none does.
func (s State) Holder() (id string, until time.Time) {
	for _, r := range s.Ranges {
		if r.Holder != "" && r.Until.After(until) {
			id, until = r.Holder, r.Until
		}
	}
	if id != "" && s.Run != "" {
		id = s.Run
	}
	return id, until
}

// Leased returns the run, or the undo, that holds any range at a time; empty if none does.
func (s State) Leased(now time.Time) string {
	if id, until := s.Holder(); now.Before(until) {
		return id
	}
	return ""
}

// UnderWay returns the run that holds a range, or is continued at once; empty if none does.
func (s State) UnderWay(now time.Time) string {
	next := slices.ContainsFunc(s.Ranges, func(r Range) bool { return r.Ended.Next })
	if id := s.Leased(now); id != "" || !next {
		return id
	}
	return s.Run
}

// GoesOn reports whether a call of the run holds a range, though it may be dead, or a task may come that continues it: at once, or
// once more after a failure.
func (s State) GoesOn() bool {
	return s.Run != "" && slices.ContainsFunc(s.Ranges, func(r Range) bool {
		return r.Holder != "" || r.Ended.Next || r.Ended.Left && r.Ended.Status == report.Failed && r.Ended.Token != ""
	})
}

// ByUndo reports whether a holder is an undo.
func ByUndo(holder string) bool { return strings.HasPrefix(holder, undo.HolderPrefix) }

// Told reports whether the run is told to stop.
func (s State) Told() bool { return s.Run != "" && s.Stop == s.Run }

// Settled reports whether each range has been given back, and none is continued at once.
func (s State) Settled() bool {
	return !slices.ContainsFunc(s.Ranges, func(r Range) bool { return r.Holder != "" || r.Ended.Next || r.Ended.Calls == 0 })
}

// holds reports whether a call holds all ranges.
func (s State) holds(who string) bool {
	return len(s.Ranges) > 0 && !slices.ContainsFunc(s.Ranges, func(r Range) bool { return r.Holder != who })
}

// Spent returns how many actions count against the run's limit: those of the runs before it for the same now, and what its
// ranges did or reserved, but for what is reserved in one of them. but is -1 for none.
func (s State) Spent(but int) int {
	n := s.Earlier
	for i, r := range s.Ranges {
		if n += r.Done; i != but {
			n += r.Reserved
		}
	}
	return n
}

// Looked returns the ids that all ranges have looked up, by kind.
func (s State) Looked() map[string]cleanup.Lookups {
	sum := map[string]cleanup.Lookups{}
	for _, r := range s.Ranges {
		AddLookups(sum, r.Looked)
		AddLookups(sum, r.Looking)
	}
	return sum
}

// AddLookups adds more to a sum.
func AddLookups(sum, more map[string]cleanup.Lookups) {
	for kind, l := range more {
		sum[kind] = cleanup.Lookups{Asked: sum[kind].Asked + l.Asked, Missing: sum[kind].Missing + l.Missing}
	}
}

// closed counts what the holder did, and looked up.
func (r Range) closed(did int) Range {
	r.Done, r.Reserved = r.Done+did, 0
	if r.Looked = maps.Clone(r.Looked); r.Looked == nil {
		r.Looked = map[string]cleanup.Lookups{}
	}
	AddLookups(r.Looked, r.Looking)
	r.Looking = nil
	return r
}

// Remaining returns how many ranges nobody has gone through to the end, of a run that was split; 0 of any other.
func (s State) Remaining() int { return len(s.remaining()) }
