// Package runlog writes and reads what the commits of a run leave, which are two kinds of documents:
//
//   - Done, cleanupRuns/{run}/cleanupUndo/{n}-{part}: what was done. It holds whole documents as they were before, for
//     undoing and showing, and expires.
//   - [Todo], cleanupJobs/{job}/cleanupTodo/{run}-{n}: what is still to be done. It exists as long as that is so, and never
//     expires.
//
// A commit writes both itself, so they exist exactly if it took effect; if its answer was lost, they name the attempt that did
// ([Entry.Took]). An object or an account is deleted after a commit that holds nothing but the entry; if it then stays, that is
// added to the entry ([Entry.Stay]).
package runlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// DoneOf returns the collection of a run's Done. Its last part is the group that the TTL policy is for.
func DoneOf(run string) string { return collections.Runs + "/" + run + "/" + collections.Undo }

// TodosOf returns the collection of a job's [Todo].
func TodosOf(job string) string { return collections.Jobs + "/" + job + "/" + collections.Todo }

// Log is where a run writes what its commits leave.
type Log struct {
	Job, Run string
	// Saves says that records are saved for undo. Otherwise Done holds none: it is needed only until the commit's answer is
	// there, and only if the commit leaves no Todo, which tells of it as well.
	Saves  bool
	Expire time.Time // of Done: all at once

	mu   sync.Mutex
	n    int
	over []documents.Ref
}

// Entry is what one commit leaves. All attempts of the commit have the same.
type Entry struct {
	log  *Log
	name string
}

// Next returns the entry of the next commit.
func (l *Log) Next() Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	return Entry{log: l, name: fmt.Sprintf("%06d", l.n)}
}

func (e Entry) done(part int) documents.Ref {
	return documents.Ref{Collection: DoneOf(e.log.Run), ID: fmt.Sprintf("%s-%02d", e.name, part)}
}

// Todo names the entry's Todo.
func (e Entry) Todo() documents.Ref {
	return documents.Ref{Collection: TodosOf(e.log.Job), ID: e.log.Run + "-" + e.name}
}

// Writes returns what an attempt of the commit writes: the records of what it does, and what follows. Attempts count from 1.
func (e Entry) Writes(attempt int, records []undo.Record, todo Todo) (writes []documents.Write, err error) {
	if !todo.Empty() {
		data, err := todo.packed()
		if err != nil {
			return nil, err
		}
		writes = append(writes, documents.Write{Op: documents.Set, Ref: e.Todo(), Data: map[string]any{
			"run": e.log.Run, "task": todo.Task, "bucket": todo.Bucket, "attempt": attempt, "at": documents.ServerTimestamp,
			"data": data,
		}})
	}
	if len(records) == 0 && len(writes) > 0 {
		return writes, nil
	}
	parts, err := Pack(records)
	if err != nil {
		return nil, err
	}
	for i, data := range parts {
		writes = append(writes, documents.Write{Op: documents.Set, Ref: e.done(i), Data: map[string]any{
			"data": data, "parts": len(parts), "records": len(records), "attempt": attempt,
			"at": documents.ServerTimestamp, "expireAt": e.log.Expire,
		}})
	}
	return writes, nil
}

// Stay returns the write after which records of the entry, by their places from 1, are none: what they say was not done.
func (e Entry) Stay(places []int) documents.Write {
	return documents.Write{Op: documents.Update, Ref: e.done(0), Data: map[string]any{stayedField: places}}
}

// Left returns the writes after which the entry's Todo is what is left of it.
func (e Entry) Left(todo Todo) ([]documents.Write, error) {
	if todo.Empty() {
		return Deletions([]documents.Ref{e.Todo()}), nil
	}
	return e.Writes(1, nil, todo)
}

// stayedField is the field of an entry's first document that names the records of what stayed.
const stayedField = "stayed"

// errAttempt says that an entry is not of this commit.
var errAttempt = errors.New("it tells of an attempt that was not made: somebody else wrote it")

// Took returns which of the attempts so far took effect, and when; 0 if none did. It is for an attempt after which the answer
// to an earlier one may have been lost.
func (e Entry) Took(ctx context.Context, tx *documents.Transaction, attempts int) (attempt int, at time.Time, err error) {
	for _, ref := range []documents.Ref{e.done(0), e.Todo()} {
		found, err := tx.GetAll(ctx, []string{ref.Path()})
		if err != nil {
			return 0, at, err
		}
		d, there := found[ref.Path()]
		if !there {
			continue
		}
		n, _ := d.Data["attempt"].(int64)
		if n < 1 || n > int64(attempts) {
			return 0, at, fmt.Errorf("%s: %w", ref.Path(), errAttempt)
		}
		return int(n), timeOf(d), nil
	}
	return 0, at, nil
}

// Answered says that the commit's answer is there, and whether it left a Todo.
func (e Entry) Answered(todo bool) {
	if !e.log.Saves && !todo {
		e.log.Over(e.done(0))
	}
}

// maxOver is how many documents of the log a commit deletes besides what it is for.
const maxOver = 20

// Over says of documents of the log that they are needed no longer.
func (l *Log) Over(refs ...documents.Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = append(l.over, refs...)
}

// TakeOver returns some of the documents that are needed no longer, for a commit to delete. If it does not, they go to
// [Log.Over] again.
func (l *Log) TakeOver() []documents.Ref {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.over), maxOver)
	taken := slices.Clone(l.over[:n])
	l.over = l.over[n:]
	return taken
}

// Close deletes what is needed no longer and no commit has taken along.
func (l *Log) Close(ctx context.Context, w documents.Writer) error {
	for {
		over := l.TakeOver()
		if len(over) == 0 {
			return nil
		}
		if err := w.Put(ctx, Deletions(over)); err != nil {
			return err
		}
	}
}

// Deletions returns the writes that delete documents.
func Deletions(refs []documents.Ref) []documents.Write {
	writes := make([]documents.Write, len(refs))
	for i, ref := range refs {
		writes[i] = documents.Write{Op: documents.Delete, Ref: ref}
	}
	return writes
}

// timeOf returns when a document of the log was written, by its own account, but never a time after its last change: what
// changes it later moves nothing.
func timeOf(d documents.Document) time.Time {
	at, _ := d.Data["at"].(time.Time)
	if d.UpdateTime.Before(at) {
		return d.UpdateTime
	}
	return at
}
