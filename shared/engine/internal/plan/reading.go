package plan

import (
	"context"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/flow"
	"github.com/firesweep/firesweep/shared/guard"
)

// reading is all that a run plans by, as it is being read side by side. It proposes and reports nothing before plan. Stop it in
// the end.
type reading struct {
	planner *Planner
	left    cleanup.Reading // what interrupted runs have left to do
	pins    *flow.Flow[struct{}, undo.Pins]
	job     cleanup.Reading
	failed  error // why the job did not begin
}

// read begins to read.
func (p *Planner) read(ctx context.Context) *reading {
	b := &reading{planner: p, job: cleanup.Reading{Stop: func() {}}}
	b.failed = guard.Call(func() error {
		b.job = p.readJob(ctx)
		return nil
	})
	b.left = p.readTodos(ctx)
	b.pins = flow.One(ctx, struct{}{}, func(ctx context.Context, _ struct{}) (undo.Pins, error) { return p.ask.Decider.ReadPins(ctx) })
	return b
}

// readJob begins to read what the job plans by.
func (p *Planner) readJob(ctx context.Context) cleanup.Reading {
	j := p.ask.Decider.Job
	if j.Begin != nil {
		return j.Begin(ctx, &p.Planner)
	}
	return cleanup.Reading{Stop: func() {}, Plan: func() error { return j.Plan(ctx, &p.Planner) }}
}

// plan plans: first what interrupted runs have left to do, then the job.
func (b *reading) plan() error {
	if b.failed != nil {
		return b.failed
	}
	err := b.pins.Each(func(_ struct{}, pins undo.Pins) error {
		b.planner.ask.Decider.Pins = pins
		return nil
	})
	if err != nil {
		return err
	}
	if err := b.left.Plan(); err != nil {
		return err
	}
	return b.job.Plan()
}

// stop ends the reading.
func (b *reading) stop() {
	b.job.Stop()
	b.planner.counting.Wait()
	b.left.Stop()
	b.pins.Stop()
}
