package inactiveprojects

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

// pass is for a job that runs often, and whose documents stay: it does not read all of them each time. A pass goes over all
// documents that a query returns, in as many runs as it takes. From then on a run looks only at those that lie behind the last
// one in the query's order, and at those that the run before left undone. The next pass begins after [passEvery], or when the
// job's terms have changed. A pass is what the runs know of it, as the checkpoint holds that.
type pass struct {
	Terms  string           `json:"terms"`            // what it is good for
	Began  time.Time        `json:"began"`            // the now of the pass's first run
	Seen   time.Time        `json:"seen,omitzero"`    // the pass is complete: of what was due by then, all was looked at
	Cursor documents.Cursor `json:"cursor,omitempty"` // the documents up to it were looked at
	Undone []string         `json:"undone,omitempty"` // documents that were left undone and are looked at once more
}

// What is remembered of documents that were left undone: so many paths, and a checkpoint of so many bytes, which is far less
// than a document holds. After more, a new pass begins.
const (
	maxPassUndone     = 100
	maxPassCheckpoint = 200_000
)

// passOf continues the pass of earlier runs, or begins one: after [passEvery], or with other terms, which are whatever the rule
// depends on besides the documents. The error is a [documents.ErrCursor] if the checkpoint is none of a pass.
func passOf(checkpoint, terms string, now time.Time) (pass, error) {
	fresh := pass{Terms: terms, Began: now}
	if checkpoint == "" {
		return fresh, nil
	}
	var saved pass
	if err := json.Unmarshal([]byte(checkpoint), &saved); err != nil {
		return fresh, fmt.Errorf("%w: %q: %w", documents.ErrCursor, checkpoint, err)
	}
	aged := !saved.Seen.IsZero() && !now.Before(saved.Began.Add(passEvery))
	if saved.Terms != terms || aged || now.Before(saved.Began) {
		return fresh, nil
	}
	return saved, nil
}

// fresh reports whether this run begins the pass.
func (s pass) fresh() bool { return s.Seen.IsZero() && s.Cursor == "" }

// sweep considers what was left undone, and the documents of a query that this pass, or the runs after it, have not looked at
// yet. Each has a checkpoint of its own, because nothing else keeps the next run from finding it again. The rule is the job's
// only one.
func (s pass) sweep(ctx context.Context, p *cleanup.Planner, rule cleanup.AnyRule, q documents.Query) error {
	refs := make([]documents.Ref, len(s.Undone))
	for i, path := range s.Undone {
		var err error
		if refs[i], err = documents.RefOf(path); err != nil {
			return fmt.Errorf("%w: %w", documents.ErrCursor, err)
		}
	}
	if err := p.ConsiderRefs(ctx, rule, refs...); err != nil {
		return err
	}
	s.Undone = nil
	if err := p.SaveCheckpoint(s.checkpoint()); err != nil {
		return err
	}
	for page, err := range p.Documents.Pages(ctx, q, s.Cursor) {
		if err != nil {
			return err
		}
		p.Scanned(len(page.Documents))
		if err := p.ConsiderEach(ctx, rule, page.Documents, func(d documents.Document, _ cleanup.Decision) (err error) {
			if s.Cursor, err = q.After(d); err != nil {
				return err
			}
			return p.SaveCheckpoint(s.checkpoint())
		}); err != nil {
			return err
		}
	}
	p.Continue(func(undone []documents.Ref) string { return s.next(p.Now, undone) })
	return nil
}

// next returns where the run begins that comes after one that got to its end, but left some documents undone.
func (s pass) next(now time.Time, undone []documents.Ref) string {
	if !s.Seen.IsZero() {
		s.Seen = now
	} else {
		s.Seen = s.Began // by then all were looked at, however many runs the pass took
	}
	for _, ref := range undone {
		s.Undone = append(s.Undone, ref.Path())
	}
	if checkpoint := s.checkpoint(); len(s.Undone) <= maxPassUndone && len(checkpoint) <= maxPassCheckpoint {
		return checkpoint
	}
	return ""
}

func (s pass) checkpoint() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // there is nothing in it that could fail
	}
	return string(text)
}
