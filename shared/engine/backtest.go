package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents/past"
	"github.com/firesweep/firesweep/shared/engine/backtest"
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

// Backtest plans a job as of an earlier time, or takes what a preview planned then, and has its rules look again today. It writes
// nothing. [NoBacktest] must have no reason against it. The error is [ErrNoHistory], [ErrMaxReads], a [*config.Error], or says what
// went wrong.
func (f *Function) Backtest(ctx context.Context, o BacktestOptions) (*backtest.Result, error) {
	if o.Preview != nil {
		o.At = o.Preview.Now
	}
	plan := PlanOptions{Now: o.At, Force: true, Versions: true, Meter: cmp.Or(o.Meter, new(usage.Meter))}
	today, closeToday, err := f.reading(ctx, plan, firestoreAlone)
	if err != nil {
		return nil, err
	}
	defer closeToday()
	ctx = usage.NewContext(ctx, plan.Meter)
	spent := func() error {
		if o.MaxReads > 0 && plan.Meter.Usage().FirestoreReads >= o.MaxReads {
			return ErrMaxReads
		}
		return ctx.Err()
	}
	b := backtest.Backtest{Today: today.decider, Result: backtest.Result{Kept: []backtest.Kept{}}}
	if o.Preview != nil {
		if err = b.AddPreview(o.Preview); err == nil && b.Planned == 0 && b.Cut != "" {
			err = fmt.Errorf("%w, and %s", ErrNoHistory, b.Cut)
		}
	} else {
		var closeThen func()
		closeThen, err = f.planThen(ctx, plan, spent, &b)
		defer closeThen()
	}
	if err == nil {
		today.share(1)
		err = b.LookAgain(ctx, spent)
	}
	if errors.Is(err, ErrNoHistory) {
		return nil, err
	}
	b.Reads = plan.Meter.Usage().FirestoreReads
	return &b.Result, err
}

// firestoreAlone is what backtests use.
var firestoreAlone = []config.Backend{config.Firestore}

// planThen adds what was due at an earlier time. It returns what closes the connections that read what was there.
func (f *Function) planThen(ctx context.Context, plan PlanOptions, spent func() error, b *backtest.Backtest) (func(), error) {
	then, closeThen, err := f.reading(ctx, plan, firestoreAlone, past.At(plan.Now)...)
	if err != nil {
		return func() {}, err
	}
	b.Then = then.decider
	if _, _, err := then.clients.documents.Reader().Get(ctx, then.recordPath()); err != nil {
		if code := status.Code(err); code == codes.FailedPrecondition || code == codes.InvalidArgument {
			return closeThen, fmt.Errorf("%w: %w", ErrNoHistory, err)
		}
		return closeThen, fmt.Errorf("read the past: %w", err)
	}
	then.canceled, then.listed = func() bool { return spent() != nil }, b.Add
	then.perform(ctx)
	if err := spent(); err != nil {
		return closeThen, err
	}
	if failures := then.Report.Failures; len(failures) > 0 {
		err = fmt.Errorf("plan as of %s: %s: %s", plan.Now.Format(time.RFC3339), failures[0].Target, failures[0].Error)
	}
	return closeThen, err
}
