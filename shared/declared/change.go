package declared

import (
	"maps"
	"strings"

	"github.com/firesweep/firesweep/shared/cascade"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
)

// sweepRule returns the engine's rule: how documents are loaded, judged and changed.
func (c documentsOf) sweepRule() cleanup.AnyRule { return c.ruleOf("document", c.judge) }

// ruleOf is sweepRule with another name and judgment.
func (c documentsOf) ruleOf(name string, judge func(item, cleanup.Run) cleanup.Decision) cleanup.AnyRule {
	r := cleanup.Rule[item]{Name: name, Reach: cleanup.Reach{Items: c.Place().Pattern()}, Load: c.load, Judge: judge}
	if c.Warn != nil || !c.Deletes() {
		r.Reach.Writes, r.Change = []string{c.Place().Pattern()}, c.change
	}
	if c.Warn != nil && c.Warn.Create != "" {
		r.Reach.Writes = append(r.Reach.Writes, rule.Place(c.Warn.Create).Pattern())
	}
	if c.Deletes() && !c.Plain() {
		return cascade.Rule(r, cascade.With{Rule: c.Rule, ByAccount: c.byAccount})
	}
	return r
}

// change returns what is written for a document that is not deleted: its fields, the mark of its warning and what that creates.
func (c documentsOf) change(i item, d cleanup.Decision, run cleanup.Run) (change cleanup.Change) {
	switch {
	case d.Kind == c.toClear():
		return cleanup.Update(i.Ref(), map[string]any{c.Warn.Field: documents.DeleteField})
	case d.Kind == c.toWarn():
		change = cleanup.Update(i.Ref(), map[string]any{c.Warn.Field: run.Promise})
		if ref, data, _ := Message(c.Rule, i.Document, run.Promise); data != nil {
			change.Writes = append(change.Writes, documents.Write{Op: documents.Set, Ref: ref, Data: data, Sent: true})
		}
	case !c.Deletes():
		return cleanup.Update(i.Ref(), c.fieldsToSet(i.Document, run))
	}
	return change
}

// fieldsToSet returns the document's fields that are written, each as a whole.
func (c documentsOf) fieldsToSet(d documents.Document, run cleanup.Run) map[string]any {
	data, fields := map[string]any{}, map[string]any{}
	maps.Copy(data, d.Data)
	if c.Remove != "" {
		item, _ := c.ItemOf(d)
		left, _ := judgeEntries(c.Rule, item, run.Now)
		field, whole := cascade.Changed(data, strings.TrimSuffix(strings.TrimSuffix(c.Remove, "[]"), ".*"), left)
		fields[field] = whole
	}
	if c.Warn != nil {
		fields[c.Warn.Field] = documents.DeleteField
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
