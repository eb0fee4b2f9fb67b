package inactiveprojects

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/notifications"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Worker is sendInactiveProjectWarning: it sends the e-mail about one project and writes the entry that says so, in one
// commit.
var Worker = sweep.Job{
	Name: "sendInactiveProjectWarning",
	Task: &sweep.Task{Fields: []string{"project_id", "deletion_date"}, Check: checkTask},
	Plan: planWarning,
}

func checkTask(task map[string]string) error {
	if !documents.ValidID(task["project_id"]) {
		return fmt.Errorf("project_id %q cannot be a document's id", task["project_id"])
	}
	if _, err := time.Parse(time.DateOnly, task["deletion_date"]); err != nil {
		return fmt.Errorf("deletion_date %q is not a date like 2026-01-31", task["deletion_date"])
	}
	return nil
}

// Why nobody is warned.
const (
	keptGone        = "the project does not exist"
	keptWarned      = "warned already"
	keptActiveSince = "somebody has worked on it since it was decided to warn"
)

// unwarned returns why a project's people are not to be warned, "" if they are. now is when it was decided to warn them:
// the now of the run that made the task.
func unwarned(project documents.Document, entry *documents.Document, now time.Time) string {
	last, dated := project.Time("last_activity_at")
	if dated && last.After(now) {
		return keptActiveSince
	}
	if entry != nil {
		given, ok := warningOf(*entry)
		if isVoid := ok && dated && given.from.Before(last); !isVoid {
			return keptWarned
		}
	}
	if _, canBeWarned := recipients(project); !canBeWarned {
		return keptNoPeople
	}
	return ""
}

func planWarning(ctx context.Context, p *sweep.Planner) error {
	id, date := p.Task["project_id"], p.Task["deletion_date"]
	project, entry, err := lookUp(ctx, p.Documents, id)
	if errors.Is(err, errGone) {
		p.Log.ErrorContext(ctx, projects+"/"+id+": nobody is warned, the project does not exist", slog.String("target", projects+"/"+id))
		p.Keep(keptGone, 1)
		return nil
	}
	if err != nil {
		return err
	}
	switch reason := unwarned(project, entry, p.Now); reason {
	case "":
	case keptNoPeople:
		p.KeepDoubtful(ctx, project.Path, reason, 1)
		return nil
	default:
		p.KeepNamed(ctx, project.Path, reason)
		return nil
	}
	return p.Propose(ctx, sweep.Action{
		Kind: "send warning about project", Target: project.Path, Reason: "to be deleted on " + date,
		Effect: sweep.Steps(func(ctx context.Context, w *sweep.Writers) error { return sendWarning(ctx, w, id, date) }),
	})
}

func lookUp(ctx context.Context, r documents.Reader, id string) (project documents.Document, entry *documents.Document, err error) {
	paths := []string{projects + "/" + id, warnings + "/" + id}
	found, err := r.GetAll(ctx, paths)
	if err != nil {
		return project, nil, err
	}
	project, ok := found[paths[0]]
	if !ok {
		return project, nil, errGone
	}
	if e, ok := found[paths[1]]; ok {
		entry = &e
	}
	return project, entry, nil
}

// sendWarning writes the e-mail and the entry. The entry's warned_on is when this is done, not when it was decided to: however
// late Cloud Tasks delivers, nobody's grace is shorter than the settings say. What happened in between is no activity
// after the warning, but it is asked for once more: see [unwarned].
func sendWarning(ctx context.Context, w *sweep.Writers, id, date string) error {
	var to []string
	err := w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		project, entry, err := read(tx, id)
		if err != nil {
			return err
		}
		if entry != nil {
			if at, _ := entry.Time("warned_on"); at.Equal(w.PromiseFrom()) && entry.Data["deletion_date"] == date {
				return nil // an earlier try of this transaction took effect and its answer was lost
			}
		}
		if unwarned(project, entry, w.Now) != "" {
			return sweep.ErrChanged
		}
		to, _ = recipients(project) // it has been judged
		if len(to) > 0 {
			if err := writeMail(tx, w, project, to, date); err != nil {
				return err
			}
		}
		return tx.Set(entryPath(project), map[string]any{"warned_on": w.PromiseFrom(), "deletion_date": date})
	})
	if err == nil && len(to) == 0 {
		w.Log.WarnContext(ctx, projects+"/"+id+": it has neither owner_ids nor maintainer_ids, so nobody was told that it will be deleted on "+date,
			slog.String("target", projects+"/"+id))
	}
	return err
}

// writeMail writes the e-mail, unless it was written before: written again, it would be sent again.
func writeMail(tx *documents.Transaction, w *sweep.Writers, project documents.Document, to []string, date string) error {
	last, _ := project.Time("last_activity_at") // without, the id and the date tell warnings apart
	mail := notifications.Mail{
		ToUserIDs: to, Type: "inactive_project_warning", Text: notifications.Locale(w.Config.Locale).InactiveProjectWarning(nameOf(project), date),
		Announces: []string{project.ID(), last.UTC().Format(time.RFC3339Nano), date},
	}
	if _, written, err := tx.Get(mail.Path()); err != nil || written {
		return err
	}
	return tx.Create(mail.Path(), mail.Data())
}

// maxName is the longest part of a project's name, or id, that an e-mail repeats, in characters.
const maxName = 200

// nameOf returns a project's name for people, its id if it has none. It is on one line, for it stands in the subject.
func nameOf(project documents.Document) string {
	text, _ := project.Text("name")
	if text == "" {
		text = project.ID()
	}
	return notifications.Clip(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text), maxName)
}
