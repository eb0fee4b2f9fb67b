package declared

import (
	"context"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/declared/gaps"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule"
)

// unfound tells what of a rule's with leads to nothing, and what of its unless keeps nothing, once something is due. The first
// run that tells it does nothing: what belongs to the items would be left behind, or what is to be kept deleted. A person who
// finds the names right runs the job again. None does anything where an unless of with looks in vain. Where nothing is due, it
// only repeats what the last run told.
func unfound(ctx context.Context, p *cleanup.Planner, r rule.Rule, due bool) error {
	files := func(ctx context.Context, prefix string) (names []string, err error) {
		for page, err := range p.Objects.Pages(ctx, prefix, objects.Names{}) {
			for _, o := range page {
				names = append(names, o.Name)
			}
			return names, err
		}
		return nil, nil
	}
	all, err := gaps.Unfound(ctx, p.Documents, files, r, append(r.Along(), r.Own()...))
	if err != nil {
		return err
	}
	isNew := false
	for _, text := range all {
		if !due && !slices.Contains(p.LastWarnings, text) { // what is deleted with items is perhaps all deleted
			continue
		}
		p.Warn(ctx, text)
		isNew = isNew || !slices.Contains(p.LastWarnings, text)
	}
	if isNew {
		p.Count(cleanup.Count{Collection: r.Source(), Why: strings.Join(all, "; ") +
			" Nothing is deleted this time. The next run deletes, by hand or by schedule: correct the rule before it, unless it is right"})
	}
	if !due {
		return nil
	}
	for _, u := range looksAlong(r) {
		if err := countNothing(ctx, p, u.Place(u.Of), nil, u.Fields()...); err != nil {
			return err
		}
	}
	return nil
}

// countNothing tells the safety limits of a place in which something is looked for in vain: it has no document, or none has a
// field.
func countNothing(ctx context.Context, p *cleanup.Planner, in rule.Place, collections []string, fields ...string) error {
	if !in.IsKnown() {
		return nil
	}
	field, empty, err := gaps.Nothing(ctx, p.Documents, in, collections, fields...)
	switch {
	case err != nil:
		return err
	case empty: // that most are missing is normal, unlike with owners of objects, so only this is reported
		p.Count(cleanup.Count{Collection: in.String(), Missing: 1})
	case field != "":
		p.Count(cleanup.Count{Collection: in.String(), Field: field})
	}
	return nil
}

// looksAlong returns what is looked for to decide about what is deleted with items: by the rule, and by others that are about it.
func looksAlong(r rule.Rule) []rule.Placed {
	all := r.LooksFor()[len(r.Related()):]
	for _, other := range r.Others {
		if !other.OfDocuments() { // an account or an object is kept by itself
			continue
		}
		for _, u := range other.Unless {
			all = append(all, rule.Placed{Relation: u, Of: other.Place()})
		}
	}
	return all
}

// stays tells which collections would stay.
func stays(ctx context.Context, p *cleanup.Planner, key string, of rule.Rule, due []string) error {
	said, err := gaps.Staying(ctx, p.Documents, key, of, due)
	for _, text := range said {
		p.Warn(ctx, text)
	}
	return err
}
