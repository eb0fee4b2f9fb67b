package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/backtest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/usage"
)

// Backtest plans a job as of the options' earlier time, or takes what a preview planned then, if there is one, and has its rules
// look again today. It writes nothing. [backtest.WhyNot] must have no reason against it. The error is [backtest.ErrNoHistory],
// [backtest.ErrMaxReads], a [*config.Error], or says what went wrong.
func (f *Function) Backtest(ctx context.Context, o PlanOptions, preview *report.Report) (*backtest.Result, error) {
	o.Force, o.Versions, o.Meter = true, true, cmp.Or(o.Meter, new(usage.Meter))
	if preview != nil {
		o.Now = preview.Now
	}
	uses := []config.Backend{config.Firestore}
	today, closeToday, err := f.reading(ctx, o, uses)
	if err != nil {
		return nil, err
	}
	defer closeToday()
	o.AsOf = true
	then, closeThen, err := f.reading(ctx, o, uses)
	if err != nil {
		return nil, err
	}
	defer closeThen()
	then.past, today.past = true, true
	ctx = usage.NewContext(ctx, o.Meter)
	today.share(1)
	b := backtest.Backtest{Today: today.decider, Spent: today.canceled, Since: o.Now}
	if preview == nil {
		b.Then = then.clients.documents.Reader()
		if preview, err = then.planThen(ctx); err != nil {
			return nil, err
		}
	} else {
		b.Preview, b.Since = preview.RunID, preview.StartedAt
	}
	err = b.Compare(ctx, preview)
	b.Reads = o.Meter.Usage().FirestoreReads
	return &b.Result, err
}

// planThen returns the plan of the earlier time that the run reads.
func (r *run) planThen(ctx context.Context) (*report.Report, error) {
	if _, _, err := r.clients.documents.Reader().Get(ctx, r.statePath()); err != nil {
		if code := status.Code(err); code == codes.FailedPrecondition || code == codes.InvalidArgument {
			err = fmt.Errorf("%w: %w", backtest.ErrNoHistory, err)
		}
		return nil, err
	}
	r.perform(ctx)
	if failures := r.Report.Failures; !r.canceled() && len(failures) > 0 {
		return nil, fmt.Errorf("plan as of %s: %s: %s", r.Report.Now.Format(time.RFC3339), failures[0].Target, failures[0].Error)
	}
	return r.Report, nil
}
