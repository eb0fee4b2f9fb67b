// Package inactiveprojects is deleteInactiveProjects and its worker sendInactiveProjectWarning: the people of projects
// nobody works on are warned, and when the promised date has come the projects are marked for deletion. The rules are in
// rules.go.
package inactiveprojects

import (
	"context"
	"fmt"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

// Job is deleteInactiveProjects.
var Job = cleanup.Job{Name: "deleteInactiveProjects", Plan: plan, Rules: []cleanup.AnyRule{projectRule}}

func init() {
	functions.Register(Job)
	functions.Register(Worker)
}

const (
	projects  = "projects"
	users     = "users"
	warnings  = "inactive_project_deletion_warnings"
	batchSize = 100            // projects at a time
	passEvery = 24 * time.Hour // a project that has become due in another way than by time is found so much later
)

// projectFields are the fields that are judged.
var projectFields = []string{
	"last_activity_at", "storage_size", "marked_for_deletion_on", "pending_delete", "organization_id", "owner_ids", "maintainer_ids",
}

// plan looks at the dormant projects that this pass, or the runs after it, have not looked at yet. Once a pass it counts those
// that its query skips.
func plan(ctx context.Context, p *cleanup.Planner) error {
	d, _, err := p.Documents.Get(ctx, settingsRef.Path())
	if err != nil {
		return err
	}
	s, err := settingsOf(d)
	if err != nil {
		return fmt.Errorf("%s is invalid, so nothing is done: %w", settingsRef.Path(), err)
	}
	if s == (settings{}) {
		p.Log.InfoContext(ctx, settingsRef.Path()+": delete_inactive_projects is off")
		return nil
	}
	pass, err := passOf(p.Checkpoint, fmt.Sprint(s), p.Now)
	if err != nil {
		return err
	}
	before := s.dormantBefore(p.Now)
	q := documents.Query{
		Collection: projects,
		Where:      []documents.Filter{{Field: "last_activity_at", Op: "<", Value: before}},
		OrderBy:    []string{"last_activity_at"}, Select: projectFields, PageSize: batchSize,
	}
	if pass.fresh() {
		p.CountNotDue(ctx, cleanup.NotDue{All: documents.Query{Collection: projects}, Due: q})
	}
	if !pass.Seen.IsZero() {
		if err := graceOver(ctx, p, s.warnedBy(pass.Seen), s.warnedBy(p.Now)); err != nil {
			return err
		}
	}
	return pass.sweep(ctx, p, projectRule, q)
}

// graceOver looks at the projects that were warned about after an instant and by another: their grace has ended between passes.
func graceOver(ctx context.Context, p *cleanup.Planner, after, by time.Time) error {
	q := documents.Query{
		Collection: warnings,
		Where:      []documents.Filter{{Field: "warned_on", Op: ">", Value: after}, {Field: "warned_on", Op: "<=", Value: by}},
		OrderBy:    []string{"warned_on"}, Select: documents.NameOnly, PageSize: batchSize,
	}
	for page, err := range p.Documents.Pages(ctx, q, "") {
		if err != nil {
			return err
		}
		refs := make([]documents.Ref, len(page.Documents))
		for i, entry := range page.Documents {
			refs[i] = documents.Ref{Collection: projects, ID: entry.ID()}
		}
		if err := p.ConsiderRefs(ctx, projectRule, refs...); err != nil {
			return err
		}
		if err := p.SaveCheckpoint(p.Checkpoint); err != nil {
			return err // the next run asks for the same, and finds those that are left
		}
	}
	return nil
}
