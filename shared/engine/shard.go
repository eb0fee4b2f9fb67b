package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// A job that looks through very much may be split (SHARDS). Its scheduled run divides the names into ranges and hands each
// to its own function through Cloud Tasks. Such a shard is a chain of runs, as in continue.go, which begins with the run that
// was split. The state of all shards is in one field of cleanupJobs/{job}, so that each change sees the others: who holds which
// shard, how far it got, what it did. The whole has one report and one undo log, those of the run that was split.

// Range is a part of what a job looks through. Both ends are checkpoints, as [Planner.SaveCheckpoint] is given them.
type Range struct {
	Begin string `json:"begin" firestore:"begin"` // empty: the beginning
	End   string `json:"end" firestore:"end"`     // the next one's begin; empty: the end
}

// splitField is the field of cleanupJobs/{job} that holds a [split].
const splitField = undo.SplitField

// split is a run that was split.
type split struct {
	RunID  string  `json:"runId" firestore:"runId"`
	Seed   Report  `json:"seed" firestore:"seed"` // of the run that was split, which itself did nothing but split
	Shards []shard `json:"shards" firestore:"shards"`
	// Earlier is how many actions the runs before it for the same now did or may have done.
	Earlier int `json:"earlier" firestore:"earlier"`
}

// shard is what is known of one part of a split run.
type shard struct {
	Range
	Position string    `json:"position" firestore:"position"` // where its next run begins
	Through  bool      `json:"through" firestore:"through"`   // its range was gone through to the end
	Holder   string    `json:"holder" firestore:"holder"`     // the run that is under way; empty: none
	Until    time.Time `json:"until" firestore:"until"`       // when that is dead
	Claimed  int       `json:"claimed" firestore:"claimed"`   // actions that it may do
	Done     int       `json:"done" firestore:"done"`         // actions that those before it did, or may have
	// Looking are the ids that the run under way has looked up, by kind, and Looked those of the runs before it.
	Looking map[string]Lookups `json:"looking" firestore:"looking"`
	Looked  map[string]Lookups `json:"looked" firestore:"looked"`
	Runs    int                `json:"runs" firestore:"runs"`   // that ended
	Last    Report             `json:"last" firestore:"last"`   // of the last of them, without what only people read; or the seed
	Sum     Report             `json:"sum" firestore:"sum"`     // of all of them
	Stays   string             `json:"stays" firestore:"stays"` // why no run continues it at once, if somebody should know
}

// splitOf reads the field; nil if there is none. An error says that it is not one that this program wrote.
func splitOf(doc documents.Document) (*split, error) {
	value, set := doc.Data[splitField]
	if !set || value == nil {
		return nil, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("read its field %s: %w", splitField, err)
	}
	var s split
	if err := json.Unmarshal(text, &s); err != nil || s.RunID == "" || len(s.Shards) == 0 || s.negative() {
		return nil, fmt.Errorf("the field %s of %s is not one that this program wrote", splitField, doc.Path)
	}
	return &s, nil
}

// negative reports whether it counts less than nothing, which would leave the limits more room than they have.
func (s *split) negative() bool {
	less := func(all map[string]Lookups) bool {
		for _, l := range all {
			if l.Missing < 0 || l.Asked < l.Missing {
				return true
			}
		}
		return false
	}
	return s.Earlier < 0 || slices.ContainsFunc(s.Shards, func(sh shard) bool {
		return sh.Done < 0 || sh.Claimed < 0 || less(sh.Looked) || less(sh.Looking)
	})
}

// newSplit returns the shards of a run that is split. earlier is what counts as done before it.
func newSplit(seed Report, ranges []Range, earlier int) *split {
	s := &split{RunID: seed.RunID, Seed: brief(seed), Earlier: earlier}
	for _, bounds := range ranges {
		s.Shards = append(s.Shards, shard{Range: bounds, Position: bounds.Begin, Last: brief(seed)})
	}
	return s
}

// brief returns a report without what only people read, for up to so many of them are in one document.
func brief(r Report) Report {
	r.Failures, r.Plan, r.Shards, r.Kept, r.NotCounted = nil, nil, nil, nil, nil
	return r
}

// held returns until when some run holds a shard at the latest; zero if none does.
func (s *split) held() (until time.Time) {
	for _, sh := range s.Shards {
		if sh.Holder != "" && sh.Until.After(until) {
			until = sh.Until
		}
	}
	return until
}

// remaining returns the ranges that nobody has gone through to the end.
func (s *split) remaining() (ranges []Range) {
	if s == nil {
		return nil
	}
	for _, sh := range s.Shards {
		if !sh.Through {
			ranges = append(ranges, Range{Begin: sh.Position, End: sh.End})
		}
	}
	return ranges
}

// claimed returns how many actions all shards, and the runs before them, did or may do, but for what the run under way in one of them may.
func (s *split) claimed(but int) (n int) {
	n = s.Earlier
	for i, sh := range s.Shards {
		if n += sh.Done; i != but {
			n += sh.Claimed
		}
	}
	return n
}

// lookups returns the ids that all shards have looked up, by kind.
func (s *split) lookups() map[string]Lookups {
	sum := map[string]Lookups{}
	for _, sh := range s.Shards {
		addLookups(sum, sh.Looked)
		addLookups(sum, sh.Looking)
	}
	return sum
}

func addLookups(sum, more map[string]Lookups) {
	for kind, l := range more {
		sum[kind] = Lookups{Asked: sum[kind].Asked + l.Asked, Missing: sum[kind].Missing + l.Missing}
	}
}

// settled reports whether every shard has ended, and none is gone on with at once.
func (s *split) settled() bool {
	for _, sh := range s.Shards {
		if sh.Runs == 0 || sh.Holder != "" || sh.Last.Continued {
			return false
		}
	}
	return true
}

// report returns the report of the whole as it stands.
func (s *split) report(now time.Time) *Report {
	r := s.Seed
	r.Actions, r.Kept, r.Failures = map[string]Counts{}, map[string]int{}, []Failure{}
	r.DurationMs = now.Sub(r.StartedAt).Milliseconds()
	statuses := map[Status]bool{}
	for _, sh := range s.Shards {
		r.Add(&sh.Sum)
		sum := Shard{Runs: sh.Runs, Scanned: sh.Sum.Scanned, Done: sh.Sum.Done(), Through: sh.Through}
		if sh.Runs > 0 {
			sum.RunID, sum.Status, sum.Left = sh.Last.RunID, sh.Last.Status, !sh.Last.Continued && !sh.Through
			statuses[sh.Last.Status] = true
			r.Stopped = r.Stopped || sh.Last.Stopped
		}
		r.Shards = append(r.Shards, sum)
	}
	if !s.settled() {
		return &r // partial, and gone on with, as the seed says
	}
	r.Continued = false
	switch {
	case statuses[Aborted]:
		r.Status = Aborted
	case statuses[Failed], len(r.Failures) > 0:
		r.Status = Failed
	case statuses[Partial]:
		r.Status = Partial
	default:
		r.Status = Completed
	}
	if r.Status == Partial && !r.Stopped {
		r.PartialRuns = s.Seed.PartialRuns
	} else {
		r.PartialRuns = 0
	}
	return &r
}
