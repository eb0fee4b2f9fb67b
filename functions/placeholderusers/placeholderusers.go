// Package placeholderusers is cleanupPlaceholderUsers and its worker deletePlaceholderUser: users that an import made up and
// nobody claimed are deleted, unless something refers to them. The rules are in rules.go.
package placeholderusers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/tasks"
)

// Job is cleanupPlaceholderUsers.
var Job = sweep.Job{Name: "cleanupPlaceholderUsers", Plan: plan}

func init() {
	functions.Register(Job)
	functions.Register(Worker)
}

const details = "import_placeholder_user_details"

// finalAttempt is what is logged when the last attempt is made.
const finalAttempt = "Maximum deletion attempts (15) reached for deletion of placeholder user. Making final deletion attempt."

// detailFields are what is judged.
var detailFields = []string{"namespace_id", "deletion_attempts", "last_deletion_attempt_at", "placeholder_user_id"}

func plan(ctx context.Context, p *sweep.Planner) error {
	q, some := query(ctx, p)
	if !some {
		return nil
	}
	index := 0 // each task is due a second after the one before
	for page, err := range p.Documents.Pages(ctx, q, documents.Cursor(p.Position())) {
		if err != nil {
			return err
		}
		p.Scanned(len(page.Documents))
		for _, detail := range page.Documents {
			_, due, reason, doubt := judge(detail, p.Now)
			switch {
			case doubt:
				p.KeepDoubtful(ctx, detail.Path, reason, 1)
			case !due:
				p.Keep(reason, 1)
			default:
				path, delay := detail.Path, time.Duration(index)*time.Second
				index++
				err := p.Propose(ctx, sweep.Action{
					Kind: "have placeholder user deleted", Target: path, Reason: reason,
					Effect: sweep.Steps(func(ctx context.Context, w *sweep.Writers) error { return handOver(ctx, w, path, delay) }),
				})
				if err != nil {
					return err
				}
			}
		}
		if err := p.Mark(string(page.Next)); err != nil {
			return err
		}
	}
	return nil
}

// query returns the query for the details without a namespace, or false if there are none. A field that is missing cannot
// be asked for; but three counts, at one read per 1000 details, tell whether it is missing anywhere. Only then, or where the
// details cannot be counted, are all of them read.
func query(ctx context.Context, p *sweep.Planner) (q documents.Query, some bool) {
	counted := true
	count := func(where ...documents.Filter) (n int) {
		if counted {
			n, counted = p.Count(ctx, documents.Query{Collection: details, Where: where})
		}
		return n
	}
	null := documents.Filter{Field: "namespace_id", Op: "==", Value: nil}
	all := count()
	set := count(documents.Filter{Field: "namespace_id", Op: "!=", Value: nil})
	explicit := count(null)
	q = documents.Query{Collection: details, Select: detailFields}
	if !counted {
		return q, true
	}
	if explicit == all-set {
		q.Where = []documents.Filter{null}
		p.Scanned(set)
		p.Keep(keptNamespace, set)
	}
	return q, all > set
}

// handOver hands the user to the worker and then counts the attempt, in this order: an attempt whose task could not be
// enqueued does not count, and after a crash in between the same task is handed over again, which makes no second one.
func handOver(ctx context.Context, w *sweep.Writers, path string, delay time.Duration) error {
	detail, found, err := w.Documents.Get(ctx, path)
	if err != nil {
		return err
	}
	a, due, _, _ := judge(detail, w.Now)
	if !found || !due {
		return sweep.ErrChanged
	}
	err = w.Enqueue(ctx, tasks.Task{
		Key: a.key(detail.ID()), Body: map[string]string{"placeholder_user_id": a.userID}, NotBefore: w.Started.Add(delay),
	})
	if err != nil {
		return err
	}
	if a.number == maxAttempts {
		w.Log.WarnContext(ctx, finalAttempt, slog.String("placeholder_user_id", a.userID), slog.String("target", path))
	}
	if err := countAttempt(ctx, w, path, a); err != nil {
		return fmt.Errorf("count the attempt: %w", err)
	}
	return nil
}

// countAttempt counts an attempt whose task has been handed over.
func countAttempt(ctx context.Context, w *sweep.Writers, path string, a attempt) error {
	err := w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		detail, found, err := tx.Get(path)
		if err != nil {
			return err
		}
		if !found {
			return errDone
		}
		if n, _ := countOf(detail.Data["deletion_attempts"]); n == a.number {
			if last, _ := detail.Time("last_deletion_attempt_at"); last.Equal(w.Now) {
				return errDone
			}
		}
		if now, due, _, _ := judge(detail, w.Now); !due || now != a {
			return sweep.ErrChanged
		}
		return tx.Update(path, map[string]any{"deletion_attempts": a.number, "last_deletion_attempt_at": w.Now})
	})
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

// errDone says that there is nothing left to count: the worker was quicker and has deleted the detail, or an earlier try of
// this transaction took effect and its answer was lost.
var errDone = errors.New("done already")
