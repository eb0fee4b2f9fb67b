package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/backtest"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/usage"
)

// BacktestOptions say how [Function.Backtest] does that.
type BacktestOptions struct {
	At       time.Time    // the earlier time, a whole minute if it is older than an hour
	MaxReads int64        // documents to read at most, but for the page that is being read; 0: as many as it takes
	Meter    *usage.Meter // counts what is read, for whoever waits; nil: nobody does
	// Preview's plan is taken, and its now in place of At, where Firestore does not keep that time; nil: the job is planned again.
	Preview *report.Report
}

// Backtest plans a job as of an earlier time, or takes what a preview planned then, and has its rules look again today. It writes
// nothing. [backtest.WhyNot] must have no reason against it. The error is [backtest.ErrNoHistory], [backtest.ErrMaxReads], a
// [*config.Error], or says what went wrong.
func (f *Function) Backtest(ctx context.Context, o BacktestOptions) (*backtest.Result, error) {
	if o.Preview != nil {
		o.At = o.Preview.Now
	}
	plan := PlanOptions{Now: o.At, Force: true, Versions: true, Meter: cmp.Or(o.Meter, new(usage.Meter))}
	uses := []config.Backend{config.Firestore}
	then, closeThen, err := f.reading(ctx, plan, uses, documents.ReadOnlyAt(o.At)...)
	if err != nil {
		return nil, err
	}
	defer closeThen()
	today, closeToday, err := f.reading(ctx, plan, uses)
	if err != nil {
		return nil, err
	}
	defer closeToday()
	then.past, today.past = true, true
	ctx = usage.NewContext(ctx, plan.Meter)
	spent := func() error {
		if o.MaxReads > 0 && plan.Meter.Usage().FirestoreReads >= o.MaxReads {
			return backtest.ErrMaxReads
		}
		return ctx.Err()
	}
	b := backtest.Backtest{Today: today.decider, Since: o.At, Result: backtest.Result{Kept: []backtest.Kept{}}}
	if o.Preview != nil {
		err = b.AddPreview(o.Preview)
	} else {
		b.Then = then.decider
		err = then.planThen(ctx, spent, b.Add)
	}
	if errors.Is(err, backtest.ErrNoHistory) {
		return nil, err
	}
	if err == nil {
		today.share(1)
		err = b.LookAgain(ctx, spent)
	}
	b.Reads = plan.Meter.Usage().FirestoreReads
	return &b.Result, err
}

// planThen has add told what was due at the earlier time that the run reads.
func (r *run) planThen(ctx context.Context, spent func() error, add func(decide.Action)) error {
	if _, _, err := r.clients.documents.Reader().Get(ctx, r.statePath()); err != nil {
		if code := status.Code(err); code == codes.FailedPrecondition || code == codes.InvalidArgument {
			return fmt.Errorf("%w: %w", backtest.ErrNoHistory, err)
		}
		return fmt.Errorf("read the past: %w", err)
	}
	r.canceled, r.listed = func() bool { return spent() != nil }, add
	r.perform(ctx)
	if failures := r.Report.Failures; spent() == nil && len(failures) > 0 {
		return fmt.Errorf("plan as of %s: %s: %s", r.Report.Now.Format(time.RFC3339), failures[0].Target, failures[0].Error)
	}
	return spent()
}
