package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/state"
	"github.com/firesweep/firesweep/shared/objects"
)

// maxInvalidLogged is how many invalid items a run names in the log for each reason; all are counted.
const maxInvalidLogged = 20

// window is how many actions a run without safety limits plans before it applies them. A run with them is planned
// whole first, for a limit must trip before the first action; MAX_ACTIONS bounds what it holds.
const window = 10_000

// Planner is what a job plans with: readers, the run's now, and somewhere to say what it found. Its methods are not
// for concurrent use.
type Planner struct {
	Job       string    // the job's name
	Now       time.Time // the run's one instant, whole microseconds in UTC, as Firestore keeps time
	Config    config.Config
	Documents documents.Reader
	Objects   objects.Reader    // of no use in a function that does not use Storage
	Accounts  accounts.Reader   // of no use in a function that does not use Authentication
	Task      map[string]string // a worker's: what to do
	Log       *slog.Logger

	run         *run
	checkpoint  string
	actions     []Action
	checkpoints []checkpoint
	sections    []*section // the first is what precedes the job's own
	section     *section   // the last of them, which is being planned
	invalid     map[string]int
	foreseen    int // actions whose writes a preview has worked out
	planned     int // actions proposed, those of earlier windows included, those of dropped sections not, as MAX_ACTIONS counts them
	left        int // of these, what interrupted runs have left to do
	proposed    int // items of rules among them
	remembered  proposed
	named       int // documents read to name those that cannot be judged
	tripped     error
	pending     map[documents.Ref]bool // items that a Todo of an earlier run continues
	outOfTime   bool                   // planning ended before all was planned
	next        func(undone []documents.Ref) string
	counts      []func()       // what the counts that are under way come to
	counting    sync.WaitGroup // of those counts
	originals   int            // bytes of documents that the window's actions hold for the undo log
}

// checkpoint says that everything before text was planned when there were so many actions in the window.
type checkpoint struct {
	actions int
	text    string
}

// Checkpoint returns where an earlier run ran out of time, as given to [Planner.SaveCheckpoint]; empty means to start from the
// beginning.
func (p *Planner) Checkpoint() string { return p.checkpoint }

// End returns the checkpoint at which planning ends, where the run is one of a shard ([Job.Split]); empty means the end.
func (p *Planner) End() string { return p.run.bounds.End }

// SaveCheckpoint says that everything before this checkpoint has been planned, so that a run that is out of time can save it for
// the next one. It returns [ErrOutOfTime] when planning must end here.
func (p *Planner) SaveCheckpoint(text string) error {
	m := checkpoint{actions: len(p.actions), text: text}
	if last := len(p.checkpoints) - 1; last >= 0 && p.checkpoints[last].actions == m.actions {
		p.checkpoints[last] = m
	} else {
		p.checkpoints = append(p.checkpoints, m)
	}
	if p.run.planningTimeIsUp() {
		return ErrOutOfTime
	}
	return nil
}

// CheckTime returns [ErrOutOfTime] when nothing more may be begun. [Job.Split] asks, since it saves no checkpoints.
func (p *Planner) CheckTime() error { return p.run.checkTime() }

// Continue sets where the next run starts after this one has finished in time. The default is the beginning. checkpoint is
// called when all actions have been applied. It gets the items that rules judged and that were left undone, because something
// failed or because they changed meanwhile: up to [MaxUndone] of them, without those that are gone.
func (p *Planner) Continue(checkpoint func(undone []documents.Ref) string) { p.next = checkpoint }

// MaxUndone is how many items a run remembers to have left undone.
const MaxUndone = 1000

// Run is what is known of the run.
func (p *Planner) Run() Run { return p.run.known() }

// Planned returns how many actions have been proposed, besides what interrupted runs have left to do.
func (p *Planner) Planned() int { return p.planned - p.left }

// Scanned says that n more items were looked at.
func (p *Planner) Scanned(n int) { p.run.report.Scanned += n }

// Keep says that n items are kept for a reason that is in order, such as being too young.
func (p *Planner) Keep(reason string, n int) {
	if n > 0 {
		p.run.report.Kept[reason] += n
	}
}

// keepNamed says that one item is kept for a reason that is in order, and names it in the log. It is for workers, whose
// one item it is, and for what is pinned.
func (p *Planner) keepNamed(ctx context.Context, target, reason string) {
	p.Keep(reason, 1)
	p.Log.InfoContext(ctx, target+": kept, "+reason, slog.String("target", target), slog.String("reason", reason))
}

// KeepInvalid says that n items, or the one named by target, are kept because they cannot be judged: a field is missing or of
// the wrong type, an id is invalid. They are counted, and target is named in the log, because somebody may want to fix them.
func (p *Planner) KeepInvalid(ctx context.Context, target, reason string, n int) {
	p.Keep(reason, n)
	if p.invalid[reason]++; p.invalid[reason] <= maxInvalidLogged {
		p.Log.WarnContext(ctx, fmt.Sprintf("%s: kept %d, %s: look at them", target, n, reason),
			slog.String("target", target), slog.String("reason", reason), slog.Int("kept", n))
	}
}

// name names in the log a document that was counted as one that cannot be judged.
func (p *Planner) name(ctx context.Context, target, reason string) {
	p.Log.WarnContext(ctx, fmt.Sprintf("%s: kept, %s: look at it", target, reason),
		slog.String("target", target), slog.String("reason", reason))
}

// LookedUp says that so many ids of a kind were looked up and so many of them no document has, for the safety limit that guards
// conclusions from absence. A kind is the name of the collection, after which a space and more words may tell it from
// another kind: "circles", "circles of posts".
func (p *Planner) LookedUp(kind string, asked, missing int) {
	state.AddLookups(p.section.lookups, map[string]Lookups{kind: {Asked: asked, Missing: missing}})
}

// Warn says in the report and in the log what is doubtful about the run as a whole.
func (p *Planner) Warn(ctx context.Context, warning string) {
	p.run.report.Warnings = append(p.run.report.Warnings, warning)
	p.Log.WarnContext(ctx, p.Job+": "+warning)
}

// Fail says that an item, or a part of the job, could not be planned. The rest continues; the run ends as failed.
func (p *Planner) Fail(ctx context.Context, target, action string, err error) {
	p.run.failed(ctx, target, action, err)
}

// Propose adds an action to the plan, unless its target is pinned or something below that is.
func (p *Planner) Propose(ctx context.Context, a Action) error {
	if p.keepPinned(ctx, a) {
		return nil
	}
	if err := p.run.job.proposes(a.Effect); err != nil {
		p.Fail(ctx, a.Target, a.Kind, err)
		return nil
	}
	p.run.report.Count(a.Kind, func(c *Counts) { c.Planned++ })
	if p.run.report.DryRun {
		p.run.list(p.withWrites(a))
	}
	if p.section.dropped {
		return nil
	}
	p.planned += 1 + a.also
	p.section.planned += 1 + a.also
	if !p.run.limits.Lifted && p.planned+p.run.limits.Done > p.run.limits.MaxActions {
		// There is no point in reading on.
		p.tripped = p.run.limits.Check(p.planned, nil)
		return p.tripped
	}
	if p.run.report.DryRun {
		return nil
	}
	p.actions = append(p.actions, a)
	if d, ok := a.Effect.(deleteDocument); ok {
		p.originals += len(d.original)
	}
	if p.run.limits.Lifted && len(p.actions) == window {
		p.awaitCounts()
		if err := p.judge(ctx); err != nil || len(p.actions) < window {
			return err
		}
		return p.run.applyWindow(ctx, p)
	}
	return nil
}

// withWrites returns an action with what it would write, where that follows from its effect.
func (p *Planner) withWrites(a Action) Action {
	if a.Writes != nil {
		return a
	}
	switch effect := a.Effect.(type) {
	case deleteDocument:
		a.Writes = []string{"delete " + effect.Path}
	case DeleteObject:
		a.Writes = []string{"delete gs://" + p.Config.Bucket + "/" + effect.Name}
	case deleteAccount:
		a.Writes = []string{"delete " + accountTarget(effect.uid)}
	}
	return a
}

// checkpointBefore returns the last checkpoint that was saved before the window's action n was proposed.
func (p *Planner) checkpointBefore(n int) string {
	checkpoint := p.checkpoint
	for _, m := range p.checkpoints {
		if m.actions > n {
			break
		}
		checkpoint = m.text
	}
	return checkpoint
}
