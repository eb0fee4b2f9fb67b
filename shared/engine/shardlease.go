package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// shardLease is a run's exclusive right to one shard.
type shardLease struct {
	lease
	part report.Part
}

// of returns the split run and this shard of it. The error is an [*overtakenError] if another run has come since, and a [*heldError] if
// one is under way that is not a shard's.
func (l shardLease) of(doc documents.Document) (*split, *shard, error) {
	s, err := l.splitOf(doc)
	if err != nil {
		return nil, nil, err
	}
	if s == nil || s.RunID != l.part.Of || l.part.Number >= len(s.Shards) {
		return nil, nil, &overtakenError{continues: l.part.Of, last: lastID(doc)}
	}
	holder, until, err := l.lease.of(doc)
	if err != nil {
		return nil, nil, err
	}
	if holder != "" && l.clock().Before(until) {
		return nil, nil, &heldError{runID: holder, until: until}
	}
	return s, &s.Shards[l.part.Number], nil
}

func lastID(doc documents.Document) string {
	if last := lastReport(doc); last != nil {
		return last.RunID
	}
	return "unknown"
}

// take is [lease.take] for the shard.
func (l shardLease) take(ctx context.Context, admit func(*Report) error, free func(saved)) (saved saved, err error) {
	_, err = l.writer.Exchange(ctx, l.path(), func(doc documents.Document, _ bool) (map[string]any, error) {
		s, sh, err := l.of(doc)
		if err != nil {
			return nil, err
		}
		now := l.clock()
		// A shard that this very run holds was taken by an attempt whose answer was lost.
		if sh.Holder != l.runID {
			if sh.Holder != "" && now.Before(sh.Until) {
				return nil, cmp.Or(l.tooLong(splitField, sh.Holder, now, sh.Until), error(&heldError{runID: sh.Holder, until: sh.Until}))
			}
			if err := admit(&sh.Last); err != nil {
				return nil, err
			}
			sh.Done, sh.Claimed = sh.Done+sh.Claimed, 0 // of a run that was killed, which may have done all of it
			sh.lookedUp()
		}
		sh.Holder, sh.Until = l.runID, now.Add(l.length)
		saved.checkpoint, saved.bounds = sh.Position, sh.Range
		saved.told = doc.Data[stopField] == l.part.Of
		saved.claimed = s.claimed(l.part.Number)
		free(saved)
		return map[string]any{splitField: s}, nil
	})
	return saved, err
}

// claim says that the run may do n actions after these lookups, if with all that the other shards did, may do and looked up the limits
// hold for the whole. The limits on missing ids must hold for the shard alone as well: that was checked before. judged are
// the kinds of lookups by which the run does anything.
func (l shardLease) claim(ctx context.Context, n int, limits Limits, lookups map[string]Lookups, judged []string) error {
	_, err := l.writer.Exchange(ctx, l.path(), func(doc documents.Document, _ bool) (map[string]any, error) {
		s, sh, err := l.of(doc)
		if err != nil {
			return nil, err
		}
		if sh.Holder != l.runID {
			return nil, fmt.Errorf("another run holds shard %d: %w", l.part.Number, ErrChanged)
		}
		sh.Looking = lookups
		limits.Done = s.claimed(l.part.Number)
		sums := s.lookups()
		maps.DeleteFunc(sums, func(kind string, _ Lookups) bool { return !slices.Contains(judged, kind) })
		if err := limits.Check(n, sums); err != nil {
			return nil, err
		}
		sh.Claimed = n
		return map[string]any{splitField: s}, nil
	})
	return err
}

// finish saves what the shard's run did in the report of the whole, and gives the shard back, all in one commit. ended is the whole where
// all shards are at their end, else nil.
func (l shardLease) finish(ctx context.Context, checkpoint string, through bool,
	complete func(writes int) *Report, stays func() string,
) (held bool, ended *split, err error) {
	_, err = l.writer.ExchangeAnd(ctx, l.path(), documents.Document{}, func(doc documents.Document, _ bool) (
		end, also map[string]any, _ error,
	) {
		held, ended = false, nil
		s, sh, err := l.of(doc)
		if err != nil {
			return nil, nil, err
		}
		month := monthOf(doc, l.clock())
		switch {
		case sh.Holder == "" && sh.Last.RunID == l.runID: // an earlier attempt took effect and its answer was lost
			held = true
		case sh.Holder != l.runID:
			complete(0)
			return nil, nil, nil
		default:
			held = true
			report := complete(2)
			month = plus(month, report)
			sh.end(report, checkpoint, through)
			sh.Stays = stays()
		}
		report := s.report(l.clock())
		end = map[string]any{splitField: s, "lastReport": report, monthField: month}
		if through && checkpoint != "" { // where the next run begins that is none of these shards ([Planner.Continue])
			end["position"] = checkpoint
		}
		if s.settled() {
			ended = s
			if _, marked := doc.Data[stopField]; marked {
				end[stopField] = documents.DeleteField
			}
		}
		return end, stored(report), nil
	})
	return held, ended, err
}

// lookedUp counts what a run has looked up that has ended.
func (sh *shard) lookedUp() {
	if sh.Looked == nil {
		sh.Looked = map[string]Lookups{}
	}
	addLookups(sh.Looked, sh.Looking)
	sh.Looking = nil
}

// end takes over what a run of the shard did.
func (sh *shard) end(r *Report, checkpoint string, through bool) {
	sum := sh.Sum
	again := sh.Last.Status == Failed && !sh.Last.Continued // what had failed was tried once more
	if again {
		sum.Failures = nil
	}
	if again && sh.Position == sh.Begin { // and all of it was looked at
		sum.Scanned, sum.Kept = 0, nil
	}
	for kind, c := range sum.Actions { // what was left was planned anew
		if again {
			c.Failed = 0
		}
		c.Planned = c.Done + c.Changed + c.Failed
		sum.Actions[kind] = c
	}
	sh.Runs++
	sh.Last = brief(*r)
	if sum.Actions == nil {
		sum.Actions = map[string]Counts{}
	}
	if sum.Kept == nil {
		sum.Kept = map[string]int{}
	}
	sum.Add(r)
	sh.Sum = sum
	sh.Done, sh.Claimed, sh.Holder = sh.Done+r.Done(), 0, ""
	sh.lookedUp()
	if sh.Position, sh.Through = checkpoint, through; through {
		sh.Position = sh.Begin // from where it is tried again if something failed
	}
}
