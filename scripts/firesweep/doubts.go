package main

import (
	"context"
	"slices"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/declared/doubts"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// mostDoubtReads is how many documents a plan reads more at most, for each rule, to say what is doubtful about it.
const mostDoubtReads = 300

// doubts returns what the project's documents tell against one of the application's own rules. planned is the report of its plan;
// nil if there is none. They fail no plan: what could not be read, a doubt says.
func (a *app) doubts(ctx context.Context, job manifest.Entry, planned *report.Report) []string {
	if job.Rule == nil || !a.owns(job) || ctx.Err() != nil {
		return nil
	}
	if planned == nil {
		planned = &report.Report{}
	}
	var due []string
	for _, one := range planned.Plan {
		if job.OfDocuments() && job.Deletes() && one.Action == job.Kind() {
			due = append(due, one.Target)
		}
	}
	all := a.doubtsWithin(ctx, newBound(mostDoubtReads), job, due)
	return slices.DeleteFunc(all, func(text string) bool { return slices.Contains(planned.Warnings, text) }) // which the plan shows
}

// doubtsWithin reads what is doubtful about a rule, within a bound. due are the documents that its plan deletes.
func (a *app) doubtsWithin(ctx context.Context, most *bound, job manifest.Entry, due []string) []string {
	cfg, err := a.settings(job, config.Firestore)
	if err != nil {
		return []string{err.Error()}
	}
	db, err := documents.Open(ctx, databaseOf(cfg), slices.Concat(documents.ReadOnly(), most.dialOptions())...)
	if err != nil {
		return []string{err.Error()}
	}
	defer func() { _ = db.Close() }() // it was only read
	return doubts.Of(most.metered(ctx), db.Reader(), *job.Rule, due)
}

// doubts prints what is doubtful about a rule.
func (p *printer) doubts(all []string) {
	for _, text := range all {
		p.Say(yellow, 2, 2, "doubtful: %s", text)
	}
}
