package inactiveprojects

import (
	"context"
	"fmt"
	"time"

	"github.com/firesweep/firesweep/functions/notifications"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

// Worker is sendInactiveProjectWarning: it sends the e-mail about one project and writes the entry that says so, in one
// commit.
var Worker = cleanup.Job{
	Name:  "sendInactiveProjectWarning",
	Task:  &cleanup.Task{Fields: []string{"project_id", "deletion_date"}, Check: checkTask},
	Rules: []cleanup.AnyRule{warningRule},
	Plan: func(ctx context.Context, p *cleanup.Planner) error {
		return p.ConsiderRefs(ctx, warningRule, documents.Ref{Collection: projects, ID: p.Task["project_id"]})
	},
}

func checkTask(task map[string]string) error {
	if _, err := time.Parse(time.DateOnly, task["deletion_date"]); err != nil {
		return fmt.Errorf("deletion_date %q is not a date like 2026-01-31", task["deletion_date"])
	}
	return nil
}

// Why nobody is warned.
const (
	keptGone        = "the project does not exist"
	keptWarned      = "warned already"
	keptActiveSince = "somebody has worked on it since the decision to warn"
)

// announcement is a project whose people are to be warned.
type announcement struct {
	cleanup.Subject
	warning documents.Document // the entry of an earlier warning
	warned  bool               // there is one
	named   bool               // the project names people
	mail    notifications.Mail
	written bool // the e-mail is there already
}

// warningRule writes the e-mail and the entry. The entry's warned_on is when this is done, not when it was decided to: however
// late Cloud Tasks delivers, nobody's grace is shorter than the settings say. What happened in between is no activity
// after the warning, but it is asked for once more.
var warningRule = cleanup.Rule[announcement]{
	Name: "warning", Load: cleanup.OneByOne(loadAnnouncement), Judge: judgeWarning,
	Reach: cleanup.Reach{Items: projects, Writes: []string{"mail", warnings}},
	Change: func(a announcement, _ cleanup.Decision, run cleanup.Run) (c cleanup.Change) {
		date := run.Task["deletion_date"]
		switch {
		case len(a.mail.ToUserIDs) == 0:
			c.Notices = []cleanup.Notice{{Message: a.Path + ": it has neither owner_ids nor maintainer_ids, " +
				"so nobody was notified that it will be deleted on " + date}}
		case !a.written: // written again, it would be sent again
			c.Writes = []documents.Write{{Op: documents.Create, Ref: a.mail.Ref(), Data: a.mail.Data(), Sent: true}}
		}
		entry := map[string]any{"warned_on": run.Promise, "deletion_date": date}
		c.Writes = append(c.Writes, documents.Write{Op: documents.Set, Ref: entryOf(a.Ref()), Data: entry})
		return c
	},
}

// judgeWarning decides whether a project's people are to be warned. The run's now is when it was decided to warn them: the now of
// the run that made the task.
func judgeWarning(a announcement, run cleanup.Run) cleanup.Decision {
	last, dated := a.Time("last_activity_at")
	given, ok := warningOf(a.warning)
	switch _, canBeWarned := recipients(a.Document); {
	case !a.Found:
		d := cleanup.Keep(keptGone)
		d.Notice = &cleanup.Notice{Message: a.Path + ": nobody is warned, because the project does not exist", Error: true}
		return d
	case dated && last.After(run.Now):
		return cleanup.Keep(keptActiveSince)
	case a.warned && (!ok || !given.from.Before(last)): // before the last activity it would be void
		return cleanup.Keep(keptWarned)
	case !canBeWarned:
		return cleanup.Invalid(keptNoPeople)
	case a.named && len(a.mail.ToUserIDs) == 0:
		return cleanup.Invalid(keptNobody)
	default:
		return cleanup.Do("send warning about project", "to be deleted on "+run.Task["deletion_date"])
	}
}

func loadAnnouncement(ctx context.Context, src cleanup.Source, project cleanup.Subject) (announcement, error) {
	people := peopleOf(project.Document)
	a := announcement{Subject: project, mail: mailAbout(project, src.Run()), named: len(people) > 0}
	found, err := src.Get(ctx, append(people, entryOf(project.Ref()), a.mail.Ref()))
	a.warning, a.warned = found[entryOf(project.Ref())]
	_, a.written = found[a.mail.Ref()]
	a.mail.ToUserIDs = existing(people, found)
	return a, err
}

// mailAbout returns the e-mail about a project, without its recipients. The last activity tells warnings apart, or else the id
// and the date.
func mailAbout(project cleanup.Subject, run cleanup.Run) notifications.Mail {
	date := run.Task["deletion_date"]
	locale := notifications.Locale(run.Config.Locale)
	return notifications.Mail{
		Type: "inactive_project_warning", Text: locale.InactiveProjectWarning(notifications.NameOf(project.Document), date),
		Announces: []string{project.ID(), since(project), date},
	}
}
