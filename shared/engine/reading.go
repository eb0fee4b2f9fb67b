package engine

import (
	"context"

	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/flow"
	"github.com/firesweep/firesweep/shared/guard"
)

// reading is all that a run plans by, as it is being read side by side. It proposes and reports nothing before plan. Stop it in the end.
type reading struct {
	planner *Planner
	left    Reading // what interrupted runs have left to do
	pins    *flow.Flow[struct{}, undo.Pins]
	job     Reading
	failed  error // why the job did not begin
}

// begin begins to read from a checkpoint on.
func (r *run) begin(ctx context.Context, checkpoint string) *reading {
	b := &reading{planner: r.planner(checkpoint), job: Reading{Stop: func() {}}}
	b.failed = guard.Call(func() error {
		b.job = r.job.begin(ctx, b.planner)
		return nil
	})
	b.left = r.beginTodos(ctx, b.planner)
	b.pins = flow.One(ctx, struct{}{}, func(ctx context.Context, _ struct{}) (undo.Pins, error) { return r.readPins(ctx) })
	return b
}

// plan plans: first what interrupted runs have left to do, then the job.
func (b *reading) plan() error {
	if b.failed != nil {
		return b.failed
	}
	err := b.pins.Each(func(_ struct{}, pins undo.Pins) error {
		b.planner.run.pins = pins
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
