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

// projectRule warns the people of dormant projects, and marks projects whose people have been warned.
var projectRule = sweep.Rule[project]{
	Name: "project", Load: load, Judge: judge, Gather: gatherEvents,
	Reach: sweep.Reach{Items: projects, Deletes: []string{warnings}, Writes: []string{projects, "audit_events"}},
	With:  func(project documents.Ref) []documents.Ref { return []documents.Ref{settingsRef, entryOf(project)} },
	Change: func(p project, d sweep.Decision, run sweep.Run) sweep.Change {
		if d.Kind == warn {
			return warnAbout(p, run)
		}
		marked := map[string]any{"marked_for_deletion_on": run.Now, "deleting_user": p.bot}
		return sweep.Change{Writes: []documents.Write{
			{Op: documents.Update, Ref: p.Ref(), Data: marked}, {Op: documents.Delete, Ref: entryOf(p.Ref())},
		}}
	},
}

// load reads the settings, the entries of those projects that are dormant, and the organizations of those that are due.
func load(ctx context.Context, src sweep.Source, subjects []sweep.Subject) ([]project, error) {
	found, err := src.Get(ctx, []documents.Ref{settingsRef})
	if err != nil {
		return nil, err
	}
	s, _ := settingsOf(found[settingsRef]) // the next run says what is wrong with them
	all := make([]project, len(subjects))
	for i, subject := range subjects {
		all[i] = project{Subject: subject, settings: s}
	}
	if found, err = getOfDue(ctx, src, all, func(p sweep.Subject) documents.Ref { return entryOf(p.Ref()) }); err != nil {
		return nil, err
	}
	for i, p := range all {
		all[i].warning, all[i].warned = found[entryOf(p.Ref())]
	}
	found, err = getOfDue(ctx, src, all, organizationOf)
	for i, p := range all {
		all[i].bot = found[organizationOf(p.Subject)].Data["admin_bot_user_id"]
	}
	return all, err
}

// getOfDue reads a document for each project that lacks nothing but the bot, by what has been read until now.
func getOfDue(ctx context.Context, src sweep.Source, all []project, refOf func(sweep.Subject) documents.Ref) (map[documents.Ref]documents.Document, error) {
	var refs []documents.Ref
	for _, p := range all {
		if judge(p, src.Run()).Reason == keptNoBot {
			refs = append(refs, refOf(p.Subject))
		}
	}
	return src.Get(ctx, refs)
}

// gatherEvents reads the audit events of warnings that were promised before.
func gatherEvents(ctx context.Context, src sweep.Source, due []*project) error {
	var events []documents.Ref
	for _, p := range due {
		if judge(*p, src.Run()).Kind == warn {
			events = append(events, eventOf(p.Subject))
		}
	}
	found, err := src.Get(ctx, events)
	for _, p := range due {
		p.event = found[eventOf(p.Subject)]
	}
	return err
}

// auditName is the audit event's name.
const auditName = "inactive_project_scheduled_for_deletion"

// warnAbout writes the audit event and hands the warning to the worker. The event remembers the promised date, and tells a
// later run of the warning: until the worker has written the entry, the project counts as not warned, so whoever does this again,
// after a crash or because the worker has not got to it yet, finds the event, and makes the same promise by the same task.
func warnAbout(p project, run sweep.Run) (c sweep.Change) {
	date, _ := p.event.Text("deletion_date")
	// A promise that the worker was never able to announce is no good once its date has come.
	if _, err := time.Parse(time.DateOnly, date); err != nil || date <= run.Promise.Format(time.DateOnly) {
		date = p.settings.promise(run.Promise)
		c.Writes = []documents.Write{{Op: documents.Set, Ref: eventOf(p.Subject), Sent: true, Data: map[string]any{
			"name":      auditName,
			"message":   fmt.Sprintf("Project is scheduled to be deleted on %s due to inactivity.", date),
			"author_id": p.bot, "project_id": p.ID(), "deletion_date": date, "created_at": run.Now,
		}}}
	}
	task := tasks.Task{Key: []string{p.ID(), since(p.Subject), date}, Body: map[string]string{"project_id": p.ID(), "deletion_date": date}}
	c.Then = []sweep.FollowUp{{Task: &task, Recorded: &sweep.Recorded{}}}
	return c
}

// since returns a project's last activity, by which its warnings are told apart.
func since(project sweep.Subject) string {
	last, _ := project.Time("last_activity_at")
	return last.UTC().Format(time.RFC3339Nano)
}

func entryOf(project documents.Ref) documents.Ref {
	return documents.Ref{Collection: warnings, ID: project.ID}
}

func organizationOf(project sweep.Subject) documents.Ref {
	id, _ := documents.IDOf(project.Data["organization_id"])
	return documents.Ref{Collection: "organizations", ID: id}
}

func eventOf(project sweep.Subject) documents.Ref {
	return documents.Ref{Collection: "audit_events", ID: digest.Of(auditName, project.ID(), since(project))}
}
