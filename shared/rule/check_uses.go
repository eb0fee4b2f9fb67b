package rule

import (
	"fmt"
	"strings"

	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// use is one use of a field by a rule.
type use struct {
	key, path string
	holds     string              // what the field must hold for this use
	of        *criteria.Condition // the condition of where; nil for other uses
}

// uses refuses two uses of a field that contradict each other: the rule would never find anything.
func (c *checker) uses() {
	r := c.rule
	var all []use
	for _, a := range r.Age {
		if a.Field != "" {
			all = append(all, use{key: "age.field", path: a.Field, holds: a.Form()})
		}
	}
	for i := range r.Where {
		if w := &r.Where[i]; criteria.Name.MatchString(w.Field) {
			all = append(all, use{fmt.Sprintf("where[%d].field", i), w.Field, "what where says", w})
		}
	}
	for _, related := range r.Related() {
		for _, hole := range r.FieldHoles(related.Document + related.Account) {
			if criteria.Name.MatchString(hole) {
				all = append(all, use{key: related.Key, path: hole, holds: "a document's id"})
			}
		}
	}
	for i, w := range r.With {
		if w.Objects != "" && w.Field != "" {
			all = append(all, use{key: fmt.Sprintf("with[%d].field", i), path: strings.ReplaceAll(w.Field, "[]", ""),
				holds: "an object's name"})
		}
	}
	for i, outer := range all {
		for n, inner := range all {
			mapped := outer.of != nil && (outer.of.Is == "set" || outer.of.Is == "not empty")
			c.Expect(!strings.HasPrefix(inner.path, outer.path+".") || mapped, inner.key, "%s lies within %s, which is %s, not a map",
				inner.path, outer.path, outer.holds)
			if n <= i || inner.path != outer.path || inner.holds == outer.holds {
				continue
			}
			ok := outer.of != nil && outer.of.Names(inner.holds == "an object's name")
			c.Expect(ok, inner.key, "%s is %s, and cannot be %s as well", inner.path, outer.holds, inner.holds)
		}
	}
}
