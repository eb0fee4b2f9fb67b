package rule

import (
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/rule/criteria"
	"github.com/firesweep/firesweep/shared/rule/pattern"
)

// warn checks what a document gets before it goes.
func (c *checker) warn() {
	r, w := *c.rule, c.rule.Warn
	if w == nil {
		return
	}
	r.Warn = nil
	c.Expect(w.Days > 0, "warn.days", "how many days are left after the warning? e.g. 7")
	c.Field("warn.field", w.Field)
	for _, used := range append(r.Judged()[r.Source()], sorted(r.Set)...) {
		top, _, _ := strings.Cut(used, ".")
		c.Expect(strings.TrimSuffix(top, "[]") != w.Field, "warn.field", "the rule judges or writes %s: give the mark a field of "+
			"its own, such as warnedAt", used)
	}
	c.Expect(!strings.Contains(w.Field, "."), "warn.field", "the mark is a field of its own, not one of a map")
	c.Expect(r.Remove == "", "warn", "it is for documents that are deleted or changed as a whole, not for their entries")
	c.Expect(len(r.Age) > 0, "age", "due since when? Of any age, nobody knows whether a warning is of before: give one")
	c.Expect(!slices.ContainsFunc(r.Age, func(a criteria.Age) bool { return a.By == criteria.UpdateTime }), "age",
		"the mark of warn renews updateTime, so nothing would ever be deleted: give an age of a field, or of createTime")
	c.Expect((w.Create == "") == (w.Data == nil), "warn.create", "create and data belong together: where is what to be written?")
	if w.Create == "" {
		return
	}
	pattern.CheckCollection(&c.Problems, "warn.create", w.Create, true)
	for _, hole := range []string{parentHole, criteria.DateHole} {
		c.Expect(!slices.Contains(criteria.Holes(w.Create), hole), "warn.create",
			"{%s} is no id: name what the rule's path binds, or a field", hole)
	}
	c.Expect(!r.Place().Same(Place(w.Create)), "warn.create", "it is the rule's own collection")
	for _, field := range sorted(w.Data) {
		c.Expect(field != "" && !strings.HasPrefix(field, "__"), "warn.data", "%q is not a field's name", field)
	}
	c.Expect(w.Data == nil || len(w.Holes()) > 0, "warn.data",
		`it would be the same for each document: write fields in braces, as in "to": ["{email}"]`)
	for _, hole := range w.Holes() {
		c.Expect(criteria.Name.MatchString(hole), "warn.data", "{%s} is neither {%s}, {id} nor a field", hole, criteria.DateHole)
	}
}
