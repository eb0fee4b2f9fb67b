// Package inactiveprojects is deleteInactiveProjects and its worker sendInactiveProjectWarning: the people of projects
// nobody works on are warned, and when the promised date has come the projects are marked for deletion. The rules are in
// rules.go.
package inactiveprojects

import (
	"context"
	"fmt"
	"slices"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Job is deleteInactiveProjects.
var Job = sweep.Job{Name: "deleteInactiveProjects", Plan: plan}

func init() {
	functions.Register(Job)
	functions.Register(Worker)
}

const (
	projects     = "projects"
	warnings     = "inactive_project_deletion_warnings"
	settingsPath = "application_settings/current"
	batchSize    = 100 // projects at a time
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
	seen     map[string]bool // paths of projects that were judged out of turn
	bots     map[string]any  // by organization; nil: it has none
	failed   failed
}

func plan(ctx context.Context, p *sweep.Planner) error {
	d, found, err := p.Documents.Get(ctx, settingsPath)
	if err != nil {
		return err
	}
	s, err := settingsOf(d, found)
	if err != nil {
		return fmt.Errorf("%s is invalid, so nothing is done: %w", settingsPath, err)
	}
	if !s.enabled {
		p.Log.InfoContext(ctx, settingsPath+": delete_inactive_projects is off")
		return nil
	}
	g, err := progressOf(p.Position(), s, p.Now)
	if err != nil {
		return err
	}
	pl := &planner{Planner: p, settings: s, progress: g, seen: map[string]bool{}, bots: map[string]any{}}
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
	p.Continue(pl.next)
	return nil
}

// next returns where the next run begins after one that got to its end.
func (p *planner) next([]documents.Ref) string {
	g := p.progress
	if g.Done {
		g.Warned = p.settings.warnedBy(p.Now)
	} else {
		g.Warned = p.settings.warnedBy(g.Began) // by then all were looked at, however many runs the pass took
	}
	g.Done = true
	if g.Again = p.failed.ids(); len(g.Again) > maxAgain {
		return ""
	}
	if position := g.position(); len(position) <= maxPosition {
		return position
	}
	return ""
}

// again looks at the projects that failed last time.
func (p *planner) again(ctx context.Context) error {
	ids := p.progress.Again
	p.progress.Again = nil
	paths := make([]string, 0, len(ids))
	for _, id := range ids {
		if documents.ValidID(id) {
			paths = append(paths, projects+"/"+id)
		}
	}
	return p.outOfTurn(ctx, paths)
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
		paths := make([]string, len(page.Documents))
		for i, d := range page.Documents {
			paths[i] = projects + "/" + d.ID()
		}
		if err := p.outOfTurn(ctx, paths); err != nil {
			return err
		}
	}
	return nil
}

// outOfTurn judges projects by their names.
func (p *planner) outOfTurn(ctx context.Context, paths []string) error {
	paths = slices.DeleteFunc(paths, func(path string) bool { return p.seen[path] })
	found, err := p.Documents.GetAll(ctx, paths)
	if err != nil {
		return err
	}
	var batch []documents.Document
	for _, path := range paths {
		if d, ok := found[path]; ok {
			p.seen[path] = true
			batch = append(batch, d)
		}
	}
	return p.judge(ctx, batch, func(documents.Document) error { return p.Mark(p.progress.position()) })
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
		err := p.judge(ctx, page.Documents, func(d documents.Document) (err error) {
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

// judge proposes what is to be done about each project, and calls then after each.
func (p *planner) judge(ctx context.Context, batch []documents.Document, then func(documents.Document) error) error {
	var paths []string
	for _, project := range batch {
		if is, _, _ := dormant(project, p.settings, p.Now); is {
			paths = append(paths, entryPath(project))
		}
	}
	entries, err := p.Documents.GetAll(ctx, paths)
	if err != nil {
		return err
	}
	for _, project := range batch {
		var entry *documents.Document
		if e, found := entries[entryPath(project)]; found {
			entry = &e
		}
		if err := p.propose(ctx, project, entry); err != nil {
			return err
		}
		if err := then(project); err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) propose(ctx context.Context, project documents.Document, entry *documents.Document) error {
	verdict, reason := judge(project, entry, p.settings, p.Now)
	var bot any
	if verdict == warn || verdict == mark {
		var err error
		if bot, err = p.adminBot(ctx, project); err != nil {
			return err
		}
		if bot == nil {
			verdict, reason = doubtful, keptNoBot
		}
	}
	id, path := project.ID(), project.Path
	inWhoseName := fmt.Sprintf("; in the name of user %v", bot)
	switch verdict {
	case warn:
		return p.Propose(ctx, sweep.Action{
			Kind: "warn about project", Target: path, Reason: reason + "; to be deleted on " + p.settings.promise(p.PromiseFrom()) + inWhoseName,
			Effect: p.failed.note(id, func(ctx context.Context, w *sweep.Writers) error { return warnAbout(ctx, w, id, p.settings) }),
		})
	case mark:
		return p.Propose(ctx, sweep.Action{
			Kind: "mark project for deletion", Target: path, Reason: reason + inWhoseName,
			Effect: p.failed.note(id, func(ctx context.Context, w *sweep.Writers) error { return markForDeletion(ctx, w, id) }),
		})
	case doubtful:
		p.KeepDoubtful(ctx, path, reason, 1)
	default:
		p.Keep(reason, 1)
	}
	return nil
}

// adminBot returns the user in whose name things are done in a project's organization, nil if it has none. The commit asks
// again.
func (p *planner) adminBot(ctx context.Context, project documents.Document) (any, error) {
	org, _ := documents.IDOf(project.Data["organization_id"]) // it has been judged
	if bot, known := p.bots[org]; known {
		return bot, nil
	}
	bot, err := adminBot(func(path string) (documents.Document, bool, error) { return p.Documents.Get(ctx, path) }, project)
	if err == nil {
		p.bots[org] = bot
	}
	return bot, err
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

func entryPath(project documents.Document) string { return warnings + "/" + project.ID() }
