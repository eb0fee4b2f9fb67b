package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// The safety limits judge each pass of a plan by itself. They stop what is more likely a mistake than a cleanup: a wrong or empty
// database must never empty a bucket. A run with force lifts those on numbers and shares.

// limit is a safety limit on the actions of a pass, or on what it looked at or counted of a collection.
type limit struct {
	name  string
	force bool // lifts it
	// trips reports whether it trips, and what it allows.
	trips func(ctx context.Context, p *Planner, c *cleanup.Count) (trips bool, most int, err error)
}

var limits = []limit{
	{report.MaxActions, true, func(_ context.Context, p *Planner, c *cleanup.Count) (bool, int, error) {
		return c == &p.section.actions && p.tooMany(), p.Config.MaxActions, nil
	}},
	{report.EmptyCollection, false, func(ctx context.Context, p *Planner, c *cleanup.Count) (bool, int, error) {
		if c.Field != "" || c.Missing == 0 || c.Exists > 0 { // however few are missing
			return c.Field != "", 0, nil
		}
		empty, err := p.Documents.Empty(ctx, c.Collection)
		if err != nil {
			err = fmt.Errorf("look whether a collection is empty: %w", err)
		}
		return empty, 0, err
	}},
	{report.NeverFound, false, func(_ context.Context, _ *Planner, c *cleanup.Count) (bool, int, error) {
		return c.Why != "" || len(c.Unfound) > 0, 0, nil
	}},
	{report.MaxDuePercent, true, func(_ context.Context, p *Planner, c *cleanup.Count) (bool, int, error) {
		most := cmp.Or(c.Percent, p.Config.MaxDuePercent)
		return c.Looked >= config.EnoughForShare && c.Due*100 > most*c.Looked, most, nil
	}},
}

// trips returns which limits the section that is being planned trips by what it counted.
func (p *Planner) trips(ctx context.Context) (tripped []*cleanup.LimitError, err error) {
	s := p.section
	counts := append([]*cleanup.Count{&s.actions}, s.counts...)
	for _, c := range counts {
		if c.Unknown != nil && !p.Report.Force {
			return nil, c.Unknown
		}
	}
	for _, l := range limits {
		if l.force && p.Report.Force {
			continue
		}
		for _, c := range counts {
			trips, most, err := l.trips(ctx, p, c)
			if err != nil {
				return nil, err
			}
			if !trips {
				continue
			}
			e := &cleanup.LimitError{Pass: s.Name, Limit: l.name, Most: most, Collection: c.Collection, Field: c.Field}
			if l.name == report.NeverFound {
				e.Why, e.Unfound = c.Why, c.Unfound
			}
			if l.force {
				e.Due, e.Looked = c.Due, c.Looked
				if 2*c.InFolder > c.Due {
					e.Folder, e.InFolder = c.Folder, c.InFolder
				}
			}
			if l.force && c.Percent != 0 {
				e.Limit = report.RulesPercent
			}
			said := func(t *cleanup.LimitError) bool {
				return t.Limit == e.Limit && t.Field == e.Field && shape(t.Collection) == shape(e.Collection)
			}
			if l.name != report.EmptyCollection || !slices.ContainsFunc(tripped, said) {
				tripped = append(tripped, e)
			}
		}
	}
	return tripped, nil
}

// shape returns a collection without the documents above it.
func shape(collection string) string {
	parts := strings.Split(collection, "/")
	for i := 1; i < len(parts); i += 2 {
		parts[i] = ""
	}
	return strings.Join(parts, "/")
}

// tooMany reports whether the section that is being planned has more actions than it may have.
func (p *Planner) tooMany() bool {
	return !p.Report.Force && p.section.actions.Due > p.Config.MaxActions
}
