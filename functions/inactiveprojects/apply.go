package inactiveprojects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/tasks"
)

// auditName is the audit event's name.
const auditName = "inactive_project_scheduled_for_deletion"

// warnAbout writes the audit event and hands the warning to the worker. The event is written first and remembers the
// promised date: whoever does this again, after a crash or because the worker has not got to it yet, finds the event, and
// makes the same promise by the same task.
func warnAbout(ctx context.Context, w *sweep.Writers, id string, s settings) error {
	var date, since string
	err := w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		project, entry, err := read(tx, id)
		if err != nil {
			return err
		}
		if v, _ := judge(project, entry, s, w.Now); v != warn {
			return sweep.ErrChanged
		}
		bot, err := adminBot(tx.Get, project)
		if err != nil {
			return err
		}
		if bot == nil {
			return sweep.ErrChanged // the next run says so
		}
		last, _ := project.Time("last_activity_at")
		since = last.UTC().Format(time.RFC3339Nano)
		event := "audit_events/" + digest.Of(auditName, id, since)
		d, _, err := tx.Get(event)
		if err != nil {
			return err
		}
		// A promise that the worker was never able to announce is no good once its date has come.
		date, _ = d.Text("deletion_date")
		if _, err := time.Parse(time.DateOnly, date); err == nil && date > w.PromiseFrom().Format(time.DateOnly) {
			return nil
		}
		date = s.promise(w.PromiseFrom())
		return tx.Set(event, map[string]any{
			"name":      auditName,
			"message":   fmt.Sprintf("Project is scheduled to be deleted on %s due to inactivity.", date),
			"author_id": bot, "project_id": id, "deletion_date": date, "created_at": w.Now,
		})
	})
	if err != nil {
		return fmt.Errorf("record the warning: %w", err)
	}
	return w.Enqueue(ctx, tasks.Task{Key: []string{id, since, date}, Body: map[string]string{"project_id": id, "deletion_date": date}})
}

// markForDeletion marks a project that by the settings, the warning and the project of this moment is to be deleted.
func markForDeletion(ctx context.Context, w *sweep.Writers, id string) error {
	return w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		d, found, err := tx.Get(settingsPath)
		if err != nil {
			return err
		}
		s, err := settingsOf(d, found)
		if err != nil || !s.enabled {
			return sweep.ErrChanged // the next run says what is wrong with them
		}
		project, entry, err := read(tx, id)
		if err != nil {
			return err
		}
		if marked, _ := project.Time("marked_for_deletion_on"); marked.Equal(w.Now) {
			return nil // an earlier try of this transaction took effect and its answer was lost
		}
		if v, _ := judge(project, entry, s, w.Now); v != mark {
			return sweep.ErrChanged
		}
		bot, err := adminBot(tx.Get, project)
		if err != nil {
			return err
		}
		if bot == nil {
			return sweep.ErrChanged
		}
		if err := tx.Update(project.Path, map[string]any{"marked_for_deletion_on": w.Now, "deleting_user": bot}); err != nil {
			return err
		}
		return tx.Delete(entryPath(project))
	})
}

// adminBot returns the user in whose name things are done in a project's organization, as the organization names it; nil if it
// has none.
func adminBot(get func(path string) (documents.Document, bool, error), project documents.Document) (any, error) {
	org, ok := documents.IDOf(project.Data["organization_id"])
	if !ok {
		return nil, nil
	}
	d, _, err := get("organizations/" + org)
	if err != nil {
		return nil, err
	}
	bot := d.Data["admin_bot_user_id"]
	if _, ok := documents.IDOf(bot); !ok {
		return nil, nil
	}
	return bot, nil
}

// read returns a project and the entry of its warning, nil if there is none. A project that is gone is
// [sweep.ErrChanged].
func read(tx *documents.Transaction, id string) (project documents.Document, entry *documents.Document, err error) {
	project, found, err := tx.Get(projects + "/" + id)
	if err != nil {
		return project, nil, err
	}
	if !found {
		return project, nil, errGone
	}
	e, found, err := tx.Get(warnings + "/" + id)
	if found {
		entry = &e
	}
	return project, entry, err
}

var errGone = fmt.Errorf("the project is gone: %w", sweep.ErrChanged)

// failed remembers the projects that something went wrong with, or that changed while they were judged.
type failed struct {
	mu  sync.Mutex
	all []string
}

// note returns an effect that remembers the project if it does not succeed.
func (f *failed) note(id string, effect sweep.Steps) sweep.Steps {
	return func(ctx context.Context, w *sweep.Writers) error {
		succeeded := false
		defer func() { // also if it panics
			if !succeeded {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.all = append(f.all, id)
			}
		}()
		err := effect(ctx, w)
		succeeded = err == nil || errors.Is(err, errGone)
		return err
	}
}

// ids returns the projects, sorted.
func (f *failed) ids() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(slices.Values(f.all))
}
