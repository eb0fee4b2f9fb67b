package rule

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule/criteria"
	"github.com/firesweep/firesweep/shared/rule/pattern"
)

var (
	holeField     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*(\[\]|\.\*)?$`)
	objectPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\[\])?(\.[A-Za-z_][A-Za-z0-9_]*(\[\])?)*$`)
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
	r.Gone, r.Unless, r.With = each(goneRole, r.Gone), each(unlessRole, r.Unless), each(withRole, r.With)
	c.source()
	c.ages()
	c.where("where", r.Where, c.kind)
	c.related(goneRole, r.Gone)
	c.related(unlessRole, r.Unless)
	switch c.kind {
	case criteria.OfAccounts:
		c.withAccounts()
	case criteria.OfDocuments:
		c.related(withRole, r.With)
		c.set()
		c.remove()
		c.warn()
	}
	ofDocuments := map[string]bool{"with": r.With != nil && c.kind != criteria.OfAccounts, "set": r.Set != nil,
		"remove": r.Remove != "",
		"warn":   r.Warn != nil}
	for _, key := range sorted(ofDocuments) {
		c.Expect(!ofDocuments[key] || c.kind == criteria.OfDocuments, key, "it is for documents, not for %s", c.kind)
	}
	c.gone()
	// The age says this.
	r.Where = slices.DeleteFunc(r.Where, func(w criteria.Condition) bool {
		return w.Is == "set" && slices.ContainsFunc(r.Age,
			w.Dates)
	})
	if len(c.All) == 0 && c.kind == criteria.OfDocuments {
		c.uses()
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

// source checks what the rule goes through.
func (c *checker) source() {
	r := c.rule
	if r.Objects != "" {
		pattern.Check(&c.Problems, "objects", r.Objects)
		pattern.CheckHoles(&c.Problems, "objects", r.Objects)
		return
	}
	if r.Accounts != "" {
		c.Expect(slices.Contains(AccountKinds(), r.Accounts), "accounts", "%q is not one of: %s", r.Accounts,
			strings.Join(AccountKinds(), ", "))
		return
	}
	c.collection("collection", r.Collection, true)
	c.name("collectionGroup", r.CollectionGroup)
}

func (c *checker) ages() {
	if c.rule.Age == nil {
		c.Add("age", "it is missing: write %s", criteria.AgeExamples[c.kind])
		c.rule.Age = Ages{}
		return
	}
	for n := range c.rule.Age {
		key := "age"
		if len(c.rule.Age) > 1 {
			key = fmt.Sprintf("age[%d]", n)
		}
		c.Age(key, &c.rule.Age[n], c.kind)
	}
	c.Expect(len(c.rule.Age) > 0 || c.kind == criteria.OfDocuments, "age", "it is missing: write %s", criteria.AgeExamples[c.kind])
	c.Expect(len(c.rule.Age) < 2 || c.kind == criteria.OfDocuments, "age", "a list is for documents")
}

// plainID reports whether a text can name a collection or a document, and has no hole.
func plainID(id string) bool { return documents.ValidID(id) && !strings.ContainsAny(id, "{}") }

// collection checks a collection's path, unless it is empty. It may have holes for ids if it is what the rule goes through.
func (c *checker) collection(key, path string, binds bool) {
	if path == "" {
		return
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.Contains(part, "*") {
			c.Add(key, "%s is no id; for any: %s", part, withHole(parts, i))
			return
		}
	}
	seen := map[string]bool{}
	right := len(parts)%2 == 1
	for i, part := range parts {
		hole, isHole := criteria.HoleOf(part)
		right = right && (plainID(part) || binds && isHole && i%2 == 1 && criteria.Name.MatchString(hole) && !seen[hole])
		seen[hole] = isHole
	}
	hint, last := "", parts[len(parts)-1]
	switch above := strings.Join(parts[:len(parts)-1], "/"); {
	case parts[0] == "" || last == "":
		hint = ": leave out the slash at its beginning and its end"
	case len(parts)%2 == 0:
		hint = fmt.Sprintf(", but the path of a document: write %q", above)
	case len(parts) > 1 && plainID(last) && !binds && strings.Contains(above, "{"):
		hint = fmt.Sprintf(`: a relation cannot say below which documents; for all of them write "collectionGroup": %q`, last)
	case len(parts) > 1 && plainID(last) && binds:
		hint = fmt.Sprintf(`; for %s below any document use "collectionGroup": %q`, last, last)
	}
	example := "drafts"
	if binds {
		example += " or chats/{chat}/users"
	}
	c.Expect(right, key, "%q is not a collection, such as %s%s", path, example, hint)
	c.foreign(key, parts...)
}

// name checks a collection's name, unless it is empty.
func (c *checker) name(key, name string) {
	c.Expect(name == "" || plainID(name), key, "%q is not a collection's name: a name has no slash", name)
	c.Expect(!strings.Contains(name, "*"), key, "* in %q is not every collection: write a rule for each name", name)
	c.foreign(key, name)
}

// withHole returns a path with a hole for a part of it.
func withHole(parts []string, i int) string {
	parts = slices.Clone(parts)
	parts[i] = "{id}"
	if i > 0 {
		parts[i] = "{" + strings.TrimSuffix(parts[i-1], "s") + "}"
	}
	return strings.Join(parts, "/")
}

// foreign checks that no name is that of one of the bundle's own collections.
func (c *checker) foreign(key string, names ...string) {
	for _, name := range names {
		c.Expect(!slices.Contains(collections.Names(), name), key, "%s belongs to Firesweep itself", name)
	}
}

// bound returns the holes that the rule's path binds, and the id.
func (c *checker) bound() []string {
	return append(criteria.Holes(c.rule.Collection+c.rule.Objects), idHole)
}

// where checks conditions on items of a kind.
func (c *checker) where(key string, all []criteria.Condition, kind string) {
	seen := map[string]bool{}
	for i := range all {
		w, at := &all[i], fmt.Sprintf("%s[%d]", key, i)
		c.Condition(at, w, kind, c.bound())
		for _, a := range c.rule.Age {
			c.Expect(!w.Dates(a) || w.Field == "" || w.Is == "set" || key != "where", at+".field",
				"%s has two conditions: the age is one, which keeps what has no time in it", w.Field)
		}
		c.Expect(w.Field == "" || !seen[w.Field], at+".field", "%s has two conditions: give its operators together", w.Field)
		seen[w.Field] = true
	}
}

// alternatives checks how many combinations of alternatives each query has, and how many filters and orders these have together.
func (c *checker) alternatives() {
	for i, q := range c.rule.queries() {
		key := "where"
		if i > 0 {
			key += " of " + q.Collection
		}
		combinations := Combinations(q.Where)
		terms := combinations * (len(q.Where) + len(q.OrderBy) + 1) // the last order is that of names
		c.Expect(combinations <= criteria.MaxAlternatives, key, "%d combinations of values; Firestore allows %d", combinations,
			criteria.MaxAlternatives)
		c.Expect(combinations > criteria.MaxAlternatives || terms <= criteria.MaxTerms, key,
			"%d filters and orders of all %d combinations of values; Firestore allows %d: give fewer values", terms, combinations,
			criteria.MaxTerms)
		if len(c.All) > 0 {
			return
		}
	}
}

// path checks a document's path, which may have holes.
func (c *checker) path(key, path, hint string) {
	bound := append(c.bound(), parentHole)
	switch c.kind {
	case criteria.OfAccounts:
		bound = []string{idHole, uidHole}
	case criteria.OfObjects:
		bound = criteria.Holes(c.rule.Objects)
	}
	for _, hole := range criteria.Holes(path) {
		known := slices.Contains(bound, hole) || c.kind == criteria.OfDocuments && holeField.MatchString(hole) ||
			c.kind == criteria.OfObjects && strings.HasPrefix(hole, "metadata.") && !strings.Contains(hole, "*")
		unknown := map[string]string{
			criteria.OfDocuments: "{%s} is neither {id} nor a field",
			criteria.OfAccounts:  "{%s} is nothing that an account has: write {uid}",
			criteria.OfObjects: "{%[1]s} is not in the names of the objects: write {%[1]s} into objects where the id is, or " +
				"{metadata.KEY} here",
		}[c.kind]
		c.Expect(known, key, "%s", cmp.Or(hint, fmt.Sprintf(unknown, hole)))
	}
	if hole, isHole := criteria.HoleOf(path); isHole && c.kind == criteria.OfDocuments {
		c.Expect(hole != idHole, key, "%q is not a document's path, such as users/{id}", path)
		return
	}
	parts := strings.Split(strings.TrimPrefix(path, "{"+parentHole+"}/"), "/")
	for i, part := range parts {
		for _, hole := range criteria.Holes(part) {
			c.Expect(i%2 == 1 && hole != parentHole || hole == parentHole && part == "{"+parentHole+"}", key,
				"{%s} stands for a collection; only a document's id can be filled in: name the collection, or mark its own documents with a "+
					"field for a rule about them", hole)
		}
		if i%2 == 0 {
			c.foreign(key, part)
		}
		plain := criteria.Hole.ReplaceAllString(part, "x")
		c.Expect(plainID(plain), key, "%q is not a part of a path", part)
		c.Expect(!strings.Contains(plain, "*"), key, "* in %q is no id: write {id}, a field such as {userId}, or {map.*} for each "+
			"key of a map", path)
	}
	even := (len(parts)+strings.Count("/"+strings.Join(parts, "/")+"/", "/{"+parentHole+"}/"))%2 == 0
	c.Expect(even, key, "%q is not a document's path, such as users/{id}", path)
}

// gone checks whose absence makes items due.
func (c *checker) gone() {
	r := c.rule
	c.Expect(r.Gone == nil || len(r.Gone) > 0 || c.kind == criteria.OfObjects, "gone",
		`"nobody" is for objects that are deleted by age alone`)
	if c.kind == criteria.OfObjects {
		switch {
		case r.Gone == nil:
			c.Add("gone", "without it every old object would be deleted: write what it belongs to, such as "+
				`[{"document": "users/{uid}"}], or "nobody"`)
		case r.ByReference():
			c.byReference()
		default:
			for _, g := range r.Gone {
				if g.Document == "" {
					c.Add(g.Key, "documents at a path, and documents whose field refers to an object, are two rules: leave one out")
					continue
				}
				c.Expect(len(criteria.Holes(g.Document)) > 0, g.Key+".document", "%q would be the same for every object: give it a hole "+
					"that the pattern binds, such as {uid}", g.Document)
			}
			byMetadata := func(g Relation) bool { return strings.Contains(g.Document, "{metadata.") }
			c.Expect(len(r.Gone) == 1 || !slices.ContainsFunc(r.Gone, byMetadata), "gone",
				"of several documents, each must be named by what the pattern binds, such as {uid}, not by metadata")
		}
		c.Expect(len(r.Related()) == len(r.Gone), "unless", "for objects, unless has conditions only, such as "+
			`{"field": "name", "endsWith": ".keep"}; relations belong into gone`)
		c.Expect(r.Limit == 0, "limit", "it is for documents and accounts, not for objects")
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

// objectField checks the name of a field that names objects, unless it is empty.
func (c *checker) objectField(key, field string) {
	c.Expect(field == "" || objectPattern.MatchString(field), key+".field",
		"%q is not a field's name: use letters, digits and _, dots for fields of maps, and [] for each element of a list", field)
}

// byReference checks a rule about objects that no document names.
func (c *checker) byReference() {
	for i, g := range c.rule.Gone {
		key := fmt.Sprintf("gone[%d]", i)
		c.Expect(g.Document == "", key, "give one document, or a collection and field for each place that may name the object, but "+
			"not both")
		c.objectField(key, g.Field)
		c.Expect(g.Where == nil, key+".where", "an object is in use whatever else the document says: leave it out")
	}
	c.Expect(pattern.Folder(c.rule.Objects) != "", "objects", "in the whole bucket, who knows what names what? Begin with a "+
		"folder, such as products/**")
	for _, a := range c.rule.Age {
		now := time.Unix(0, 0)
		c.Expect(now.Sub(a.Cutoff(now)) >= time.Hour, "age", "an object is uploaded before a document names it: give at least an hour")
	}
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
		for _, hole := range criteria.HolesIn(r.Set[field]) {
			switch value := r.Set[field]; {
			case value == Now, value == Delete, !holeField.MatchString(hole):
			case hole == "hash":
				c.Add("set", `%s: "{hash}" would need a secret that outlives every deployment, which Firesweep does not keep; `+
					`without one, anybody can try out what was hashed: write "{delete}", or a job of your own`, field)
			default:
				c.Add("set", `%s: {%s} would be written as it is: a field as a whole may be "{now}" or "{delete}", as in {"a.b": "{now}"}`,
					field, hole)
			}
		}
		for _, other := range sorted(r.Set) {
			c.Expect(!strings.HasPrefix(other, field+"."), "set", "%s lies within %s, which is set as a whole", other, field)
		}
	}
	c.Expect(slices.ContainsFunc(r.Where, r.ends), "set",
		`every run would find the same documents again: add {"field":%q,"is":"not true"} to where`, sorted(r.Set)[0])
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
