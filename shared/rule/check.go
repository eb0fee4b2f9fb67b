package rule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

var (
	holeField     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*(\[\]|\.\*)?$`)
	objectPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\[\])?(\.[A-Za-z_][A-Za-z0-9_]*(\[\])?)*$`)
	actionPattern = regexp.MustCompile(`^[a-z][a-z0-9 ]{2,59}$`)
	wordsPattern  = regexp.MustCompile(`^[\pL\pN\pP ]{0,100}$`)
)

// Problems returns what is wrong with the rule. Each problem names the key and says what would be right. It also converts the
// values of conditions to the types that Firestore has: whole numbers become int64.
func (r *Rule) Problems() (problems []string) {
	c := checker{rule: r, kind: criteria.OfDocuments}
	switch {
	case r.Objects != "":
		c.kind = criteria.OfObjects
	case r.Accounts != "":
		c.kind = criteria.OfAccounts
	}
	if criteria.Count(r.Collection != "", r.CollectionGroup != "", r.Objects != "", r.Accounts != "") != 1 {
		c.Add("rule", "say what it goes through: give exactly one of collection, collectionGroup, objects and accounts; "+
			"the Realtime Database is out of reach: it needs a function of your own")
		return c.All
	}
	c.source()
	c.ages()
	c.Expect(r.Action == "" || actionPattern.MatchString(r.Action), "action",
		"%q is not like %q: use at most 60 lower-case letters, digits and spaces", r.Action, "delete draft")
	c.Expect(wordsPattern.MatchString(r.Because), "because", "use at most 100 letters, digits and punctuation marks")
	c.where("where", r.Where, c.kind)
	c.related(goneRole, goneRole, r.Gone)
	c.related(unlessRole, unlessRole, r.Unless)
	switch c.kind {
	case criteria.OfAccounts:
		c.withAccounts()
	case criteria.OfDocuments:
		c.related(withRole, withRole, r.With)
		c.archive()
		c.set()
	}
	c.notOf(criteria.OfDocuments, map[string]bool{"with": r.With != nil && c.kind != criteria.OfAccounts, "archive": r.Archive != "", "set": r.Set != nil,
		"maxReads": r.MaxReads != 0 && !r.ByReference()})
	c.gone()
	// The age says this.
	r.Where = slices.DeleteFunc(r.Where, func(w criteria.Condition) bool { return w.Is == "set" && slices.ContainsFunc(r.Age, w.Dates) })
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

// notOf refuses keys that only rules about a kind of items have.
func (c *checker) notOf(kind string, keys map[string]bool) {
	for _, key := range sorted(keys) {
		c.Expect(!keys[key] || c.kind == kind, key, "it is for %s, not for %s", kind, c.kind)
	}
}

// source checks what the rule goes through.
func (c *checker) source() {
	r := c.rule
	if r.Objects != "" {
		c.pattern("objects", r.Objects)
		for _, part := range strings.Split(r.Objects, "/") {
			c.Expect(len(holes(part)) < 2, "objects", "%q has two holes in one part, and nobody knows where one ends", part)
		}
		c.Expect(Folder(r.Objects) != "" || r.Objects == Everything, "objects",
			`%q lies at the top of the bucket: begin with a folder, such as avatars/, or take the whole bucket with "**"`, r.Objects)
		return
	}
	if r.Accounts != "" {
		c.Expect(slices.Contains(AccountKinds(), r.Accounts), "accounts", "%q is not one of: %s", r.Accounts,
			strings.Join(AccountKinds(), ", "))
		return
	}
	c.collection("collection", r.Collection, true)
	c.Expect(r.CollectionGroup == "" || plainID(r.CollectionGroup), "collectionGroup",
		"%q is not a collection's name: a name has no slash", r.CollectionGroup)
	c.foreign("collectionGroup", r.CollectionGroup)
	c.Expect(!slices.Contains(collections.Below(), r.CollectionGroup), "collectionGroup",
		"Firesweep itself has collections named %s: declare a rule for each of your own with collection", r.CollectionGroup)
}

func (c *checker) ages() {
	if c.rule.Age == nil {
		c.Add("age", "how old? %s", criteria.AgeExamples[c.kind])
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
	c.Expect(len(c.rule.Age) > 0 || c.kind == criteria.OfDocuments, "age", "how old? %s", criteria.AgeExamples[c.kind])
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
	hint := ""
	if last := parts[len(parts)-1]; len(parts) > 1 && len(parts)%2 == 1 && plainID(last) && binds {
		hint = fmt.Sprintf(`; for %s below any document use "collectionGroup": %q`, last, last)
	}
	c.Expect(right, key, "%q is not a collection, such as drafts or chats/{chat}/users%s", path, hint)
	c.foreign(key, parts...)
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
func (c *checker) bound() []string { return append(holes(c.rule.Collection+c.rule.Objects), idHole) }

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

// alternatives checks how many combinations of alternatives the query has.
func (c *checker) alternatives() {
	a := c.rule.Asked()
	n := max(1, len(a.Any), c.rule.indexedForms())
	for _, f := range a.Filters {
		if all, isList := f.Value.([]any); isList {
			n *= max(1, len(all))
		}
	}
	c.Expect(n <= criteria.MaxAlternatives, "where", "%d combinations of values; Firestore allows %d", n, criteria.MaxAlternatives)
}

// related checks the relations of a role.
func (c *checker) related(key, role string, all []Relation) {
	for i := range all {
		key := fmt.Sprintf("%s[%d]", key, i)
		if all[i].kind() == nil && role == unlessRole && all[i].Field != "" {
			w := all[i].Condition()
			c.Condition(key, &w, c.kind, c.bound())
			c.Expect(all[i].Where == nil && all[i].Within == nil && !all[i].Remove && all[i].With == nil && all[i].Metadata == "", key,
				"a condition has a field and its operators, and nothing else")
			continue
		}
		c.relation(key, role, &all[i], c.kind, false)
	}
}

// relation checks a relation to items of a kind. It may be one that goes along with what goes along.
func (c *checker) relation(key, role string, r *Relation, kind string, nested bool) {
	var keys, given []string
	for _, k := range relations {
		if slices.Contains(k.roles, role) && slices.Contains(k.kinds, kind) {
			keys = append(keys, k.key)
		}
		if k.of(*r) != "" {
			given = append(given, k.key)
		}
	}
	if len(given) != 1 || !slices.Contains(keys, given[0]) {
		c.Expect(len(keys) == 0, key, "give exactly one of %s", criteria.List(keys, "and"))
		return
	}
	k := r.kind()
	for _, beside := range r.keys() {
		c.Expect(slices.Contains(k.keys, beside), key+"."+beside, "it does not stand beside %s", k.key)
	}
	c.Expect(!k.field || r.Field != "", key, "%s and field belong together: which field names it?", k.key)
	c.Expect(r.Within == nil || role == unlessRole, key+".within", "it is for unless: it says how new something must be to keep the item")
	c.Expect((!r.Remove && r.With == nil && r.Metadata == "") || role == withRole, key, "remove, with and metadata are for with")
	c.relatedWhere(key, role, r)
	switch k.key {
	case "document":
		c.document(key, role, r.Document, nested)
	case "account":
		c.path(key+".account", "users/"+r.Account, "whose? \"{id}\"")
		c.Expect(role != withRole || r.Account == "{id}" && !nested, key+".account", `whose? "{id}"`)
	case "subcollection":
		everything := r.Subcollection == Everything && role == withRole
		c.Expect(everything || plainID(r.Subcollection) && r.Subcollection != Everything, key+".subcollection",
			"%q is not a collection's name: a name has no slash", r.Subcollection)
		c.Expect(!everything || r.With == nil && c.rule.CollectionGroup == "" && !nested, key+".subcollection",
			"** stands alone, in a rule with collection: it takes along all that is below")
		c.foreign(key+".subcollection", r.Subcollection)
	case "objects":
		c.objectsAlong(key, *r, nested)
	default:
		c.naming(key, role, r)
	}
	if r.Within != nil {
		c.Age(key+".within", r.Within, c.kind)
		c.Expect(r.Within.Indexed() && len(r.Within.As) < 2, key+".within", "it must have a field, and one form of it")
	}
	for n := range r.With {
		c.relation(fmt.Sprintf("%s.with[%d]", key, n), role, &r.With[n], criteria.OfDocuments, true)
	}
	c.Expect(role != withRole || c.rule.Deletes(), key, "set keeps the document, so nothing can go along with it")
}

// relatedWhere checks the conditions on what is related: an index must answer them.
func (c *checker) relatedWhere(key, role string, r *Relation) {
	if r.Where == nil {
		return
	}
	c.Expect(role != withRole && r.Document == "", key+".where", "it is for what a query finds, in gone and unless")
	for n := range r.Where {
		at := fmt.Sprintf("%s.where[%d]", key, n)
		before := len(c.All)
		c.Condition(at, &r.Where[n], criteria.OfDocuments, c.bound())
		if filters, ranged, ok := r.Where[n].Filters(); len(c.All) == before {
			equal := ok && !ranged && !slices.ContainsFunc(filters, func(f documents.Filter) bool { return strings.HasPrefix(f.Op, "array") })
			c.Expect(equal, at, "no index answers it: of what is related, only ==, in and empty can be asked for")
		}
	}
	_, isKey := r.keyOf()
	_, isList := r.elementOf()
	c.Expect(!isKey && !isList, key+".where", "no index answers it together with %s", r.Field)
}

// naming checks a relation of documents whose field names the item.
func (c *checker) naming(key, role string, r *Relation) {
	c.collection(key+".collection", r.Collection, false)
	c.Expect(r.CollectionGroup == "" || plainID(r.CollectionGroup), key+".collectionGroup",
		"%q is not a collection's name: a name has no slash", r.CollectionGroup)
	c.foreign(key+".collectionGroup", r.CollectionGroup)
	if c.kind == criteria.OfObjects {
		return
	}
	if r.Field != "" {
		c.Field(key+".field", r.plainField())
	}
	_, isKey := r.keyOf()
	_, isList := r.elementOf()
	c.Expect(r.Within == nil || !isKey && !isList, key+".within", "no index answers it together with %s", r.Field)
	if role != withRole {
		return
	}
	c.Expect(r.CollectionGroup == "", key+".collectionGroup", "what goes along must be in a collection that is named: give collection")
	c.Expect(r.Collection == "" || r.Collection != c.rule.Collection || r.Remove, key+".collection",
		"it is the rule's own collection: what goes along with a document is not judged")
	c.Expect(!r.Remove || isKey || isList, key+".remove", "from which list or map? e.g. members[] or owners.{id}")
	c.Expect(r.Remove || !isKey && !isList, key+".field",
		`one of several that %s names: to take it out of them, add "remove":true`, r.Field)
	c.Expect(!r.Remove || r.With == nil, key+".with", "remove keeps the document, so nothing can go along with it")
}

// document checks a document's path in a relation.
func (c *checker) document(key, role, path string, nested bool) {
	key += ".document"
	if collection, id := cutLast(path); c.kind == criteria.OfAccounts {
		right := len(holes(collection)) == 0 && len(holes(id)) == 1 && (strings.Contains(id, "{id}") || strings.Contains(id, "{uid}")) &&
			strings.Count(path, "/")%2 == 1
		if c.Expect(right, key, "%q: for an account, write a collection and {uid}, such as users/{uid}", path); !right {
			return
		}
	}
	c.path(key, path, "")
	if role != withRole {
		return
	}
	c.Expect(len(holes(path)) > 0, key, "%q would be the same for every document: give it a hole, such as {id}", path)
	whole := path != "{"+parentHole+"}" && len(holes(path)) == 1 && "{"+holes(path)[0]+"}" == path
	c.Expect(!whole, key, "%q may be any document of the database: say in which collection it is, as in users/{id}", path)
	if c.rule.IsGroup() && !nested {
		bound := append(holes(c.rule.Collection), parentHole)
		c.Expect(slices.ContainsFunc(holes(path), func(hole string) bool { return slices.Contains(bound, hole) }), key,
			"ids repeat in %s: name what the rule's path binds, or {parent}", c.rule.Source())
	}
}

// path checks a document's path, which may have holes.
func (c *checker) path(key, path, hint string) {
	bound := append(c.bound(), parentHole)
	switch c.kind {
	case criteria.OfAccounts:
		bound = []string{idHole, uidHole}
	case criteria.OfObjects:
		bound = holes(c.rule.Objects)
	}
	for _, hole := range holes(path) {
		known := slices.Contains(bound, hole) || c.kind == criteria.OfDocuments && holeField.MatchString(hole) ||
			c.kind == criteria.OfObjects && strings.HasPrefix(hole, "metadata.")
		c.Expect(known, key, "%s", cmp.Or(hint, fmt.Sprintf("{%s} is neither {id} nor a field", hole)))
		unbound := strings.Contains("/"+path, "/{"+hole+"}/") && c.rule.CollectionGroup != "" && criteria.Name.MatchString(hole) &&
			hole != idHole && hole != parentHole && strings.HasPrefix(path, c.rule.CollectionGroup)
		c.Expect(!unbound, key, "{%s} is unbound; a group has {parent}", hole)
	}
	if hole, isHole := criteria.HoleOf(path); isHole && c.kind == criteria.OfDocuments {
		c.Expect(hole != idHole, key, "%q is not a document's path, such as users/{id}", path)
		return
	}
	parts := strings.Split(strings.TrimPrefix(path, "{"+parentHole+"}/"), "/")
	for i, part := range parts {
		for _, hole := range holes(part) {
			c.Expect(i%2 == 1 && hole != parentHole || hole == parentHole && part == "{"+parentHole+"}", key,
				"{%s} stands for a collection; only a document's id can be filled in: name the collection, or mark its own documents with a "+
					"field for a rule about them", hole)
		}
		c.Expect(plainID(holePattern.ReplaceAllString(part, "x")), key, "%q is not a part of a path", part)
	}
	even := (len(parts)+strings.Count("/"+strings.Join(parts, "/")+"/", "/{"+parentHole+"}/"))%2 == 0
	c.Expect(even, key, "%q is not a document's path, such as users/{id}", path)
}

// pattern checks a pattern of objects' names.
func (c *checker) pattern(key, pattern string) {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		last := i == len(parts)-1
		plain := strings.ReplaceAll(holePattern.ReplaceAllString(strings.TrimSuffix(part, ".*"), "x"), "*", "x")
		right := part == Everything && last || plainID(plain) && !strings.Contains(part, Everything) && (last || !strings.HasSuffix(part, ".*"))
		c.Expect(right, key, "%q is not a pattern of objects' names, such as avatars/{uid}.* or chats/{chat}/images/**", pattern)
	}
}

// objectsAlong checks objects that go along with a document.
func (c *checker) objectsAlong(key string, r Relation, nested bool) {
	folder, below := strings.CutSuffix(r.Objects, "/"+Everything)
	c.pattern(key+".objects", r.Objects)
	c.Expect(below && !strings.Contains(folder, "*"), key+".objects", "%q is not a folder: write it like drafts/{id}/**", r.Objects)
	for _, hole := range holes(r.Objects) {
		c.Expect(hole == idHole, key+".objects", "{%s} is not {id}: only the document's own folder goes along", hole)
	}
	c.Expect(r.Field != "" || slices.Contains(strings.Split(folder, "/"), "{id}"), key+".objects",
		"%q would be the same for every document: {id} must be a part of it, as in drafts/{id}/**", r.Objects)
	c.Expect(r.Field == "" || objectPattern.MatchString(r.Field), key+".field",
		"%q is not a field's name: use letters, digits and _, dots for fields of maps, and [] for each element of a list", r.Field)
	c.Expect(r.Metadata == "" || r.Field != "", key+".metadata", "only objects that a field names can have it")
	c.Expect(!nested, key, "only the documents of the rule itself take objects along")
}

// gone checks whose absence makes items due.
func (c *checker) gone() {
	r := c.rule
	c.Expect(r.Gone == nil || len(r.Gone) > 0 || c.kind == criteria.OfObjects, "gone", `"nobody" is for objects that go by age alone`)
	if c.kind == criteria.OfObjects {
		switch {
		case r.Gone == nil:
			c.Add("gone", `every old object would go; say whose, or "nobody"`)
		case r.ByReference():
			c.byReference()
		case len(r.Gone) > 1:
			c.Add("gone", "an object has one owner: give one document, or a collection and field for each that may name it")
		case len(r.Gone) == 1:
			c.Expect(len(holes(r.Gone[0].Document)) > 0, "gone[0].document", "%q would be the same for every object: give it a hole that the "+
				"pattern binds, such as {uid}", r.Gone[0].Document)
		}
		c.Expect(len(r.Related()) == len(r.Gone), "unless", "objects have gone, and conditions in unless")
		c.Expect(r.Limit == 0, "limit", "it is for documents and accounts, not for objects")
		c.Expect(r.MaxDuePercent == 0, "maxDuePercent", "it is for documents and accounts, not for objects")
	}
}

// withAccounts checks what goes along with accounts: documents, each with what goes along with it as in a rule about documents.
func (c *checker) withAccounts() {
	for i, w := range c.rule.With {
		key := fmt.Sprintf("with[%d]", i)
		collection, id := cutLast(w.Document)
		if id != "{"+uidHole+"}" && id != "{"+idHole+"}" || !slices.Equal(w.keys(), nil) && !slices.Equal(w.keys(), []string{"with"}) {
			c.Add(key, `which document? e.g. {"document":"users/{uid}"}, and in its with what else goes along`)
			continue
		}
		c.collection(key+".document", collection, false)
		c.Expect(!slices.ContainsFunc(c.rule.Unless, func(u Relation) bool { return u.Place() == w.Place() }), key+".document",
			"unless keeps the account of such a document, so it never goes along")
		c.Expect(!slices.ContainsFunc(c.rule.With[:i], func(u Relation) bool { return u.Place() == w.Place() }), key+".document",
			"%s is listed twice", collection)
		below := checker{rule: &Rule{Collection: collection, With: w.With}, kind: criteria.OfDocuments}
		below.related(key+".with", withRole, w.With)
		c.All = append(c.All, below.All...)
		c.Expect(!anyOf(w.With, func(w Relation) bool { return w.Account != "" }), key+".with", "the account is gone by then: leave account out")
	}
}

// byReference checks a rule about objects that no document names.
func (c *checker) byReference() {
	for i, g := range c.rule.Gone {
		key := fmt.Sprintf("gone[%d]", i)
		c.Expect(g.Document == "", key, "documents that name objects stand alone: give a collection and field, or one document")
		c.Expect(g.Field == "" || objectPattern.MatchString(g.Field), key+".field",
			"%q is not a field's name: use letters, digits and _, dots for fields of maps, and [] for each element of a list", g.Field)
		c.Expect(g.Where == nil, key+".where", "an object is in use whatever else the document says: leave it out")
	}
	c.Expect(c.rule.Objects != Everything, "objects", "in the whole bucket, who knows what names what? Begin with a folder, such as products/**")
	for _, a := range c.rule.Age {
		now := time.Unix(0, 0)
		c.Expect(now.Sub(a.Cutoff(now)) >= time.Hour, "age", "an object is uploaded before a document names it: give at least an hour")
	}
}

func (c *checker) archive() {
	r := c.rule
	if r.Archive == "" {
		return
	}
	c.Expect(r.CollectionGroup == "", "archive", "documents of a collection group may share an id: declare a rule for each collection")
	c.Expect(r.Deletes(), "archive", "set keeps the document, so it is not archived")
	if !c.expectHoles() {
		return
	}
	c.collection("archive", r.Archive, strings.Contains(r.Collection, "{"))
	c.Expect(!slices.ContainsFunc(r.With, func(w Relation) bool { return w.Subcollection == Everything }), "archive",
		`it names the collections that it copies: with "**", nobody knows them`)
}

// expectHoles checks that the archive has every hole that the collection binds, so that no two documents share a place.
func (c *checker) expectHoles() bool {
	want, got := holes(c.rule.Collection), holes(c.rule.Archive)
	slices.Sort(want)
	slices.Sort(got)
	c.Expect(slices.Equal(want, got), "archive", "it must have every hole of %s, so that no two documents share a place", c.rule.Collection)
	return slices.Equal(want, got)
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
		r.Set[field] = converted(r.Set[field])
		for _, other := range sorted(r.Set) {
			c.Expect(!strings.HasPrefix(other, field+"."), "set", "%s lies within %s, which is set as a whole", other, field)
		}
	}
	c.Expect(slices.ContainsFunc(r.Where, r.ends), "set", `found again each run; add {"field":%q,"is":"not true"}`, sorted(r.Set)[0])
}

// ends reports whether a condition no longer holds after set.
func (r Rule) ends(w criteria.Condition) bool {
	value, set := r.Set[w.Field]
	if !set || w.Any != nil || w.Field == "" {
		return false
	}
	if value == Now {
		value = documents.Earliest
	}
	return w.Holds(func(string) (any, bool) { return value, value != Delete }) != criteria.Met
}

// converted returns a value of JSON in the types that Firestore has.
func converted(value any) any {
	switch v := value.(type) {
	case json.Number:
		n, _ := criteria.NumberOf(v) // the reader has refused what is none
		return n
	case []any:
		for n := range v {
			v[n] = converted(v[n])
		}
	case map[string]any:
		for key := range v {
			v[key] = converted(v[key])
		}
	}
	return value
}

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
	for i, related := range r.Related() {
		for _, hole := range r.fieldHoles(related.Document + related.Account) {
			if criteria.Name.MatchString(hole) {
				all = append(all, use{key: fmt.Sprintf("unless[%d]", i), path: hole, holds: "a document's id"})
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
