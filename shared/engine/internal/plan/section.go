package plan

import (
	"context"
	"errors"
	"slices"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// section is a section with what the limits judge it by.
type section struct {
	cleanup.Section
	first   int              // the index of its first action
	planned int              // actions proposed
	dropped bool             // nothing of it is done
	counts  []*cleanup.Count // one for each collection and field, in the order in which they came
}

// Section implements [cleanup.Plan].
func (p *Planner) Section(ctx context.Context, s cleanup.Section) error {
	if err := p.Check(ctx); err != nil {
		return err
	}
	p.section = &section{Section: s, first: len(p.Items)}
	return nil
}

// Count implements [cleanup.Plan].
func (p *Planner) Count(c cleanup.Count) {
	s := p.section
	i := slices.IndexFunc(s.counts, func(of *cleanup.Count) bool { return of.Collection == c.Collection && of.Field == c.Field })
	if i < 0 {
		i = len(s.counts)
		s.counts = append(s.counts, &cleanup.Count{Pass: s.Name, Collection: c.Collection, Field: c.Field, Why: c.Why})
	}
	of := s.counts[i]
	of.Looked, of.Due, of.Percent = of.Looked+c.Looked, of.Due+c.Due, max(of.Percent, c.Percent)
	of.Missing, of.Exists = of.Missing+c.Missing, of.Exists+c.Exists
	if c.InFolder > of.InFolder {
		of.Folder, of.InFolder = c.Folder, c.InFolder
	}
	of.Unknown = errors.Join(of.Unknown, c.Unknown)
}

// Check drops the section that is being planned if it trips a safety limit. It returns a [*cleanup.LimitError] if none of the plan
// may be applied: of a job without sections.
func (p *Planner) Check(ctx context.Context) error {
	s := p.section
	if s.dropped {
		return nil
	}
	tripped, err := p.trips(ctx)
	switch {
	case err != nil && s.Name == "":
		return err
	case err != nil:
		p.drop()
		p.Fail(ctx, s.Name, report.CheckLimits, err)
	case len(tripped) > 0:
		if err := p.trip(tripped...); s.Name == "" {
			return err
		}
	}
	return nil
}

// trip drops the section that is being planned because of safety limits, and returns the first of them.
func (p *Planner) trip(tripped ...*cleanup.LimitError) error {
	p.Tripped = append(p.Tripped, tripped...)
	p.drop()
	return tripped[0]
}

// drop takes the actions of the section that is being planned out of the plan. Out of time in it, the next run begins behind it, and
// comes back to it in its turn.
func (p *Planner) drop() {
	s := p.section
	s.dropped = true
	p.size -= s.planned
	if p.Report.DryRun {
		return
	}
	for _, item := range p.Items[s.first:] {
		p.held -= bytesOf(item)
	}
	p.Items = slices.Delete(p.Items, s.first, len(p.Items))
	p.checkpoints = slices.DeleteFunc(p.checkpoints, func(c checkpoint) bool { return c.actions > s.first })
	p.checkpoints = append(p.checkpoints, checkpoint{s.first, s.Next})
}
