package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
)

// leaseMargin is how much longer than its function's timeout a run's lease lasts, so that it can only expire on a run
// that is dead.
const leaseMargin = time.Minute

// A heldError says that another run holds the lease.
type heldError struct {
	runID string
	until time.Time
	split *split // that run, if it was split
}

func (e *heldError) Error() string {
	if e.split != nil {
		return fmt.Sprintf("run %s is under way in shards, and the last of their leases ends at %s", e.runID, e.until.Format(time.RFC3339))
	}
	return fmt.Sprintf("run %s holds the lease until %s", e.runID, e.until.Format(time.RFC3339))
}

// A recordError says that cleanupJobs/{job} holds something that no run of the function wrote. It will not go away by itself: a
// person must delete it.
type recordError struct{ what, field, wayOut string }

func (e *recordError) Error() string {
	return fmt.Sprintf("%s: delete that field in the Firebase console, or with: %s", e.what, e.wayOut)
}

// An endedError says that an earlier attempt of the same schedule time was aborted or stopped, and holds its report.
type endedError struct{ report *Report }

func (e *endedError) Error() string { return "run " + e.report.RunID + " was aborted or stopped" }

// lease is a run's exclusive right to a job, kept in cleanupJobs/{job} together with where the last run got to.
type lease struct {
	writer documents.Writer
	config config.Config
	job    string
	runID  string
	clock  func() time.Time
	length time.Duration
	begun  Report // of the run, as far as its report is known from the beginning
}

func (l lease) path() string { return "cleanupJobs/" + l.job }

// saved is what the last run left for the next.
type saved struct {
	taken       documents.Document // cleanupJobs/{job}, as taking the lease left it
	checkpoint  string
	acted       acted
	partialRuns int     // how many runs in a row ended partial
	split       *split  // the last run, if it was split
	killed      *Report // of the run that held the lease until that ended; nil if there is none

	// For a shard's run:
	bounds  Range // what it goes through
	told    bool  // to stop
	claimed int   // actions that the whole did or may do
}

// take takes the lease and returns what the last run saved. If another run holds it, the error is a [*heldError]. admit looks at the
// last run's report, nil if there is none; its error is returned, and nothing is written. free is called before each commit.
func (l lease) take(ctx context.Context, admit func(*Report) error, free func(saved)) (s saved, err error) {
	s.taken.UpdateTime, err = l.writer.ExchangeAnd(ctx, l.path(), documents.Document{}, func(doc documents.Document, _ bool) (
		end, also map[string]any, _ error,
	) {
		now := l.clock()
		holder, until, err := l.of(doc)
		if err != nil {
			return nil, nil, err
		}
		// A lease of this very run was taken by an attempt whose answer was lost.
		if holder != l.runID && now.Before(until) {
			return nil, nil, cmp.Or(l.tooLong("lease", holder, now, until), error(&heldError{runID: holder, until: until}))
		}
		if s.split, err = l.splitOf(doc); err != nil {
			return nil, nil, err
		}
		if s.split != nil && holder != l.runID {
			if until := s.split.held(); now.Before(until) {
				held := &heldError{runID: s.split.RunID, until: until, split: s.split}
				return nil, nil, cmp.Or(l.tooLong(splitField, held.runID, now, until), error(held))
			}
		}
		last := lastReport(doc)
		if holder != l.runID {
			if err := admit(last); err != nil {
				return nil, nil, err
			}
		}
		if s.checkpoint, err = l.checkpointOf(doc); err != nil {
			return nil, nil, err
		}
		if s.acted, err = l.actedOf(doc); err != nil {
			return nil, nil, err
		}
		if s.partialRuns = 0; last != nil {
			s.partialRuns = last.PartialRuns
		}
		free(s)
		lease := map[string]any{"runId": l.runID, "expiresAt": now.Add(l.length), begunField: l.begun}
		if s.killed = nil; holder != l.runID {
			s.killed = KilledIn(l.job, doc, now)
		}
		s.taken = doc
		if s.taken.Data = maps.Clone(doc.Data); s.taken.Data == nil {
			s.taken.Data = map[string]any{}
		}
		s.taken.Data["lease"] = lease
		return map[string]any{"lease": lease}, stored(s.killed), nil
	})
	return s, err
}

// tooLong returns an error if a run holds a lease for longer than any may, nil if not. A minute more is for clocks that differ.
func (l lease) tooLong(field, holder string, now, until time.Time) error {
	if !until.After(now.Add(l.length + leaseMargin)) {
		return nil
	}
	return l.foreign(field, fmt.Sprintf("run %s holds the lease until %s, longer than any run may: "+
		"a clock was wrong, or an older deployment is still under way", clip(holder, maxQuoted), until.Format(time.RFC3339)))
}

// finish saves the run's report and checkpoint and gives the lease back, all in one commit. complete is called with
// every attempt and returns the report to save, so that its usage can include this commit's. ranges are those that the run was
// split into, if it was. taken is the record as [lease.take] left it, which need not be read if nobody has written to it since. A
// run that lost its lease to another saves its report only, and finish returns false.
//
// did returns what counts as done for the run's now from then on; nil if nothing was reserved. earlier is what counted before the run.
func (l lease) finish(
	ctx context.Context, taken documents.Document, checkpoint string, ranges []Range, earlier int,
	complete func(writes int) *Report, did func() *acted,
) (held bool, err error) {
	_, err = l.writer.ExchangeAnd(ctx, l.path(), taken, func(doc documents.Document, _ bool) (end, also map[string]any, _ error) {
		holder, _, err := l.of(doc)
		if last, _ := doc.Data["lastReport"].(map[string]any); err == nil && holder == "" && last["runId"] == l.runID {
			held = true
			return nil, nil, nil // an earlier attempt took effect and its answer was lost
		}
		held = err == nil && holder == l.runID
		writes := 1
		if held {
			writes = 2
		}
		report := complete(writes)
		report.Continued = report.Continued && held
		if held {
			end = map[string]any{
				"lease": nil, "position": checkpoint, "lastReport": report, monthField: plus(monthOf(doc, l.clock()), report),
			}
			if a := did(); a != nil {
				end[actedField] = *a
			}
			if len(ranges) > 0 {
				s := newSplit(*report, ranges, earlier)
				report = s.report(l.clock())
				end["lastReport"], end[splitField], end["position"] = report, s, "" // which the ranges have in them
			} else if _, set := doc.Data[splitField]; set {
				end[splitField] = documents.DeleteField
			}
			if _, marked := doc.Data[stopField]; marked {
				end[stopField] = documents.DeleteField
			}
		}
		return end, stored(report), nil
	})
	return held, err
}

// actedField is the field of cleanupJobs/{job} that holds an [acted].
const actedField = "acted"

// acted says how many actions the runs of one now have done, or may have: those of a run that was killed count as done. So
// MAX_ACTIONS holds for all that continue each other, however they end. Another now begins anew.
type acted struct {
	Now     time.Time `firestore:"now"`
	Actions int       `firestore:"actions"`
}

// at returns how many of the actions count for a run of that now.
func (a acted) at(now time.Time) int {
	if !a.Now.Equal(now) {
		return 0
	}
	return a.Actions
}

func (l lease) actedOf(doc documents.Document) (acted, error) {
	value, set := doc.Data[actedField]
	if !set || value == nil {
		return acted{}, nil
	}
	m, _ := value.(map[string]any)
	now, ok := m["now"].(time.Time)
	actions, ok2 := m["actions"].(int64)
	if !ok || !ok2 || actions < 0 {
		return acted{}, l.foreign(actedField, "the field "+actedField+" of "+doc.Path+" is not one that this program wrote")
	}
	return acted{Now: now, Actions: int(actions)}, nil
}

// reserve says in the record, before anything is done, how much counts as done if the run is killed. taken is the record as the
// run left it; it returns the record as this leaves it. The error says that another run has taken the lease.
func (l lease) reserve(ctx context.Context, taken documents.Document, a acted) (documents.Document, error) {
	left := taken
	at, err := l.writer.ExchangeAnd(ctx, l.path(), taken, func(doc documents.Document, _ bool) (
		fields, also map[string]any, _ error,
	) {
		if holder, _, err := l.of(doc); err != nil || holder != l.runID {
			return nil, nil, cmp.Or(err, fmt.Errorf("another run holds the lease of %s: %w", l.job, ErrChanged))
		}
		left.Data = maps.Clone(doc.Data)
		left.Data[actedField] = map[string]any{"now": a.Now, "actions": int64(a.Actions)}
		return map[string]any{actedField: a}, nil, nil
	})
	left.UpdateTime = at
	return left, err
}

// stored returns the document that keeps a report, by its path; none for none.
func stored(r *Report) map[string]any {
	if r == nil {
		return nil
	}
	return r.Document()
}

// of returns who holds the lease and until when; nobody if holder is empty.
func (l lease) of(doc documents.Document) (holder string, until time.Time, err error) {
	value, set := doc.Data["lease"]
	if !set || value == nil {
		return "", time.Time{}, nil
	}
	m, _ := value.(map[string]any)
	holder, ok := m["runId"].(string)
	until, ok2 := m["expiresAt"].(time.Time)
	if !ok || !ok2 {
		return "", time.Time{}, l.foreign("lease", "the field lease of "+doc.Path+" is not one that this program wrote")
	}
	return holder, until, nil
}

// splitOf reads what is known of a run that was split; nil if the last one was not.
func (l lease) splitOf(doc documents.Document) (*split, error) {
	s, err := splitOf(doc)
	if err != nil {
		return nil, l.foreign(splitField, err.Error())
	}
	return s, nil
}

// holder returns which run holds the job, itself or in shards, and until when at the latest; empty if none does.
func (l lease) holder(doc documents.Document) (runID string, until time.Time, err error) {
	if runID, until, err = l.of(doc); err != nil {
		return "", time.Time{}, err
	}
	if of, last := HeldInShards(doc); last.After(until) { // the lease may be that of a run that was killed
		return of, last, nil
	}
	if runID == "" {
		_, err = l.splitOf(doc)
	}
	return runID, until, err
}

func (l lease) checkpointOf(doc documents.Document) (string, error) {
	value, set := doc.Data["position"]
	if !set || value == nil {
		return "", nil
	}
	checkpoint, ok := value.(string)
	if !ok {
		return "", l.foreign("position", "the field position of "+doc.Path+" is not one that this program wrote; without it, the next run starts from the beginning")
	}
	return checkpoint, nil
}

// foreign returns the error for a field of the job's record, with the request that deletes it: gcloud has no command for
// that.
func (l lease) foreign(field, what string) error {
	host, token := "https://firestore.googleapis.com", "$(gcloud auth print-access-token)"
	if l.config.Emulators.Firestore != "" {
		host, token = "http://"+l.config.Emulators.Firestore, "owner"
	}
	return &recordError{what: what, field: field, wayOut: fmt.Sprintf(
		"curl -X PATCH -H \"Authorization: Bearer %s\" -H 'Content-Type: application/json' -d '{}' '%s/v1/projects/%s/databases/%s/documents/%s?updateMask.fieldPaths=%s'",
		token, host, l.config.Project, l.config.Database, l.path(), field)}
}

// lastReport returns the report that the last run saved, nil if there is none that can be read.
func lastReport(doc documents.Document) *Report {
	stored, ok := doc.Data["lastReport"].(map[string]any)
	if !ok {
		return nil
	}
	// The report has the same field names in JSON, which reads them leniently.
	text, err := json.Marshal(stored)
	if err != nil {
		return nil
	}
	var r Report
	if json.Unmarshal(text, &r) != nil || r.RunID == "" {
		return nil
	}
	return &r
}
