// Package plan makes the plan of a run: it has the job read and propose, has rules judge what was found, counts what is kept, and
// holds the plan against the safety limits. It writes nothing.
package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/guard"
)

// Options say how a plan is made.
type Options struct {
	ListAll  bool // a preview lists its plan whole
	Versions bool // its actions know what tells whether something has changed
	Bytes    int  // that the plan may hold; 0: as many as the process's memory limit allows
}

// Planner makes a plan, and holds it: actions, the checkpoints between them, and what the safety limits judge them by.
type Planner struct {
	Items     []*decide.Item
	Tripped   []*cleanup.LimitError               // each left a section out of the plan
	Leaves    bool                                // runs of the job may have left something to do
	OutOfTime bool                                // planning ended before all was planned
	Next      func(undone []documents.Ref) string // where the next run begins; nil: at the beginning

	cleanup.Planner // what the job sees
	*tell.Teller
	decider *decide.Decider
	options Options

	checkpoints []checkpoint
	size        int                    // actions as MAX_ACTIONS counts them
	bytes       int                    // of what is proposed
	section     *section               // which is being planned
	previewed   int                    // actions of which a preview has worked out what goes with them
	left        int                    // actions that interrupted runs have left to do
	proposed    map[proposed]bool      // items of rules that were proposed
	pending     map[documents.Ref]bool // items that a Todo of an earlier run continues
}

// proposed is an item that a rule judges.
type proposed struct {
	rule string
	ref  documents.Ref
}

// Make makes the plan of a job in a state. If the checkpoint is of no use, it begins at the beginning. The plan may hold
// something although there is an error.
func Make(ctx context.Context, d *decide.Decider, s jobstate.State, o Options) (*Planner, error) {
	o.Bytes = cmp.Or(o.Bytes, mostBytes())
	o.Versions = o.Versions || d.Approved != nil // which say whether an action is the one that was approved
	p := newPlanner(d, s, o, s.Begins())
	err := p.plan(ctx)
	if errors.Is(err, documents.ErrCursor) && p.Checkpoint != "" {
		p.Log.WarnContext(ctx, p.Job+" starts from the beginning, because it cannot read where the last run ended (checkpoint): "+
			err.Error())
		p.Forget()
		p = newPlanner(d, s, o, "")
		err = p.plan(ctx)
	}
	if p.OutOfTime = errors.Is(err, cleanup.ErrOutOfTime); p.OutOfTime {
		if p.full() {
			p.Warn(ctx, fmt.Sprintf(
				"the plan holds as much as the memory allows (%d MiB): what comes behind it is left for the next run", o.Bytes>>20))
		}
		return p, nil
	}
	return p, err
}

func newPlanner(d *decide.Decider, s jobstate.State, o Options, from string) *Planner {
	p := &Planner{
		Teller: d.Teller, decider: d, options: o, checkpoints: []checkpoint{{text: from}}, section: &section{},
		proposed: map[proposed]bool{}, pending: map[documents.Ref]bool{}, Leaves: s.Leaves || d.Job.Leaves(),
	}
	p.Planner = cleanup.Planner{
		Run: d.Run, Documents: d.Documents, Objects: d.Objects, Accounts: d.People, Log: d.Logger, Checkpoint: from, Cuts: s.Cuts,
		Plan: p,
	}
	if s.Last != nil {
		p.LastWarnings = s.Last.Warnings
	}
	return p
}

// plan plans first what interrupted runs have left to do, which is a pass by itself, then the job. A panic is the run's
// failure, not the process's.
func (p *Planner) plan(ctx context.Context) (err error) {
	defer guard.Recover(&err)
	if err := p.planTodos(ctx); err != nil {
		return err
	}
	p.left = p.size
	return p.Section(ctx, cleanup.Section{}, func() error { return p.decider.Job.Plan(ctx, &p.Planner) })
}

// checkpoint says that everything before text was planned when there were so many actions.
type checkpoint struct {
	actions int
	text    string
}

// SaveCheckpoint implements [cleanup.Plan].
func (p *Planner) SaveCheckpoint(text string) error {
	m := checkpoint{actions: len(p.Items), text: text}
	if last := len(p.checkpoints) - 1; p.checkpoints[last].actions == m.actions {
		p.checkpoints[last] = m
	} else {
		p.checkpoints = append(p.checkpoints, m)
		p.bytes += bytesOfEntry + len(text)
	}
	if p.decider.Time.PlanningTimeIsUp() || p.full() {
		return cleanup.ErrOutOfTime
	}
	return nil
}

// CheckpointBefore returns the last checkpoint that was saved before action n was proposed.
func (p *Planner) CheckpointBefore(n int) (text string) {
	for _, m := range p.checkpoints {
		if m.actions > n {
			break
		}
		text = m.text
	}
	return text
}

// Continue implements [cleanup.Plan].
func (p *Planner) Continue(checkpoint func(undone []documents.Ref) string) { p.Next = checkpoint }

// Planned implements [cleanup.Plan].
func (p *Planner) Planned() int { return p.size - p.left }

// Keep implements [cleanup.Plan].
func (p *Planner) Keep(ctx context.Context, target string, d cleanup.Decision, n int) {
	if d.Notice != nil {
		p.Notice(ctx, target, *d.Notice)
	}
	switch {
	case d.Reason == "" || n <= 0:
	case p.Task != nil && !d.Invalid:
		p.KeepNamed(ctx, target, d.Reason)
	default:
		p.Teller.Keep(d.Reason, n)
		if d.Invalid {
			p.Name(target, d.Reason, n)
		}
	}
}

// ProposeObject implements [cleanup.Plan].
func (p *Planner) ProposeObject(ctx context.Context, kind, reason string, object cleanup.DeleteObject) error {
	return p.propose(ctx, &decide.Item{Object: &object, Planned: report.Planned{
		Target: report.ObjectTarget(p.Config.Bucket, object.Name), Action: kind, Reason: reason,
		Version: fmt.Sprintf("%d/%d", object.Generation, object.Metageneration),
	}})
}

// propose adds an item to the plan, unless it stays.
func (p *Planner) propose(ctx context.Context, i *decide.Item) error {
	if p.full() {
		return cleanup.ErrOutOfTime
	}
	named, same := p.decider.Approves(i)
	if !named {
		p.Teller.Keep(report.KeptUnapproved, 1)
		return nil
	}
	if p.stays(ctx, i) {
		return nil
	}
	p.Counted(i.Action, func(c *report.Counts) { c.Planned++ })
	if !same {
		p.leave(ctx, i)
	}
	if p.Report.DryRun {
		p.list(i)
	}
	if !same {
		return nil
	}
	p.size += 1 + i.Also
	if p.section.actions.Due += 1 + i.Also; p.tooMany() {
		return errTooMany
	}
	if !p.Report.DryRun {
		p.Items = append(p.Items, i)
		p.bytes += bytesOf(i)
	}
	return nil
}

// leave counts an item whose target was changed since the plan was approved.
func (p *Planner) leave(ctx context.Context, i *decide.Item) {
	p.Counted(i.Action, func(c *report.Counts) { c.Changed++ })
	i.With, i.More, i.Kept = nil, false, decide.KeptChanged
	p.Log.InfoContext(ctx, tell.Kept(i.Target, decide.KeptChanged),
		slog.String("target", i.Target), slog.String("action", i.Action), slog.String("reason", i.Reason))
}

// stays reports whether nothing is to be done to an item, and says why: it or something below it or with it is
// on the list of what the job keeps, or the job does not declare the item.
func (p *Planner) stays(ctx context.Context, i *decide.Item) bool {
	if kept := p.decider.Keeps(i); kept.Kind == decide.Kept {
		p.KeepNamed(ctx, i.Target, kept.Reason)
		return true
	}
	err := decide.Proposes(p.decider.Job, i)
	if err != nil {
		p.Fail(ctx, i.Target, i.Action, err)
	}
	return err != nil
}

// list adds an item to the plan that a preview shows: the whole plan, or as much as an answer holds.
func (p *Planner) list(i *decide.Item) {
	shown := i.Planned
	if !p.options.Versions {
		shown.Version = ""
	}
	if !p.options.ListAll {
		p.Report.List(shown)
		return
	}
	p.Report.Plan = append(p.Report.Plan, shown)
	p.bytes += bytesOf(i)
}
