package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/past"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/usage"
)

// A backtest plans a job as of an earlier time, and has its rules look today at what it would have done, as if it were that time
// still: what they would keep is what somebody would have missed. It writes nothing.

// BacktestOptions say how [Function.Backtest] does that.
type BacktestOptions struct {
	At       time.Time    // the earlier time, a whole minute if it is older than an hour
	MaxReads int64        // documents to read at most, but for the page that is being read; 0: as many as it takes
	Meter    *usage.Meter // counts what is read, for whoever waits; nil: nobody does
}

// Backtest says what became of what a job would have done.
type Backtest struct {
	Planned int      // items
	Kinds   []string // what would have been done to them
	Gone    int      // of them: the document is not there any more, so nobody can tell
	Written int      // of them: written since, and due all the same
	Missed  []Missed // those that would be kept today
	Reads   int64    // documents
}

// Missed is something that would be kept today.
type Missed struct {
	Target string
	Action string
	Reason string   // why it was due
	Kept   string   // why it would be kept
	Fields []string // those that changed, of the first such items, in order
}

// maxFieldsOf is of how many items the changed fields are named. It takes two reads each.
const maxFieldsOf = 20

// Reasons of today that no rule says.
const (
	keptNow     = "it would not be found to be due"
	keptForElse = "something else would be done: "
)

var (
	// ErrNoHistory says that Firestore does not keep the database as it was at that time.
	ErrNoHistory = errors.New("Firestore does not keep what was there at that time") //nolint:staticcheck // a name
	// ErrMaxReads says that a backtest ended at its bound.
	ErrMaxReads = errors.New("it has read as many documents as it may")
)

// NoBacktest returns why a job cannot be planned as of an earlier time; empty if it can.
func NoBacktest(job cleanup.Job) string {
	switch {
	case job.Task != nil:
		return "it does what another job hands to it"
	case len(job.Reach.Objects) > 0:
		return "it goes through files, and Cloud Storage cannot be read as it was"
	case job.Accounts || job.Reach.Account:
		return "it goes through accounts, and Authentication cannot be read as it was"
	}
	return ""
}

// Backtest backtests a job for which [NoBacktest] has no reason. The error is [ErrNoHistory], [ErrMaxReads], a [*config.Error], or
// says what went wrong.
func (f *Function) Backtest(ctx context.Context, o BacktestOptions) (*Backtest, error) {
	plan := PlanOptions{Now: o.At, Force: true, Versions: true, Meter: o.Meter}
	if plan.Meter == nil {
		plan.Meter = new(usage.Meter)
	}
	uses := []config.Backend{config.Firestore}
	then, closeThen, err := f.reading(ctx, plan, uses, past.At(o.At)...)
	if err != nil {
		return nil, err
	}
	defer closeThen()
	today, closeToday, err := f.reading(ctx, plan, uses)
	if err != nil {
		return nil, err
	}
	defer closeToday()
	ctx = usage.NewContext(ctx, plan.Meter)
	b := &backtest{at: o.At, now: today, then: then, spent: func() error {
		if o.MaxReads > 0 && plan.Meter.Usage().FirestoreReads >= o.MaxReads {
			return ErrMaxReads
		}
		return ctx.Err()
	}, items: map[string][]backtested{}, seen: map[string]bool{}}
	if _, _, err := then.clients.documents.Reader().Get(ctx, then.recordPath()); err != nil {
		if code := status.Code(err); code == codes.FailedPrecondition || code == codes.InvalidArgument {
			return nil, fmt.Errorf("%w: %w", ErrNoHistory, err)
		}
		return nil, fmt.Errorf("read the past: %w", err)
	}
	err = b.plan(ctx)
	if err == nil {
		err = b.lookAgain(ctx)
	}
	b.Reads = plan.Meter.Usage().FirestoreReads
	return &b.Backtest, err
}

// backtest is a backtest that is being made.
type backtest struct {
	Backtest
	at        time.Time
	then, now *run
	spent     func() error            // why nothing more is read
	items     map[string][]backtested // by rule
	seen      map[string]bool
}

// backtested is an item that was due.
type backtested struct {
	cleanup.Item
	kind, reason string
	there        bool // its document existed
}

// plan plans as of then.
func (b *backtest) plan(ctx context.Context) error {
	r := b.then
	r.canceled = func() bool { return b.spent() != nil }
	r.listed = func(a decide.Action) {
		item := backtested{kind: a.Kind, reason: a.Reason, there: true}
		switch e := a.Effect.(type) {
		case decide.DeleteDocument:
			ref, err := documents.RefOf(e.Path)
			if err != nil { // no planner proposes it
				panic(err)
			}
			item.Item = cleanup.Item{Rule: e.Rule, Ref: ref}
		case decide.Ruled:
			item.Item, item.there = e.Item, !e.Version.IsZero()
		default:
			panic(fmt.Sprintf("an action without a rule: %+v", a))
		}
		name := item.Rule.Named()
		if key := name + " " + a.Target; !b.seen[key] { // a plan may begin anew
			b.seen[key] = true
			b.Planned++
			b.items[name] = append(b.items[name], item)
		}
		if !slices.Contains(b.Kinds, a.Kind) {
			b.Kinds = append(b.Kinds, a.Kind)
		}
	}
	r.perform(ctx)
	switch {
	case b.spent() != nil:
		return b.spent()
	case len(r.Report.Failures) > 0:
		first := r.Report.Failures[0]
		return fmt.Errorf("plan as of %s: %s: %s", b.at.Format(time.RFC3339), first.Target, first.Error)
	case r.Report.Status != report.Completed:
		return fmt.Errorf("plan as of %s: it is %s", b.at.Format(time.RFC3339), r.Report.Status)
	}
	return nil
}

// lookAgain has the rules judge what was due as it is today.
func (b *backtest) lookAgain(ctx context.Context) error {
	d := b.now.decider
	b.now.share(1)
	var err error
	if d.Pins, err = d.ReadPins(ctx); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(b.items)) {
		for items := range slices.Chunk(b.items[name], max(1, b.items[name][0].Rule.Together())) {
			if err := b.spent(); err != nil {
				return err
			}
			if err := b.judge(ctx, items); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge judges items of one rule.
func (b *backtest) judge(ctx context.Context, items []backtested) error {
	d := b.now.decider
	src, refs := d.Source(), make([]documents.Ref, len(items))
	for i, item := range items {
		refs[i] = item.Ref
	}
	found, err := src.Get(ctx, refs)
	if err != nil {
		return err
	}
	items = slices.DeleteFunc(slices.Clone(items), func(item backtested) bool {
		_, there := found[item.Ref]
		if item.there && !there {
			b.Gone++
		}
		return item.there && !there
	})
	if len(items) == 0 {
		return nil
	}
	subjects := make([]cleanup.Subject, len(items))
	for i, item := range items {
		doc, there := found[item.Ref]
		doc.Path = item.Ref.Path()
		subjects[i] = cleanup.Subject{Document: doc, Found: there, Alone: len(items) == 1, Room: cleanup.MaxRoom}
	}
	loaded, err := items[0].Rule.LoadAll(ctx, src, subjects)
	if err != nil {
		return err
	}
	for i, item := range items {
		now, err := loaded.Judge(i, d.Run)
		if err != nil {
			return fmt.Errorf("%s: %w", item.Ref.Path(), err)
		}
		kept := ""
		switch pinned := d.KeptBy(item.Ref.Path()); {
		case pinned != nil:
			kept = pinned.Reason
		case now.Kind == "" && now.Reason == "":
			kept = keptNow
		case now.Kind == "":
			kept = now.Reason
		case now.Kind != item.kind:
			kept = keptForElse + now.Kind
		case subjects[i].UpdateTime.After(b.at):
			b.Written++
		}
		if kept == "" {
			continue
		}
		missed := Missed{Target: item.Ref.Path(), Action: item.kind, Reason: item.reason, Kept: kept}
		if len(b.Missed) < maxFieldsOf {
			if missed.Fields, err = b.changed(ctx, item.Ref.Path()); err != nil {
				return err
			}
		}
		b.Missed = append(b.Missed, missed)
	}
	return nil
}

// changed returns the fields of a document that are not what they were.
func (b *backtest) changed(ctx context.Context, path string) (fields []string, err error) {
	before, _, err := b.then.clients.documents.Reader().Get(ctx, path)
	if err != nil {
		return nil, err
	}
	after, _, err := b.now.clients.documents.Reader().Get(ctx, path)
	if err != nil {
		return nil, err
	}
	for _, data := range []map[string]any{before.Data, after.Data} {
		for field := range data {
			old, was := before.Data[field]
			value, is := after.Data[field]
			if (was != is || !reflect.DeepEqual(old, value)) && !slices.Contains(fields, field) {
				fields = append(fields, field)
			}
		}
	}
	slices.Sort(fields)
	return fields, nil
}
