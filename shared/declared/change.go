package declared

import (
	"maps"

	"github.com/firesweep/firesweep/shared/cascade"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/rule"
)

// sweepRule returns the engine's rule: how documents are loaded, judged and changed.
func (c cleanup) sweepRule() engine.AnyRule {
	r := engine.Rule[item]{Name: "document", Reach: engine.Reach{Items: c.Items()}, Load: c.load, Judge: c.judge}
	switch {
	case !c.Deletes():
		r.Reach.Writes = []string{c.Items()}
		r.Change = func(i item, _ engine.Decision, run engine.Run) engine.Change {
			return engine.Update(i.Ref(), c.fieldsToSet(i.Document, run))
		}
	case !c.Plain():
		return cascade.Rule(r, cascade.With{Rule: c.Rule})
	}
	return r
}

// fieldsToSet returns the document's fields that are written, each as a whole.
func (c cleanup) fieldsToSet(d documents.Document, run engine.Run) map[string]any {
	data, fields := maps.Clone(d.Data), map[string]any{}
	if data == nil {
		data = map[string]any{}
	}
	for path, value := range c.Set {
		switch value {
		case rule.Now:
			value = run.Now
		case rule.Delete:
			value = documents.DeleteField
		}
		field, whole := cascade.Changed(data, path, value)
		data[field], fields[field] = whole, whole
	}
	return fields
}
