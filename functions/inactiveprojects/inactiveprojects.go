// Package inactiveprojects is deleteInactiveProjects and its worker sendInactiveProjectWarning: the people of projects
// nobody works on are warned, and when the promised date has come the projects are marked for deletion. The rules are in
// rules.go.
package inactiveprojects

import (
	"context"
	"fmt"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Job is deleteInactiveProjects.
var Job = sweep.Job{Name: "deleteInactiveProjects", Plan: plan, Rules: []sweep.AnyRule{projectRule}}

func init() {
	functions.Register(Job)
	functions.Register(Worker)
}

const (
	projects  = "projects"
	warnings  = "inactive_project_deletion_warnings"
	batchSize = 100 // projects at a time
)

// projectFields are what is judged.
var projectFields = []string{
	"last_activity_at", "storage_size", "marked_for_deletion_on", "pending_delete", "organization_id", "owner_ids", "maintainer_ids",
}

// planner plans one run.
type planner struct {
	*sweep.Planner
	settings settings
	progress progress
}

func plan(ctx context.Context, p *sweep.Planner) error {
	d, found, err := p.Documents.Get(ctx, settingsRef.Path())
	if err != nil {
		return err
	}
	s, err := settingsOf(d, found)
	if err != nil {
		return fmt.Errorf("%s is invalid, so nothing is done: %w", settingsRef.Path(), err)
	}
	if !s.enabled {
		p.Log.InfoContext(ctx, settingsRef.Path()+": delete_inactive_projects is off")
		return nil
	}
	g, err := progressOf(p.Position(), s, p.Now)
	if err != nil {
		return err
	}
	pl := &planner{Planner: p, settings: s, progress: g}
	if err := pl.again(ctx); err != nil {
		return err
	}
	if g.Done {
		err = pl.graceEnded(ctx)
	} else if g.Projects == "" {
		pl.countKept(ctx)
	}
	if err != nil {
		return err
	}
	if err := pl.dormant(ctx); err != nil {
		return err
	}
	p.Continue(func(undone []documents.Ref) string { return pl.progress.next(s, p.Now, undone) })
	return nil
}

// again looks at the projects that failed last time.
func (p *planner) again(ctx context.Context) error {
	var refs []documents.Ref
	for _, id := range p.progress.Again {
		if documents.ValidID(id) {
			refs = append(refs, documents.Ref{Collection: projects, ID: id})
		}
	}
	p.progress.Again = nil
	return p.outOfTurn(ctx, refs)
}

// graceEnded looks at the projects that were warned about so long ago that their grace has ended since the last run.
func (p *planner) graceEnded(ctx context.Context) error {
	ended := documents.Query{
		Collection: warnings,
		Where: []documents.Filter{
			{Field: "warned_on", Op: ">", Value: p.progress.Warned}, {Field: "warned_on", Op: "<=", Value: p.settings.warnedBy(p.Now)}},
		OrderBy: []string{"warned_on"}, Select: documents.NameOnly, PageSize: batchSize,
	}
	for page, err := range p.Documents.Pages(ctx, ended, "") {
		if err != nil {
			return err
		}
		refs := make([]documents.Ref, len(page.Documents))
		for i, d := range page.Documents {
			refs[i] = documents.Ref{Collection: projects, ID: d.ID()}
		}
		if err := p.outOfTurn(ctx, refs); err != nil {
			return err
		}
	}
	return nil
}

// outOfTurn considers projects by their names.
func (p *planner) outOfTurn(ctx context.Context, refs []documents.Ref) error {
	if err := p.ConsiderRefs(ctx, projectRule, refs...); err != nil {
		return err
	}
	return p.Mark(p.progress.position())
}

// dormant looks at the dormant projects that this pass, or the runs after it, have not looked at yet.
func (p *planner) dormant(ctx context.Context) error {
	q := documents.Query{
		Collection: projects,
		Where:      []documents.Filter{{Field: "last_activity_at", Op: "<", Value: p.settings.dormantBefore(p.Now)}},
		OrderBy:    []string{"last_activity_at"}, Select: projectFields, PageSize: batchSize,
	}
	for page, err := range p.Documents.Pages(ctx, q, p.progress.Projects) {
		if err != nil {
			return err
		}
		p.Scanned(len(page.Documents))
		err := p.ConsiderEach(ctx, projectRule, page.Documents, func(d documents.Document) (err error) {
			if p.progress.Projects, err = q.After(d); err != nil {
				return err
			}
			return p.Mark(p.progress.position())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// countKept counts, once a pass, the projects that the query for dormant ones skips.
func (p *planner) countKept(ctx context.Context) {
	before := p.settings.dormantBefore(p.Now)
	p.CountKept(ctx, sweep.Census{
		Due:       documents.Query{Collection: projects, Where: []documents.Filter{{Field: "last_activity_at", Op: "<", Value: before}}},
		Young:     documents.Filter{Field: "last_activity_at", Op: ">=", Value: before},
		KeptYoung: keptActive, KeptUndated: keptUndated,
	})
}
