package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/state"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/objects"
)

// How much is under way at once: single actions, or batches, which weigh as much as several. Eight batches of document deletes
// are under way. If Firestore takes a second for a small batch, they still reach its write rate, and no more than some three
// seconds' worth of writes ever waits to be sent.
const (
	maxWeight    = 32
	batchWeight  = 8
	deleteWeight = 4 // of a batch of deletes of documents or objects
	largeWeight  = 2 // of an item that is large, which its rule says
)

// apply does the actions in order, many at a time, until all are done or time is up. It returns the index of the first
// action that was left undone for lack of time, len(actions) if none was. Failures are counted and do not stop it.
func (r *run) apply(ctx context.Context, actions []Action) (unfinished int) {
	var (
		wg       sync.WaitGroup
		mu       sync.Mutex // guards unfinished
		underWay = semaphore.NewWeighted(maxWeight)
	)
	unfinished = len(actions)
	saved := r.ahead
	r.ahead = together{}
	leave := func(i int) {
		mu.Lock()
		defer mu.Unlock()
		unfinished = min(unfinished, i)
	}
	for i := 0; i < len(actions); {
		n := batchLength(actions[i:], r.documents.BatchSize())
		weight := weightOf(actions[i].Effect, n)
		if err := underWay.Acquire(ctx, weight); err != nil || r.timeIsUp() {
			leave(i)
			break
		}
		if i >= saved.until {
			saved = r.togetherFrom(ctx, actions, i)
		}
		if saved.until > i {
			n = min(n, saved.until-i)
		}
		first, batch, save := i, actions[i:i+n], saved.save
		wg.Go(func() {
			defer underWay.Release(weight)
			for k, err := range r.doGuarded(ctx, batch, save) {
				if err != nil && (errors.Is(err, ErrOutOfTime) || ctx.Err() != nil) {
					leave(first + k) // the next run judges again what ctx's end interrupted
					continue
				}
				r.record(ctx, batch[k], err)
			}
		})
		i += n
	}
	wg.Wait()
	return unfinished
}

// weightOf returns what a batch of n actions weighs.
func weightOf(first Effect, n int) int64 {
	switch effect := first.(type) {
	case deleteDocument, DeleteObject:
		return deleteWeight
	case ruled:
		if effect.Rule.group() == 1 {
			return largeWeight
		}
	}
	if n > 1 {
		return batchWeight
	}
	return 1
}

// How many deletes of objects go together, and on how many documents' absence they may depend: as many as one read can check.
const (
	maxObjects = storageBurst
	maxAbsent  = 30
)

// maxDeletes is how many deletes of a batch of objects are under way at once. With four or more batches, and answers after a
// twentieth of a second, they reach the bucket's rate.
const maxDeletes = 25

// batchLength returns how many of the first actions are done together, of document deletes at most so many.
func batchLength(actions []Action, deletes int) int {
	n := 1
	switch first := actions[0].Effect.(type) {
	case deleteDocument:
		for n < len(actions) && n < deletes {
			if _, ok := actions[n].Effect.(deleteDocument); !ok {
				break
			}
			n++
		}
	case DeleteObject:
		absent := map[documents.Ref]bool{first.Absent: true}
		for n < len(actions) && n < maxObjects {
			next, ok := actions[n].Effect.(DeleteObject)
			if !ok || len(absent) == maxAbsent && !absent[next.Absent] {
				break
			}
			absent[next.Absent] = true
			n++
		}
	case deleteAccount:
		for n < len(actions) && n < maxAccounts {
			if next, ok := actions[n].Effect.(deleteAccount); !ok || next.rule != first.rule {
				break
			}
			n++
		}
	case ruled:
		for n < len(actions) && n < first.Rule.group() {
			if next, ok := actions[n].Effect.(ruled); !ok || next.Rule.name() != first.Rule.name() {
				break
			}
			n++
		}
	}
	return n
}

// doGuarded is do; a panic is the failure of the whole batch.
func (r *run) doGuarded(ctx context.Context, batch []Action, save func() error) (results []error) {
	err := guard.Call(func() error {
		results = r.do(ctx, batch, save)
		return nil
	})
	if err != nil {
		return slices.Repeat([]error{err}, len(batch))
	}
	return results
}

// do carries out actions that go together and returns an error for each. save saves documents that are to be deleted for undo.
func (r *run) do(ctx context.Context, batch []Action, save func() error) []error {
	switch effect := batch[0].Effect.(type) {
	case deleteDocument:
		deletions := make([]documents.Deletion, len(batch))
		for i, a := range batch {
			deletions[i] = a.Effect.(deleteDocument).Deletion
		}
		if err := save(); err != nil {
			return slices.Repeat([]error{err}, len(batch))
		}
		results := r.documents.Delete(ctx, deletions)
		r.noteStayed(ctx, batch, results)
		return results
	case DeleteObject:
		deletions := make([]DeleteObject, len(batch))
		for i, a := range batch {
			deletions[i] = a.Effect.(DeleteObject)
		}
		if err := r.saveObjects(ctx, batch); err != nil { // before the look at absence, so that nothing comes between that and the deletion
			return slices.Repeat([]error{err}, len(batch))
		}
		results := r.deleteObjects(ctx, deletions)
		r.noteStayed(ctx, batch, results)
		return results
	case deleteAccount:
		return r.deleteDueAccounts(ctx, batch)
	case ruled:
		return r.doItems(ctx, batch)
	case pendingTodo:
		return []error{guard.Call(func() error { return r.doTodo(ctx, effect) })}
	default:
		return []error{errors.New("the action has no effect: this is a bug in the job")}
	}
}

// doItems does items of one rule.
func (r *run) doItems(ctx context.Context, batch []Action) []error {
	group := make([]*work, len(batch))
	for i, a := range batch {
		group[i] = &work{Item: a.Effect.(ruled).Item, kind: a.Kind, reason: a.Reason}
	}
	r.settleSafely(ctx, group)
	results := make([]error, len(batch))
	for i, w := range group {
		if results[i] = w.err; w.err != nil && !w.gone {
			r.leaveUndone(w.Ref)
		}
	}
	return results
}

// leaveUndone notes an item for [Planner.Continue].
func (r *run) leaveUndone(item documents.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.undone) < MaxUndone {
		r.undone = append(r.undone, item)
	}
}

// deleteObjects looks up again the documents whose absence is the reason, and deletes the objects whose document is still
// absent.
func (r *run) deleteObjects(ctx context.Context, deletions []DeleteObject) []error {
	objects, err := r.objects.Ahead(ctx, len(deletions))
	if err != nil {
		return slices.Repeat([]error{err}, len(deletions))
	}
	results := make([]error, len(deletions))
	absent := map[string][]string{} // ids by collection
	for _, d := range deletions {
		if d.Absent != (documents.Ref{}) && !slices.Contains(absent[d.Absent.Collection], d.Absent.ID) {
			absent[d.Absent.Collection] = append(absent[d.Absent.Collection], d.Absent.ID)
		}
	}
	missing := map[documents.Ref]bool{{}: true} // nothing to be absent
	failed := map[string]error{}
	for collection, ids := range absent {
		still, err := r.documents.Missing(ctx, collection, ids)
		if err != nil {
			failed[collection] = err
		}
		for _, id := range still {
			missing[documents.Ref{Collection: collection, ID: id}] = true
		}
	}
	told := r.collect(ctx)
	objects.Written = told.object
	defer told.log() // in one line
	var wg sync.WaitGroup
	underWay := semaphore.NewWeighted(maxDeletes)
	for i, d := range deletions {
		switch {
		case failed[d.Absent.Collection] != nil:
			results[i] = failed[d.Absent.Collection]
		case !missing[d.Absent]:
			results[i] = ErrChanged
		default:
			if err := underWay.Acquire(ctx, 1); err != nil {
				results[i] = err
				continue
			}
			wg.Go(func() {
				defer underWay.Release(1)
				results[i] = guard.Call(func() error { return objects.Delete(ctx, d.Deletion) })
			})
		}
	}
	wg.Wait()
	return results
}

// record counts and logs the result of an action.
func (r *run) record(ctx context.Context, a Action, err error) {
	attributes := []any{slog.String("target", a.Target), slog.String("action", a.Kind), slog.String("reason", a.Reason)}
	var held *objects.HeldError
	var pinned *pinnedError
	switch {
	case err == nil:
		r.mu.Lock()
		r.report.Count(a.Kind, func(c *Counts) { c.Done++ })
		r.mu.Unlock()
		r.log.InfoContext(ctx, report.Phrase(a.Kind, a.Target)+": done", attributes...)
	case errors.Is(err, ErrChanged):
		r.mu.Lock()
		r.report.Count(a.Kind, func(c *Counts) { c.Changed++ })
		r.mu.Unlock()
		r.log.InfoContext(ctx, report.Phrase(a.Kind, a.Target)+": left alone, it changed since it was judged", attributes...)
	case errors.As(err, &held):
		r.mu.Lock()
		r.report.Kept[held.Reason]++
		r.mu.Unlock()
		r.log.InfoContext(ctx, report.Phrase(a.Kind, a.Target)+": kept, "+held.Reason, attributes...)
	case errors.As(err, &pinned):
		r.keep(pinned.reason)
		r.log.InfoContext(ctx, report.Phrase(a.Kind, a.Target)+": kept, "+pinned.Error(), attributes...)
	case errors.Is(err, errLater):
		r.log.InfoContext(ctx, report.Phrase(a.Kind, a.Target)+": not done yet, a later run continues it", attributes...)
	default:
		r.mu.Lock()
		r.report.Count(a.Kind, func(c *Counts) { c.Failed++ })
		r.mu.Unlock()
		r.failed(ctx, a.Target, a.Kind, err)
	}
}

// failed notes that something went wrong with one target.
func (r *run) failed(ctx context.Context, target, action string, err error) {
	r.mu.Lock()
	r.failures++
	r.report.Fail(target, action, err)
	r.mu.Unlock()
	r.log.ErrorContext(ctx, report.Phrase(action, target)+": failed"+r.whoTriesAgain(err)+": "+err.Error(),
		slog.String("target", target), slog.String("action", action))
}

// whoTriesAgain says who tries again what failed.
func (r *run) whoTriesAgain(err error) string {
	var foreign *state.ForeignError
	switch {
	case errors.As(err, &foreign), errors.Is(err, ErrForeign):
		return ", and so will every run until somebody fixes it"
	case r.report.DryRun:
		return ""
	case r.job.Task != nil:
		return ", Cloud Tasks tries again"
	default:
		return ", the next run tries again"
	}
}
