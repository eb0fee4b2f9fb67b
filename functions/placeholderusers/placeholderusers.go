// Package placeholderusers is cleanupPlaceholderUsers and its worker deletePlaceholderUser: users that an import made up and
// nobody claimed are deleted, unless something refers to them. The rules are in rules.go.
package placeholderusers

import (
	"context"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/tasks"
)

// Job is cleanupPlaceholderUsers.
var Job = sweep.Job{Name: "cleanupPlaceholderUsers", Rules: []sweep.AnyRule{detailRule}, Plan: plan}

func init() {
	functions.Register(Job)
	functions.Register(Worker)
}

const details = "import_placeholder_user_details"

// finalAttempt is what is logged when the last attempt is made.
const finalAttempt = "Maximum deletion attempts (15) reached for deletion of placeholder user. Making final deletion attempt."

// detailFields are what is judged.
var detailFields = []string{"namespace_id", "deletion_attempts", "last_deletion_attempt_at", "placeholder_user_id"}

// detailRule hands the user of a detail to the worker and then counts the attempt, in this order: an attempt whose task could
// not be enqueued does not count, and after a crash in between the same task is handed over again, which makes no second one.
var detailRule = sweep.Rule[sweep.Subject]{Name: "detail", Load: sweep.Itself, Judge: judge, Change: countAttempt}

// countAttempt counts the attempt that is due. Each task is due a second after the one before.
func countAttempt(detail sweep.Subject, _ sweep.Decision, run sweep.Run) sweep.Change {
	a := next(detail)
	c := sweep.Change{
		Before: []tasks.Task{{
			Key: a.key(detail.ID()), Body: map[string]string{"placeholder_user_id": a.userID},
			NotBefore: run.Started.Add(time.Duration(detail.Nth) * time.Second),
		}},
		Writes: []documents.Write{{Op: documents.Update, Ref: detail.Ref(), Data: map[string]any{
			"deletion_attempts": a.number, "last_deletion_attempt_at": run.Now,
		}}},
	}
	if a.number == maxAttempts {
		c.Notices = []sweep.Notice{{Message: finalAttempt, Fields: map[string]any{"placeholder_user_id": a.userID}}}
	}
	return c
}

func plan(ctx context.Context, p *sweep.Planner) error {
	q, some := query(ctx, p)
	if !some {
		return nil
	}
	return p.Sweep(ctx, q, documents.Cursor(p.Checkpoint()), detailRule)
}

// query returns the query for the details without a namespace, or false if there are none. A field that is missing cannot
// be asked for; but three counts, at one read per 1000 details, tell whether it is missing anywhere. Only then, or where the
// details cannot be counted, are all of them read.
func query(ctx context.Context, p *sweep.Planner) (q documents.Query, some bool) {
	in := func(where ...documents.Filter) documents.Query {
		return documents.Query{Collection: details, Where: where}
	}
	null := documents.Filter{Field: "namespace_id", Op: "==", Value: nil}
	n, counted := p.CountAll(ctx, in(), in(documents.Filter{Field: "namespace_id", Op: "!=", Value: nil}), in(null))
	q = documents.Query{Collection: details, Select: detailFields}
	if !counted {
		return q, true
	}
	all, set, explicit := n[0], n[1], n[2]
	if explicit == all-set {
		q.Where = []documents.Filter{null}
		p.Scanned(set)
		p.Keep(keptNamespace, set)
	}
	return q, all > set
}
