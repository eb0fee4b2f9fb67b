package main

import (
	"context"
	"slices"

	"github.com/firesweep/firesweep/shared/declared/doubts"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// doubts returns what the project's documents tell against one of the application's own rules. planned is the report of its plan;
// nil if there is none. They fail no plan: what could not be read, a doubt says.
func (a *app) doubts(ctx context.Context, job manifest.Entry, planned *report.Report) []string {
	if job.Rule == nil || !a.owns(job) || ctx.Err() != nil {
		return nil
	}
	if planned == nil {
		planned = &report.Report{}
	}
	_, db, err := a.reader(ctx, job)
	if err != nil {
		return []string{err.Error()}
	}
	said := func(text string) bool { return slices.Contains(planned.Warnings, text) } // by the plan
	return slices.DeleteFunc(doubts.Of(ctx, db, *job.Rule, len(planned.Plan) > 0), said)
}

// doubts prints what is doubtful about a rule.
func (p *printer) doubts(all []string) {
	for _, text := range all {
		p.Say(yellow, 2, 2, "doubtful: %s", text)
	}
}
