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
	first   int                          // the index of its first action in the window
	planned int                          // actions proposed
	dropped bool                         // nothing of it is done
	counts  []*cleanup.Count             // in the order in which they came
	of      map[[2]string]*cleanup.Count // the same, by collection and field
}

// Section implements [cleanup.Plan].
func (p *Planner) Section(ctx context.Context, s cleanup.Section) error {
	if err := p.judge(ctx); err != nil {
		return err
	}
	p.section = &section{Section: s, first: len(p.Items)}
	p.sections = append(p.sections, p.section)
	return nil
}

// Count implements [cleanup.Plan].
func (p *Planner) Count(c cleanup.Count) {
	s := p.section
	key := [2]string{c.Collection, c.Field}
	of := s.of[key]
	if of == nil {
		if s.of == nil {
			s.of = map[[2]string]*cleanup.Count{}
		}
		of = &cleanup.Count{Pass: s.Name, Collection: c.Collection, Field: c.Field, Why: c.Why}
		s.of[key], s.counts = of, append(s.counts, of)
	}
	of.Looked, of.Due, of.Percent = of.Looked+c.Looked, of.Due+c.Due, max(of.Percent, c.Percent)
	of.Missing, of.Exists = of.Missing+c.Missing, of.Exists+c.Exists
	if c.InFolder > of.InFolder {
		of.Folder, of.InFolder = c.Folder, c.InFolder
	}
	of.Unknown = errors.Join(of.Unknown, c.Unknown)
}

// judge drops the section that is being planned if it trips a safety limit. Of a job without sections, the error says so.
func (p *Planner) judge(ctx context.Context) error {
	s := p.section
	if s.dropped {
		return nil
	}
	tripped, err := p.trips(ctx, s)
	switch {
	case err != nil && s.Name == "":
		return err
	case err != nil:
		p.drop(s)
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
	p.drop(p.section)
	return tripped[0]
}

// drop takes a section's actions out of the plan.
func (p *Planner) drop(s *section) {
	s.dropped = true
	p.Size -= s.planned
	if p.Report.DryRun {
		return
	}
	i := slices.Index(p.sections, s)
	end := len(p.Items)
	if i+1 < len(p.sections) {
		end = p.sections[i+1].first
	}
	n := end - s.first
	for _, item := range p.Items[s.first:end] {
		p.held -= bytesOf(item)
	}
	p.Items = slices.Delete(p.Items, s.first, end)
	for _, later := range p.sections[i+1:] {
		later.first -= n
	}
	for k := range p.checkpoints {
		if c := &p.checkpoints[k]; c.actions > s.first {
			c.actions = max(s.first, c.actions-n)
		}
	}
	if i+1 == len(p.sections) { // out of time in it, the next run begins behind it, and comes back to it in its turn
		p.checkpoints = append(p.checkpoints, checkpoint{s.first, s.Next})
	}
}
