// Package resolvedinquiries is cleanupResolvedInquiries: six days after an inquiry was resolved it tells the user that the
// inquiry will be deleted, a day later it moves the inquiry and its messages to archivedInquiries and deletes their images.
//
// The rules are in rules.go. warn.go tells users, archive.go archives an inquiry in one commit. What takes several commits
// goes from stage to stage (stages.go): an inquiry whose archive does not fit in one document, or that has an archive already.
package resolvedinquiries

import (
	"context"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Job is cleanupResolvedInquiries. An archive holds as much as a document can, less what is not known of its size.
var Job = jobWith(documents.MaxDocument - 48<<10)

func init() { functions.Register(Job) }

const (
	name      = "cleanupResolvedInquiries"
	inquiries = "inquiries"
	archives  = "archivedInquiries"
	pageSize  = 100 // inquiries held at once: what users wrote in their fields may be large
)

// messagesOf returns the collection of the messages of an inquiry or of an archive.
func messagesOf(ref documents.Ref) string { return ref.Path() + "/messages" }

// jobWith is the job with a limit on the bytes of an archive, and of the messages that are moved together of one in parts.
func jobWith(most int) sweep.Job {
	rule := archiveRule(most)
	return sweep.Job{
		Name: name, Settings: settings, Rules: []sweep.AnyRule{rule, warnings},
		Earlier: []sweep.Earlier{sweep.Leftovers(name), begunBefore(rule)},
		Plan: func(ctx context.Context, p *sweep.Planner) error {
			resolved := documents.Filter{Field: "status", Op: "==", Value: statusResolved}
			due := documents.Query{
				Collection: inquiries,
				Where:      []documents.Filter{resolved, {Field: "resolvedAt", Op: "<=", Value: warningCutoff(p.Now)}},
				OrderBy:    []string{"resolvedAt"},
				Select:     []string{"status", "resolvedAt", "userId", notifiedAt},
				PageSize:   pageSize,
			}
			p.CountKept(ctx, sweep.KeptCount{
				Due: due, Eligible: []documents.Filter{resolved}, Young: documents.Filter{Field: "resolvedAt", Op: ">", Value: warningCutoff(p.Now)},
				KeptOther: keptUnresolved, KeptYoung: keptYoung, KeptUndated: keptUndated,
			})
			return p.Sweep(ctx, due, documents.Cursor(p.Checkpoint()), rule, warnings)
		},
	}
}

// begunBefore are the archives in parts that a version before the journal has begun: cleanupJobs/{job}/archives/{id} says
// whether the inquiry is archived.
func begunBefore(rule sweep.AnyRule) sweep.Earlier {
	return sweep.Earlier{
		Collection: "cleanupJobs/" + name + "/archives",
		Read: func(record documents.Document) ([]sweep.FollowUp, []sweep.Item, error) {
			archived, ok := record.Data["archived"].(bool)
			if !ok {
				return nil, nil, sweep.ErrForeign
			}
			stage := copying
			if archived {
				stage = finish
			}
			return nil, []sweep.Item{{
				Rule: rule, Ref: documents.Ref{Collection: inquiries, ID: record.ID()}, From: progress{Stage: stage}.String(),
			}}, nil
		},
	}
}
