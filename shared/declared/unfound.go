package declared

import (
	"context"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/declared/gaps"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// unfound tells what of a rule's with leads to nothing, and what of its unless keeps nothing, once something is due. The first
// run that tells it does nothing: what belongs to the items would be left behind, or what is to be kept deleted. A person who
// finds the names right runs the job again. None does anything where an unless of with looks in vain. Where nothing is due, it
// only repeats what the last run told. more are texts that its items told.
func unfound(ctx context.Context, p *cleanup.Planner, r rule.Rule, due bool, more ...string) error {
	all, err := gaps.Unfound(ctx, p.Documents, p.Objects.Names, r, append(r.Along(), r.Keeping()...), false)
	if err != nil {
		return err
	}
	all = append(all, more...)
	isNew := false
	for _, text := range all {
		if !due && !slices.Contains(p.LastWarnings, text) { // what is deleted with items is perhaps all deleted
			continue
		}
		p.Warn(ctx, text)
		isNew = isNew || !slices.Contains(p.LastWarnings, text)
	}
	if isNew {
		p.Count(cleanup.Count{Collection: r.Source(), Unfound: all})
	}
	if !due {
		return nil
	}
	for _, u := range r.LooksAlong() {
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

// unheard names each condition of unless on a key that no account, or file, of some has: of the metadata, or of the claims.
func unheard(r rule.Rule, noun string, items []criteria.Lookup, whole bool) (said []string) {
	for _, u := range r.Unless {
		if c := u.Condition(); strings.Contains(c.Field, ".") && !c.Absence() {
			if what, right := gaps.Unheard(noun, c.Field, items, whole, false); what != "" {
				said = append(said, u.Key+": "+what+", so it keeps nothing: "+right)
			}
		}
	}
	return said
}

// stays tells which collections would stay.
func stays(ctx context.Context, p *cleanup.Planner, key string, of rule.Rule, due []string) error {
	said, err := gaps.Staying(ctx, p.Documents, key, of, due)
	for _, text := range said {
		p.Warn(ctx, text)
	}
	return err
}
