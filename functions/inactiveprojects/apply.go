package inactiveprojects

import (
	"context"
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/tasks"
)

// auditName is the audit event's name.
const auditName = "inactive_project_scheduled_for_deletion"

// projectRule warns the people of dormant projects, and marks projects whose people have been warned.
var projectRule = sweep.Rule[project]{
	Name: "project", Load: load, Judge: judge, Gather: gatherEvents,
	Change: func(p project, d sweep.Decision, run sweep.Run) sweep.Change {
		if d.Kind == warn {
			return warnAbout(p, run)
		}
		marked := map[string]any{"marked_for_deletion_on": run.Now, "deleting_user": p.bot}
		return sweep.Change{Writes: []documents.Write{
			{Op: documents.Update, Ref: p.Ref(), Data: marked}, {Op: documents.Delete, Ref: p.entry()},
		}}
	},
}

// load reads the settings, the entries of those projects that are dormant, and the organizations of those that are due.
func load(ctx context.Context, src sweep.Source, subjects []sweep.Subject) ([]project, error) {
	found, err := src.Get(ctx, []documents.Ref{settingsRef})
	if err != nil {
		return nil, err
	}
	d, there := found[settingsRef]
	s, err := settingsOf(d, there)
	s.enabled = s.enabled && err == nil // the next run says what is wrong with them
	now := src.Run().Now
	all := make([]project, len(subjects))
	var entries []documents.Ref
	for i, subject := range subjects {
		all[i] = project{Subject: subject, settings: s}
		if is, _ := dormant(subject, s, now); is {
			entries = append(entries, all[i].entry())
		}
	}
	if found, err = src.Get(ctx, entries); err != nil {
		return nil, err
	}
	var organizations []documents.Ref
	for i := range all {
		p := &all[i]
		p.warning, p.warned = found[p.entry()]
		if judgeProject(*p, now).Kind != "" {
			organizations = append(organizations, p.organization())
		}
	}
	if found, err = src.Get(ctx, organizations); err != nil {
		return nil, err
	}
	for i := range all {
		bot := found[all[i].organization()].Data["admin_bot_user_id"]
		if _, ok := documents.IDOf(bot); ok {
			all[i].bot = bot
		}
	}
	return all, nil
}

// gatherEvents reads the audit events of warnings that were promised before.
func gatherEvents(ctx context.Context, src sweep.Source, due []*project) error {
	var events []documents.Ref
	for _, p := range due {
		if judgeProject(*p, src.Run().Now).Kind == warn {
			events = append(events, p.eventRef())
		}
	}
	found, err := src.Get(ctx, events)
	for _, p := range due {
		p.event = found[p.eventRef()]
	}
	return err
}

// warnAbout writes the audit event and hands the warning to the worker. The event remembers the promised date, and tells a
// later run of the warning: until the worker has written the entry, the project counts as not warned, so whoever does this again,
// after a crash or because the worker has not got to it yet, finds the event, and makes the same promise by the same task.
func warnAbout(p project, run sweep.Run) (c sweep.Change) {
	date, _ := p.event.Text("deletion_date")
	// A promise that the worker was never able to announce is no good once its date has come.
	if _, err := time.Parse(time.DateOnly, date); err != nil || date <= run.Promise.Format(time.DateOnly) {
		date = p.settings.promise(run.Promise)
		c.Writes = []documents.Write{{Op: documents.Set, Ref: p.eventRef(), Sent: true, Data: map[string]any{
			"name":      auditName,
			"message":   fmt.Sprintf("Project is scheduled to be deleted on %s due to inactivity.", date),
			"author_id": p.bot, "project_id": p.ID(), "deletion_date": date, "created_at": run.Now,
		}}}
	}
	task := tasks.Task{Key: []string{p.ID(), p.since(), date}, Body: map[string]string{"project_id": p.ID(), "deletion_date": date}}
	c.Then = []sweep.FollowUp{{Task: &task, Noted: &sweep.Noted{}}}
	return c
}

// since returns the last activity, by which warnings are told apart.
func (p project) since() string {
	last, _ := p.Time("last_activity_at")
	return last.UTC().Format(time.RFC3339Nano)
}

func (p project) entry() documents.Ref { return documents.Ref{Collection: warnings, ID: p.ID()} }

func (p project) organization() documents.Ref {
	id, _ := documents.IDOf(p.Data["organization_id"])
	return documents.Ref{Collection: "organizations", ID: id}
}

func (p project) eventRef() documents.Ref {
	return documents.Ref{Collection: "audit_events", ID: digest.Of(auditName, p.ID(), p.since())}
}
