package page

import (
	"context"
	"fmt"
	"io"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/backtest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// backtest answers with what became of what a preview planned. It writes nothing.
func (s *server) backtest(ctx context.Context, q struct{ Preview report.Report }) (*backtest.Result, error) {
	e, err := entry(q.Preview.Job)
	if err != nil {
		return nil, err
	}
	job := functions.Registered()[e.Name]
	if why := backtest.WhyNot(job); why != "" {
		return nil, fmt.Errorf("%s has no backtest: %s", e.Name, why)
	}
	f := functions.New(job)
	defer f.Close()
	f.Getenv, f.Log = s.Getenv, io.Discard // the page says what comes of it
	return f.Backtest(ctx, engine.PlanOptions{}, &q.Preview)
}
