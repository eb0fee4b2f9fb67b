// Package reports is cleanupReports: it deletes reports that were reviewed or dismissed and are older than one month.
// The rules are in rules.go.
package reports

import (
	"context"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Job is cleanupReports.
var Job = sweep.Job{Name: "cleanupReports", Plan: plan}

func init() { functions.Register(Job) }

const (
	collection = "reports"
	pageSize   = 2000 // two short fields each
)

// rule deletes reports as they were judged, and nothing with them.
var rule = sweep.Rule[sweep.Subject]{Name: "report", Load: sweep.Itself, Judge: judge}

func plan(ctx context.Context, p *sweep.Planner) error {
	settled := documents.Filter{Field: "status", Op: "in", Value: settledStatuses}
	due := documents.Query{
		Collection: collection,
		Where:      []documents.Filter{settled, {Field: "createdAt", Op: "<", Value: cutoff(p.Now)}},
		OrderBy:    []string{"createdAt"},
		Select:     []string{"status", "createdAt"},
		PageSize:   pageSize,
	}
	p.CountKept(ctx, sweep.KeptCount{
		Due: due, Eligible: []documents.Filter{settled}, Young: documents.Filter{Field: "createdAt", Op: ">=", Value: cutoff(p.Now)},
		KeptOther: keptUnsettled, KeptYoung: keptYoung, KeptUndated: keptUndated,
	})
	return p.Sweep(ctx, due, documents.Cursor(p.Checkpoint()), rule)
}
