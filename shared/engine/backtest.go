package engine

import (
	"cmp"
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

// Backtest says what became of what a job would have done. docs/command.md documents it as JSON.
type Backtest struct {
	Planned int         `json:"planned"` // items
	Actions []string    `json:"actions"` // that would have been done to them
	Gone    int         `json:"gone"`    // of them: the document is not there any more, so nobody can tell
	Written int         `json:"written"` // of them: written since, and due all the same
	Kept    []KeptToday `json:"kept"`    // of them: would be kept today
	Reads   int64       `json:"reads"`   // documents
}

// KeptToday is something that would have gone, and would be kept today.
type KeptToday struct {
	Target string   `json:"target"`
	Action string   `json:"action"`
	Reason string   `json:"reason"`           // why it was due
	Kept   string   `json:"kept"`             // why it would be kept
	Fields []string `json:"fields,omitempty"` // those that changed, of the first such items, in order
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
	plan := PlanOptions{Now: o.At, Force: true, Versions: true, Meter: cmp.Or(o.Meter, new(usage.Meter))}
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
	if _, _, err := then.clients.documents.Reader().Get(ctx, then.recordPath()); err != nil {
		if code := status.Code(err); code == codes.FailedPrecondition || code == codes.InvalidArgument {
			return nil, fmt.Errorf("%w: %w", ErrNoHistory, err)
		}
		return nil, fmt.Errorf("read the past: %w", err)
	}
	today.share(1)
	b := &backtest{then: then, today: today, due: map[string]map[documents.Ref]due{}, spent: func() error {
		if o.MaxReads > 0 && plan.Meter.Usage().FirestoreReads >= o.MaxReads {
			return ErrMaxReads
		}
		return ctx.Err()
	}}
	b.Kept = []KeptToday{}
	if err = b.plan(ctx); err == nil {
		err = b.lookAgain(ctx)
	}
	b.Reads = plan.Meter.Usage().FirestoreReads
	return &b.Backtest, err
}

// backtest is a backtest that is being made.
type backtest struct {
	Backtest
	then, today *run
	due         map[string]map[documents.Ref]due // by the rule's name
	spent       func() error                     // why nothing more is read
}

// due is an item that was due.
type due struct {
	cleanup.Item
	kind, reason string
	there        bool // its document existed
}

// plan plans as of then.
func (b *backtest) plan(ctx context.Context) error {
	r := b.then
	r.canceled = func() bool { return b.spent() != nil }
	r.listed = func(a decide.Action) {
		d := due{kind: a.Kind, reason: a.Reason, there: true}
		switch e := a.Effect.(type) {
		case decide.DeleteDocument:
			d.Rule, d.Ref = e.Rule, documents.Document{Path: e.Path}.Ref()
		case decide.Ruled:
			d.Item, d.there = e.Item, !e.Version.IsZero()
		}
		if b.due[d.Rule.Named()] == nil {
			b.due[d.Rule.Named()] = map[documents.Ref]due{}
		}
		b.due[d.Rule.Named()][d.Ref] = d
		if !slices.Contains(b.Actions, a.Kind) {
			b.Actions = append(b.Actions, a.Kind)
		}
	}
	r.perform(ctx)
	for _, of := range b.due {
		b.Planned += len(of)
	}
	switch {
	case b.spent() != nil:
		return b.spent()
	case len(r.Report.Failures) > 0:
		first := r.Report.Failures[0]
		return fmt.Errorf("plan as of %s: %s: %s", r.Report.Now.Format(time.RFC3339), first.Target, first.Error)
	}
	return nil
}

// lookAgain has the rules judge what was due as it is today.
func (b *backtest) lookAgain(ctx context.Context) (err error) {
	d := b.today.decider
	if d.Pins, err = d.ReadPins(ctx); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(b.due)) {
		of := b.due[name]
		refs := slices.SortedFunc(maps.Keys(of), func(a, b documents.Ref) int { return cmp.Compare(a.Path(), b.Path()) })
		for some := range slices.Chunk(refs, of[refs[0]].Rule.Together()) {
			if err := b.spent(); err != nil {
				return err
			}
			if err := b.judge(ctx, of, some); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge judges some items of a rule.
func (b *backtest) judge(ctx context.Context, of map[documents.Ref]due, refs []documents.Ref) error {
	d, src := b.today.decider, b.today.decider.Source()
	found, err := src.Get(ctx, refs)
	if err != nil {
		return err
	}
	var subjects []cleanup.Subject
	for _, ref := range refs {
		doc, there := found[ref]
		if of[ref].there && !there {
			b.Gone++
			continue
		}
		doc.Path = ref.Path()
		subjects = append(subjects, cleanup.Subject{Document: doc, Found: there, Room: cleanup.MaxRoom})
	}
	if len(subjects) == 0 {
		return nil
	}
	loaded, err := of[refs[0]].Rule.LoadAll(ctx, src, subjects)
	if err != nil {
		return err
	}
	for i, s := range subjects {
		was := of[s.Ref()]
		now, err := loaded.Judge(i, d.Run)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Path, err)
		}
		kept := ""
		switch pinned := d.KeptBy(s.Path); {
		case pinned != nil:
			kept = pinned.Reason
		case now.Kind == "":
			kept = cmp.Or(now.Reason, keptNow)
		case now.Kind != was.kind:
			kept = keptForElse + now.Kind
		case s.UpdateTime.After(d.Run.Now):
			b.Written++
		}
		if kept == "" {
			continue
		}
		item := KeptToday{Target: s.Path, Action: was.kind, Reason: was.reason, Kept: kept}
		if len(b.Kept) < maxFieldsOf {
			if item.Fields, err = b.changed(ctx, s.Path); err != nil {
				return err
			}
		}
		b.Kept = append(b.Kept, item)
	}
	return nil
}

// changed returns the fields of a document that are not what they were.
func (b *backtest) changed(ctx context.Context, path string) (fields []string, err error) {
	before, _, err := b.then.clients.documents.Reader().Get(ctx, path)
	if err != nil {
		return nil, err
	}
	after, _, err := b.today.clients.documents.Reader().Get(ctx, path)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(before.Data)
	maps.Copy(all, after.Data)
	for _, field := range slices.Sorted(maps.Keys(all)) {
		old, was := before.Data[field]
		value, is := after.Data[field]
		if was != is || !reflect.DeepEqual(old, value) {
			fields = append(fields, field)
		}
	}
	return fields, nil
}
