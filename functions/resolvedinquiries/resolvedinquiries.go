// Package resolvedinquiries is cleanupResolvedInquiries. Six days after an inquiry was resolved, it tells the user that the
// inquiry will be deleted. A day later it moves the inquiry and its messages to archivedInquiries, and deletes their images.
//
// The rules are in rules.go; warn.go tells users, and archive.go archives an inquiry.
package resolvedinquiries

import (
	"context"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/docsize"
)

// Job is cleanupResolvedInquiries.
var Job = cleanup.Job{Name: name, Settings: settings, Rules: []cleanup.AnyRule{archiveRule, warnings}, Plan: plan}

func init() { functions.Register(Job) }

const (
	name      = "cleanupResolvedInquiries"
	inquiries = "inquiries"
	archives  = "archivedInquiries"
	pageSize  = 100 // inquiries in memory: what users wrote in their fields may be large
)

// maxArchive is how many bytes an archive may have: those of a document, less a margin, because its exact size is not known.
const maxArchive = docsize.Max - 48<<10

func plan(ctx context.Context, p *cleanup.Planner) error {
	resolved := documents.Filter{Field: "status", Op: "==", Value: statusResolved}
	due := documents.Query{
		Collection: inquiries,
		Where: []documents.Filter{
			resolved, {Field: "resolvedAt", Op: ">=", Value: documents.Earliest},
			{Field: "resolvedAt", Op: "<=", Value: warningCutoff(p.Now)},
		},
		OrderBy:  []string{"resolvedAt"},
		Select:   []string{"status", "resolvedAt", "userId", notifiedAt},
		PageSize: pageSize,
	}
	p.CountNotDue(ctx, cleanup.NotDue{All: documents.Query{Collection: inquiries}, Due: due})
	return p.Sweep(ctx, due, documents.Cursor(p.Checkpoint), archiveRule, warnings)
}
