// Package placeholderusers is cleanupPlaceholderUsers and its worker deletePlaceholderUser: users that an import made up and
// nobody claimed are deleted, unless something refers to them. The rules are in rules.go.
package placeholderusers

import (
	"context"
	"fmt"
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

const (
	users   = "users"
	details = "import_placeholder_user_details"
)

// detailRule hands the user of a detail to the worker and then counts the attempt, in this order: an attempt whose task could
// not be enqueued does not count, and after a crash in between the same task is handed over again, which makes no second one.
var detailRule = sweep.Rule[sweep.Subject]{
	Name: "detail", Reach: sweep.Reach{Items: details, Writes: []string{details}}, Load: sweep.Itself, Judge: judge, Change: countAttempt,
}

// finalAttempt is what is logged when the last attempt is made.
const finalAttempt = "Maximum deletion attempts (15) reached for deletion of placeholder user. Making final deletion attempt."

// countAttempt counts the attempt that is due. Each task is due a second after the one before.
func countAttempt(detail sweep.Subject, _ sweep.Decision, run sweep.Run) sweep.Change {
	attempts, _ := attemptsOf(detail)
	last, _ := detail.Time("last_deletion_attempt_at") // the zero time if there was none
	userID, _ := documents.IDOf(detail.Data["placeholder_user_id"])
	c := sweep.Change{
		Before: []tasks.Task{{
			Key:  []string{detail.ID(), fmt.Sprint(attempts + 1), last.UTC().Format(time.RFC3339Nano)},
			Body: map[string]string{"placeholder_user_id": userID}, NotBefore: run.Started.Add(time.Duration(detail.Nth) * time.Second),
		}},
		Writes: []documents.Write{{Op: documents.Update, Ref: detail.Ref(), Data: map[string]any{
			"deletion_attempts": attempts + 1, "last_deletion_attempt_at": run.Now,
		}}},
	}
	if attempts+1 == maxAttempts {
		c.Notices = []sweep.Notice{{Message: finalAttempt, Fields: map[string]any{"placeholder_user_id": userID}}}
	}
	return c
}

func plan(ctx context.Context, p *sweep.Planner) error {
	q, some := p.Unset(ctx, details, "namespace_id", keptNamespace)
	if !some {
		return nil
	}
	q.Select = []string{"namespace_id", "deletion_attempts", "last_deletion_attempt_at", "placeholder_user_id"}
	return p.Sweep(ctx, q, documents.Cursor(p.Checkpoint()), detailRule)
}
