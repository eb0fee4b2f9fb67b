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
	g, err := progressOf(p.Checkpoint(), s, p.Now)
	if err != nil {
		return err
	}
	if err := g.outOfTurn(ctx, p, s); err != nil {
		return err
	}
	if err := g.dormant(ctx, p, s); err != nil {
		return err
	}
	p.Continue(func(undone []documents.Ref) string { return g.next(s, p.Now, undone) })
	return nil
}

// outOfTurn looks at the projects that failed last time and, between passes, at those that were warned about so long ago that
// their grace has ended since the last run.
func (g *progress) outOfTurn(ctx context.Context, p *sweep.Planner, s settings) error {
	consider := func(ids []string) error {
		var refs []documents.Ref
		for _, id := range ids {
			if documents.ValidID(id) {
				refs = append(refs, documents.Ref{Collection: projects, ID: id})
			}
		}
		if err := p.ConsiderRefs(ctx, projectRule, refs...); err != nil {
			return err
		}
		return p.SaveCheckpoint(g.checkpoint())
	}
	again := g.Again
	g.Again = nil
	if err := consider(again); err != nil || !g.Done {
		return err
	}
	ended := documents.Query{
		Collection: warnings,
		Where:      []documents.Filter{{Field: "warned_on", Op: ">", Value: g.Warned}, {Field: "warned_on", Op: "<=", Value: s.warnedBy(p.Now)}},
		OrderBy:    []string{"warned_on"}, Select: documents.NameOnly, PageSize: batchSize,
	}
	for page, err := range p.Documents.Pages(ctx, ended, "") {
		if err != nil {
			return err
		}
		ids := make([]string, len(page.Documents))
		for i, d := range page.Documents {
			ids[i] = d.ID()
		}
		if err := consider(ids); err != nil {
			return err
		}
	}
	return nil
}

// dormant looks at the dormant projects that this pass, or the runs after it, have not looked at yet. Once a pass it counts
// those that its query skips.
func (g *progress) dormant(ctx context.Context, p *sweep.Planner, s settings) error {
	before := s.dormantBefore(p.Now)
	q := documents.Query{
		Collection: projects,
		Where:      []documents.Filter{{Field: "last_activity_at", Op: "<", Value: before}},
		OrderBy:    []string{"last_activity_at"}, Select: projectFields, PageSize: batchSize,
	}
	if !g.Done && g.Projects == "" {
		p.CountKept(ctx, sweep.KeptCount{
			Due: q, Young: documents.Filter{Field: "last_activity_at", Op: ">=", Value: before}, KeptYoung: keptActive, KeptUndated: keptUndated,
		})
	}
	for page, err := range p.Documents.Pages(ctx, q, g.Projects) {
		if err != nil {
			return err
		}
		p.Scanned(len(page.Documents))
		err := p.ConsiderEach(ctx, projectRule, page.Documents, func(d documents.Document) (err error) {
			if g.Projects, err = q.After(d); err != nil {
				return err
			}
			return p.SaveCheckpoint(g.checkpoint())
		})
		if err != nil {
			return err
		}
	}
	return nil
}
