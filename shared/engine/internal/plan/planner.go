// Package plan makes the plan of a run: it has the job read and propose, has rules judge what was found, counts what is kept, and
// holds the plan against the safety limits. It writes nothing.
package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/objects"
)

// window is how many actions a run without safety limits plans before it applies them. A run with them is planned
// whole first, for a limit must trip before the first action, or as much of it as may be held: the next run goes on behind that.
const window = 10_000

// Time says when a plan must end.
type Time interface {
	CheckTime() error       // [cleanup.ErrOutOfTime] when nothing more may be begun
	PlanningTimeIsUp() bool // earlier, for planning that took all the time would leave none to apply what was planned, run after run
}

// Ask is what a plan is made for, and by.
type Ask struct {
	Decider  *decide.Decider
	Objects  objects.Reader
	Accounts accounts.Reader
	Limits   Limits
	Time     Time
	From     string   // the checkpoint to begin at
	Cuts     []string // of listings of objects
	Told     []string // by the last run's warnings
	ListAll  bool     // a preview lists its plan whole
	Versions bool     // its actions know what tells whether something has changed
	Bytes    int      // that the plan may hold; 0: as many as the process's memory limit allows
	// Apply applies a full window, where no safety limit must wait for the end.
	Apply func(ctx context.Context, p *Planner) error
}

// Planner makes a plan, and holds it: actions, the checkpoints between them, and what the safety limits judge them by.
type Planner struct {
	Items []*decide.Item
	// Size is how many actions were proposed, as MAX_ACTIONS counts them: with those of earlier windows, without those of dropped
	// sections.
	Size      int
	Tripped   []*cleanup.LimitError               // safety limits, each of which stopped the plan or a section of it
	OutOfTime bool                                // planning ended before all was planned
	Next      func(undone []documents.Ref) string // where the next run begins; nil: at the beginning

	cleanup.Planner // what the job sees
	*tell.Teller
	Time
	ask Ask

	begin       string // the checkpoint that the window begins at
	checkpoints []checkpoint
	held        int        // bytes of what is proposed
	sections    []*section // the first is what precedes the job's own
	section     *section   // the last of them, which is being planned
	previewed   int        // actions of which a preview has worked out what goes with them
	left        int        // actions that interrupted runs have left to do
	remembered  proposed
	pending     map[documents.Ref]bool // items that a Todo of an earlier run continues
	counts      []func()               // what the counts that are under way come to
}

func (a Ask) planner() *Planner {
	whole, d := &section{}, a.Decider
	a.Bytes = cmp.Or(a.Bytes, mostBytes())
	a.Versions = a.Versions || d.Approved != nil // which say whether an action is the one that was approved
	p := &Planner{
		Teller: d.Teller, Time: a.Time, ask: a, begin: a.From,
		sections: []*section{whole}, section: whole, pending: map[documents.Ref]bool{},
	}
	p.Planner = cleanup.Planner{
		Run: d.Run, Documents: d.Documents, Objects: a.Objects, Accounts: a.Accounts, Log: d.Logger,
		Checkpoint: a.From, Cuts: a.Cuts, Told: a.Told, Plan: p,
	}
	return p
}

// Make makes a plan. If the checkpoint is of no use, it begins at the beginning. The plan may hold something although there is
// an error.
func Make(ctx context.Context, a Ask) (*Planner, error) {
	p, err := a.make(ctx)
	if errors.Is(err, documents.ErrCursor) && a.From != "" {
		p.Log.WarnContext(ctx, p.Job+" starts from the beginning, because it cannot read where the last run ended (checkpoint): "+
			err.Error())
		p.Forget()
		a.From = ""
		p, err = a.make(ctx)
	}
	if p.OutOfTime = errors.Is(err, cleanup.ErrOutOfTime); p.OutOfTime {
		if p.full() {
			p.Warn(ctx, fmt.Sprintf(
				"the plan holds as much as the memory allows (%d MiB): what comes behind it is left for the next run", p.ask.Bytes>>20))
		}
		return p, nil
	}
	return p, err
}

// make has the job plan; its panic is the run's failure, not the process's.
func (a Ask) make(ctx context.Context) (p *Planner, err error) {
	p = a.planner()
	defer guard.Recover(&err)
	defer p.awaitCounts()
	return p, p.plan(ctx)
}

// plan plans first what interrupted runs have left to do, then the job.
func (p *Planner) plan(ctx context.Context) error {
	if err := p.planTodos(ctx); err != nil {
		return err
	}
	return p.ask.Decider.Job.Plan(ctx, &p.Planner)
}

// Check drops the sections of the plan that trip a safety limit. It returns a [*cleanup.LimitError] if none of the plan may be
// applied.
func (p *Planner) Check(ctx context.Context) error {
	return p.judge(ctx)
}

// checkpoint says that everything before text was planned when there were so many actions in the window.
type checkpoint struct {
	actions int
	text    string
}

// SaveCheckpoint implements [cleanup.Plan].
func (p *Planner) SaveCheckpoint(text string) error {
	m := checkpoint{actions: len(p.Items), text: text}
	if last := len(p.checkpoints) - 1; last >= 0 && p.checkpoints[last].actions == m.actions {
		p.checkpoints[last] = m
	} else {
		p.checkpoints = append(p.checkpoints, m)
		p.held += bytesOfEntry + len(text)
	}
	if p.PlanningTimeIsUp() || p.full() {
		return cleanup.ErrOutOfTime
	}
	return nil
}

// Continue implements [cleanup.Plan].
func (p *Planner) Continue(checkpoint func(undone []documents.Ref) string) { p.Next = checkpoint }

// Planned implements [cleanup.Plan].
func (p *Planner) Planned() int { return p.Size - p.left }

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
	return p.propose(ctx, &decide.Item{Kind: kind, Target: p.ask.Decider.ObjectTarget(object.Name), Reason: reason, Object: &object,
		Version: fmt.Sprintf("%d/%d", object.Generation, object.Metageneration)})
}

// propose adds an item to the plan, unless it stays.
func (p *Planner) propose(ctx context.Context, i *decide.Item) error {
	named, same := p.ask.Decider.Approves(i)
	if !named {
		p.Teller.Keep(decide.KeptUnapproved, 1)
		return nil
	}
	if p.stays(ctx, i) {
		return nil
	}
	p.Counted(i.Kind, func(c *report.Counts) { c.Planned++ })
	if !same {
		p.leave(ctx, i)
	}
	if p.Report.DryRun {
		p.list(i)
	}
	if !same || p.section.dropped {
		return nil
	}
	p.Size += 1 + i.Also
	p.section.planned += 1 + i.Also
	if tripped := p.ask.Limits.tooMany(p.section); tripped != nil {
		return p.trip(tripped)
	}
	if p.Report.DryRun {
		return nil
	}
	p.Items = append(p.Items, i)
	p.held += bytesOf(i)
	if p.windowIsFull() {
		return p.applyWindow(ctx)
	}
	return nil
}

// windowIsFull reports whether what is proposed is applied before more is, for no safety limit waits for the end.
func (p *Planner) windowIsFull() bool {
	return p.ask.Limits.Lifted && (len(p.Items) >= window || p.full())
}

// leave counts an item whose target was changed since the plan was approved.
func (p *Planner) leave(ctx context.Context, i *decide.Item) {
	p.Counted(i.Kind, func(c *report.Counts) { c.Changed++ })
	i.Preview = decide.Preview{Kept: decide.KeptChanged}
	p.Log.InfoContext(ctx, tell.Kept(i.Target, decide.KeptChanged),
		slog.String("target", i.Target), slog.String("action", i.Kind), slog.String("reason", i.Reason))
}

// stays reports whether nothing is to be done to an item, and says why: it or something below it or with it is
// on the list of what the job keeps, or the job does not declare the item.
func (p *Planner) stays(ctx context.Context, i *decide.Item) bool {
	d := p.ask.Decider
	if kept := d.Keeps(i); kept != nil {
		p.KeepNamed(ctx, i.Target, kept.Reason)
		return true
	}
	err := decide.Proposes(d.Job, i)
	if err != nil {
		p.Fail(ctx, i.Target, i.Kind, err)
	}
	return err != nil
}

// applyWindow applies the actions that were proposed since the last window, unless they trip a limit, and forgets them.
func (p *Planner) applyWindow(ctx context.Context) error {
	p.awaitCounts()
	if err := p.judge(ctx); err != nil || !p.windowIsFull() {
		return err
	}
	if err := p.ask.Apply(ctx, p); err != nil {
		return err
	}
	p.begin = p.CheckpointBefore(len(p.Items))
	clear(p.Items) // they hold documents
	p.Items, p.checkpoints, p.held = p.Items[:0], p.checkpoints[:0], 0
	p.section.first = 0
	return nil
}

// First implements [cleanup.Plan].
func (p *Planner) First(ctx context.Context, q documents.Query, n int) ([]documents.Document, error) {
	found, err := p.Documents.First(ctx, q, "", n+p.ask.Decider.Listed().In(q.Collection))
	for i, d := range found {
		if p.ask.Decider.KeptBy(d.Path) != nil {
			continue
		}
		if n--; n < 0 {
			return found[:i], err
		}
	}
	return found, err
}

// list adds an item to the plan that a preview shows: the whole plan, or as much as an answer holds.
func (p *Planner) list(i *decide.Item) {
	shown := i.Planned()
	if !p.ask.Versions {
		shown.Version = ""
	}
	if !p.ask.ListAll {
		p.Report.List(shown)
		return
	}
	p.Report.Plan = append(p.Report.Plan, shown)
	p.held += bytesOf(i)
}

// CheckpointBefore returns the last checkpoint that was saved before the window's action n was proposed.
func (p *Planner) CheckpointBefore(n int) string {
	checkpoint := p.begin
	for _, m := range p.checkpoints {
		if m.actions > n {
			break
		}
		checkpoint = m.text
	}
	return checkpoint
}
