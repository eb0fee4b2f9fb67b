package declared

import (
	"github.com/firesweep/firesweep/shared/cascade"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/rule"
)

// sweepRule returns the engine's rule: how documents are loaded, judged and changed.
func (c documentsOf) sweepRule() cleanup.AnyRule {
	items := c.Collection
	if c.CollectionGroup != "" {
		items = "**/" + c.CollectionGroup
	}
	r := cleanup.Rule[item]{Name: "document", Reach: cleanup.Reach{Items: items}, Load: c.load, Judge: c.judge}
	switch {
	case !c.Deletes():
		r.Reach.Writes = []string{items}
		r.Change = func(i item, _ cleanup.Decision, run cleanup.Run) cleanup.Change {
			return cleanup.Update(i.Ref(), c.fieldsToSet(run))
		}
	case !c.Plain():
		return cascade.Rule(r, cascade.With{Collection: c.Collection, What: c.With, Archive: c.Archive})
	}
	return r
}

func (c documentsOf) fieldsToSet(run cleanup.Run) map[string]any {
	fields := make(map[string]any, len(c.Set))
	for field, value := range c.Set {
		if fields[field] = value; value == rule.Now {
			fields[field] = run.Now
		}
	}
	return fields
}
