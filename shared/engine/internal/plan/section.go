package plan

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/guard"
)

// section is a section with what the limits judge it by.
type section struct {
	cleanup.Section
	first    int              // the index of its first action
	actions  cleanup.Count    // those that were proposed
	counts   []*cleanup.Count // one for each collection and field, in the order in which they came
	underWay []func()         // what its counts that are under way come to
}

// errTooMany ends the planning of a section that has more actions than it may have: there is no point in reading on.
var errTooMany = errors.New("too many actions")

// Section implements [cleanup.Plan]. All limits trip here: by what the section counted, or for a reason that the job gives.
func (p *Planner) Section(ctx context.Context, of cleanup.Section, plan func() error) error {
	outer, s := p.section, &section{Section: of, first: len(p.Items)}
	if s.Name == "" {
		s.Next = p.Checkpoint
	}
	p.section = s
	defer func() { p.section = outer }()
	err := guard.Call(plan)
	for _, counted := range s.underWay {
		counted()
	}
	own, isLimit := errors.AsType[*cleanup.LimitError](err)
	if err != nil && !isLimit && !errors.Is(err, errTooMany) && !errors.Is(err, cleanup.ErrOutOfTime) {
		return err
	}
	tripped, unknown := p.trips(ctx)
	if isLimit {
		tripped = append(tripped, own)
	}
	if unknown != nil {
		p.Fail(ctx, cmp.Or(s.Name, p.Job), report.CheckLimits, unknown)
	}
	if unknown != nil || len(tripped) > 0 {
		p.Tripped = append(p.Tripped, tripped...)
		p.drop()
	}
	if errors.Is(err, cleanup.ErrOutOfTime) {
		return err
	}
	return nil
}

// drop takes the actions of the section that is being planned out of the plan. Out of time in it, the next run begins behind
// it, and comes back to it in its turn; behind one without a name, it begins where this one did.
func (p *Planner) drop() {
	s := p.section
	for _, item := range p.Items[s.first:] {
		p.bytes -= bytesOf(item)
	}
	p.Items = slices.Delete(p.Items, s.first, len(p.Items))
	p.checkpoints = slices.DeleteFunc(p.checkpoints, func(c checkpoint) bool { return c.actions > s.first })
	p.checkpoints = append(p.checkpoints, checkpoint{s.first, s.Next})
	if s.Name == "" {
		p.Continue(func([]documents.Ref) string { return s.Next })
	}
}

// Count implements [cleanup.Plan].
func (p *Planner) Count(c cleanup.Count) {
	s := p.section
	i := slices.IndexFunc(s.counts, func(of *cleanup.Count) bool { return of.Collection == c.Collection && of.Field == c.Field })
	if i < 0 {
		i = len(s.counts)
		s.counts = append(s.counts, &cleanup.Count{Collection: c.Collection, Field: c.Field})
	}
	of := s.counts[i]
	of.Why, of.Unfound = cmp.Or(of.Why, c.Why), append(of.Unfound, c.Unfound...)
	of.Looked, of.Due, of.Percent = of.Looked+c.Looked, of.Due+c.Due, max(of.Percent, c.Percent)
	of.Missing, of.Exists = of.Missing+c.Missing, of.Exists+c.Exists
	if c.InFolder > of.InFolder {
		of.Folder, of.InFolder = c.Folder, c.InFolder
	}
	of.Unknown = errors.Join(of.Unknown, c.Unknown)
}
