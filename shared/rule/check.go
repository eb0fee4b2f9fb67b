package rule

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule/criteria"
	"github.com/firesweep/firesweep/shared/rule/pattern"
)

// Problems returns what is wrong with the rule. Each problem names the key and says what would be right.
func (r *Rule) Problems() []criteria.Problem {
	c := checker{rule: r, kind: criteria.OfDocuments, Problems: criteria.Problems{Prefix: r.Remove}}
	switch {
	case r.Objects != "":
		c.kind = criteria.OfObjects
	case r.Accounts != "":
		c.kind = criteria.OfAccounts
	}
	if criteria.Count(r.Collection != "", r.CollectionGroup != "", r.Objects != "", r.Accounts != "") != 1 {
		c.Add("", "what does it look at? Give exactly one of collection, collectionGroup, objects and accounts; "+
			"the Realtime Database is out of reach: it needs a function of your own")
		return c.All
	}
	r.Gone, r.Unless, r.With = each(GoneRole, r.Gone), each(UnlessRole, r.Unless), each(WithRole, r.With)
	c.source()
	c.ages()
	c.where()
	c.related(GoneRole, r.Gone)
	c.related(UnlessRole, r.Unless)
	switch c.kind {
	case criteria.OfDocuments:
		c.related(WithRole, r.With)
		c.set()
		c.remove()
		c.warn()
	case criteria.OfAccounts:
		c.withAccounts()
	case criteria.OfObjects:
		c.ofObjects()
	}
	c.onlyForSome()
	if len(c.All) == 0 {
		c.alternatives()
	}
	return c.All
}

type checker struct {
	criteria.Problems
	rule *Rule
	kind string // of items
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// onlyForSome refuses what a rule about items of its kind cannot have.
func (c *checker) onlyForSome() {
	r, instead := c.rule, "leave it out"
	c.Expect(r.Gone == nil || len(r.Gone) > 0 || c.kind == criteria.OfObjects, "gone",
		`"nobody" is for objects that are deleted by age alone: leave it out`)
	c.Expect(r.Limit == 0 || c.kind != criteria.OfObjects, "limit",
		"it is for documents and accounts, not for objects: leave it out")
	if c.kind == criteria.OfAccounts {
		instead = `write a rule about documents of these accounts, with "with": [{"account": "{id}"}]`
	}
	given := map[string]bool{"with": r.With != nil && c.kind == criteria.OfObjects, "set": r.Set != nil, "remove": r.Remove != "",
		"warn": r.Warn != nil}
	for _, key := range sorted(given) {
		c.Expect(!given[key] || c.kind == criteria.OfDocuments, key, "it is for documents, not for %s: %s", c.kind, instead)
	}
}

// source checks what the rule goes through.
func (c *checker) source() {
	switch r := c.rule; c.kind {
	case criteria.OfObjects:
		pattern.Check(&c.Problems, "objects", r.Objects)
		pattern.CheckHoles(&c.Problems, "objects", r.Objects)
	case criteria.OfAccounts:
		c.Expect(slices.Contains(AccountKinds(), r.Accounts), "accounts", "%q is not one of: %s", r.Accounts,
			strings.Join(AccountKinds(), ", "))
	default:
		pattern.CheckCollection(&c.Problems, "collection", r.Collection, true)
		pattern.CheckName(&c.Problems, "collectionGroup", r.CollectionGroup, "write a rule for each name")
	}
}

func (c *checker) ages() {
	r := c.rule
	if r.Age == nil || len(r.Age) == 0 && c.kind != criteria.OfDocuments {
		c.Add("age", "it is missing: write %s", criteria.AgeExamples[c.kind])
		r.Age = Ages{}
	}
	for n := range r.Age {
		c.Age(r.Age.Key(n), &r.Age[n], c.kind)
	}
	c.Expect(len(r.Age) < 2 || c.kind == criteria.OfDocuments, "age", "a list is for documents: give one age")
}

// where checks the conditions on items.
func (c *checker) where() {
	seen := map[string]bool{}
	for i, w := range c.rule.Where {
		at := fmt.Sprintf("where[%d]", i)
		c.Condition(at, w, c.kind, c.bound())
		dated := func(a criteria.Age) bool { return a.Field == w.Field && !a.Optional && w.Is != "set" }
		c.Expect(w.Field == "" || !slices.ContainsFunc(c.rule.Age, dated), at+".field",
			"%s has two conditions: the age is one, which keeps what has no time in it", w.Field)
		c.Expect(w.Field == "" || !seen[w.Field], at+".field", "%s has two conditions: give its operators together", w.Field)
		seen[w.Field] = true
	}
}

// bound returns the holes that the rule's path binds, and the id.
func (c *checker) bound() []string {
	return append(criteria.Holes(c.rule.Collection+c.rule.Objects), idHole)
}

// alternatives checks how many combinations of alternatives each query has, and how many filters and orders these have together.
func (c *checker) alternatives() {
	for i, q := range c.rule.Queries() {
		key := "where"
		if i > 0 {
			key += " of " + q.Collection
		}
		combinations := combinations(q.Where)
		terms := combinations * (len(q.Where) + len(q.OrderBy) + 1) // the last order is that of names
		if combinations > criteria.MaxAlternatives || terms > criteria.MaxTerms {
			c.Add(key, "%d combinations of values and %d filters and orders of all of them; Firestore allows %d and %d: give fewer values",
				combinations, terms, criteria.MaxAlternatives, criteria.MaxTerms)
			return
		}
	}
}

// ofObjects checks what only a rule about objects has.
func (c *checker) ofObjects() {
	r := c.rule
	byMetadata := func(g Relation) bool { return strings.Contains(g.Document, "{metadata.") }
	switch {
	case r.Gone == nil:
		c.Add("gone", "without it every old object would be deleted: write what it belongs to, such as "+
			`[{"document": "users/{uid}"}], or "nobody"`)
	case r.ByReference():
		c.byReference()
	default:
		for _, g := range r.Gone {
			c.Expect(g.Field == "", g.Key, "a rule about files asks for documents at a path, or for fields that refer to files, not "+
				"for both: write the fields, because two rules would delete what only one of them keeps")
		}
		c.Expect(len(r.Gone) == 1 || !slices.ContainsFunc(r.Gone, byMetadata), "gone",
			"of several documents, each must be named by what the pattern binds, such as {uid}, not by metadata")
	}
	c.Expect(len(r.Related()) == len(r.Gone), "unless", "for objects, unless has conditions only, such as "+
		`{"field": "name", "endsWith": ".keep"}; relations belong into gone`)
}

// byReference checks a rule about objects that no document refers to.
func (c *checker) byReference() {
	for _, g := range c.rule.Gone {
		c.Expect(g.Document == "", g.Key, "give one document, or a collection and field for each place that may refer to the object, "+
			"but not both")
		c.objectField(g.Key, g.Field)
		c.Expect(g.Where == nil, g.Key+".where", "an object is in use whatever else the document says: leave it out")
	}
	c.Expect(pattern.Folder(c.rule.Objects) != "", "objects", "in the whole bucket, who knows what refers to what? Begin with a "+
		"folder, such as products/**")
	for _, a := range c.rule.Age {
		now := time.Unix(0, 0)
		c.Expect(now.Sub(a.Cutoff(now)) >= time.Hour, "age", "an object is uploaded before a document refers to it: give at least an "+
			"hour")
	}
}

// remove checks which entries are removed.
func (c *checker) remove() {
	r := c.rule
	if r.Remove == "" {
		return
	}
	base, isList := strings.CutSuffix(r.Remove, "[]")
	base, isMap := strings.CutSuffix(base, ".*")
	named := isList != isMap && criteria.Name.MatchString(base)
	c.Expect(named, "remove", `%q is neither a list nor a map: write "tokens[]" or "tokens.*"`, r.Remove)
	c.Expect(r.Set == nil, "remove", "it stands alone: set is another rule")
	entries := slices.ContainsFunc(r.Age, func(a criteria.Age) bool { return r.OfEntries(a.Field) })
	for i, w := range r.Where {
		entries = entries || r.OfEntries(w.Field)
		c.Expect(!w.Absence() || !r.OfEntries(w.Field), fmt.Sprintf("where[%d]", i),
			"nobody could tell an entry without %s from a misspelt field: say what it has", w.Field)
	}
	c.Expect(entries || !named, "remove", `which entries? e.g. "age": {"field":%q,"days":90}`, r.Remove+".usedAt")
	c.Expect(!slices.ContainsFunc(r.Age, func(a criteria.Age) bool { return a.Optional && r.OfEntries(a.Field) }), "age.optional",
		"nobody could tell an entry without a time from a misspelt field: leave it out")
	c.Expect(!slices.ContainsFunc(r.Exceptions(), func(e criteria.Condition) bool { return r.OfEntries(e.Field) }), "unless",
		"a condition on entries belongs into where, which must hold")
}

func (c *checker) set() {
	r := c.rule
	if r.Set == nil {
		return
	}
	if len(r.Set) == 0 {
		c.Add("set", `give at least one field, e.g. {"deleted": true}`)
		return
	}
	for _, field := range sorted(r.Set) {
		c.Field("set", field)
		for _, hole := range criteria.Holes(r.Set[field]) {
			value := r.Set[field]
			c.Expect(value == Now || value == Delete || !holeField.MatchString(hole), "set",
				`%s: {%s} would be written as it is: a field as a whole may be "{now}" or "{delete}", as in {"a.b": "{now}"}`, field, hole)
		}
		for _, other := range sorted(r.Set) {
			c.Expect(!strings.HasPrefix(other, field+"."), "set", "%s lies within %s, which is set as a whole", other, field)
		}
	}
	field, is := sorted(r.Set)[0], "not true"
	if r.Set[field] == Delete {
		is = "set"
	}
	c.Expect(slices.ContainsFunc(r.Where, r.ends), "set",
		`every run would find the same documents again: add {"field":%q,"is":%q} to where`, field, is)
}

// ends reports whether a condition no longer holds after set.
func (r Rule) ends(w criteria.Condition) bool {
	value, set := r.Set[w.Field]
	if !set || w.Field == "" {
		return false
	}
	if value == Now {
		value = documents.Earliest
	}
	there := value != Delete
	if !there {
		value = nil
	}
	return w.Holds(func(string) (any, bool) { return value, there }) != criteria.Met
}
