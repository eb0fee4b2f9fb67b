package inactiveprojects

import (
	"context"
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/tasks"
)

// projectRule warns the people of dormant projects, and marks projects whose people have been warned.
var projectRule = cleanup.Rule[project]{
	Name: "project", Load: load, Judge: judge, Gather: gatherEvents,
	Reach: cleanup.Reach{Items: projects, Deletes: []string{warnings}, Writes: []string{projects, "audit_events"}},
	Change: func(p project, d cleanup.Decision, run cleanup.Run) cleanup.Change {
		if d.Kind == warn {
			return warnAbout(p, run)
		}
		marked := map[string]any{"marked_for_deletion_on": run.Now, "deleting_user": p.bot}
		return cleanup.Change{Writes: []documents.Write{
			{Op: documents.Update, Ref: p.Ref(), Data: marked}, {Op: documents.Delete, Ref: entryOf(p.Ref())},
		}}
	},
}

// load reads the settings, the entries of those projects that are dormant, and of those that are due the organization and one
// of the people who are to be told; the others only if that one does not exist.
func load(ctx context.Context, src cleanup.Source, subjects []cleanup.Subject) ([]project, error) {
	found, err := src.Get(ctx, []documents.Ref{settingsRef})
	if err != nil {
		return nil, err
	}
	s, _ := settingsOf(found[settingsRef]) // the next run says what is wrong with them
	all := make([]project, len(subjects))
	for i, subject := range subjects {
		all[i] = project{Subject: subject, settings: s}
	}
	found, err = getOf(ctx, src, all, keptNoBot, func(p cleanup.Subject) []documents.Ref {
		return []documents.Ref{entryOf(p.Ref())}
	})
	if err != nil {
		return nil, err
	}
	for i, p := range all {
		all[i].warning, all[i].warned = found[entryOf(p.Ref())]
	}
	found, err = getOf(ctx, src, all, keptNoBot, func(p cleanup.Subject) []documents.Ref {
		people := peopleOf(p.Document)
		return append(people[:min(1, len(people))], organizationOf(p))
	})
	if err != nil {
		return nil, err
	}
	for i, p := range all {
		people := peopleOf(p.Document)
		all[i].bot = found[organizationOf(p.Subject)].Data["admin_bot_user_id"]
		all[i].told = len(people) == 0 || len(existing(people[:1], found)) > 0
	}
	found, err = getOf(ctx, src, all, keptNobody, func(p cleanup.Subject) []documents.Ref { return peopleOf(p.Document) })
	for i, p := range all {
		all[i].told = p.told || len(existing(peopleOf(p.Document), found)) > 0
	}
	return all, err
}

// getOf reads documents for each project that is kept for one reason, by what has been read until now.
func getOf(
	ctx context.Context, src cleanup.Source, all []project, kept string, refsOf func(cleanup.Subject) []documents.Ref,
) (map[documents.Ref]documents.Document, error) {
	var refs []documents.Ref
	for _, p := range all {
		if judge(p, src.Run()).Reason == kept {
			refs = append(refs, refsOf(p.Subject)...)
		}
	}
	return src.Get(ctx, refs)
}

// peopleOf returns where the users are who are to be told about a project.
func peopleOf(project documents.Document) []documents.Ref {
	ids, _ := recipients(project)
	refs := make([]documents.Ref, len(ids))
	for i, id := range ids {
		refs[i] = documents.Ref{Collection: users, ID: id}
	}
	return refs
}

// existing returns the ids of those people who were found.
func existing(people []documents.Ref, found map[documents.Ref]documents.Document) (ids []string) {
	for _, ref := range people {
		if _, there := found[ref]; there {
			ids = append(ids, ref.ID)
		}
	}
	return ids
}

// gatherEvents reads the audit events of warnings that were promised before.
func gatherEvents(ctx context.Context, src cleanup.Source, due []*project) error {
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
func warnAbout(p project, run cleanup.Run) (c cleanup.Change) {
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
	task := tasks.Task{
		Key:  []string{p.ID(), since(p.Subject), date},
		Body: map[string]string{"project_id": p.ID(), "deletion_date": date},
	}
	c.Then = []cleanup.FollowUp{{Task: &task, Recorded: &cleanup.Recorded{}}}
	return c
}

// since returns a project's last activity, by which its warnings are told apart.
func since(project cleanup.Subject) string {
	last, _ := project.Time("last_activity_at")
	return last.UTC().Format(time.RFC3339Nano)
}

func entryOf(project documents.Ref) documents.Ref {
	return documents.Ref{Collection: warnings, ID: project.ID}
}

func organizationOf(project cleanup.Subject) documents.Ref {
	id, _ := project.IDIn("organizations", project.Data["organization_id"])
	return documents.Ref{Collection: "organizations", ID: id}
}

func eventOf(project cleanup.Subject) documents.Ref {
	return documents.Ref{Collection: "audit_events", ID: digest.Of(auditName, project.ID(), since(project))}
}
