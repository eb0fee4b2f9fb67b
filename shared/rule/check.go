package rule

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
)

// Bounds.
const (
	maxAlternatives = 30 // combinations of all conditions' values: Firestore's limit on disjunctions
	maxHours        = 24 * 36_500
)

var (
	fieldPattern  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)
	objectPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\[\])?(\.[A-Za-z_][A-Za-z0-9_]*(\[\])?)*$`)
	actionPattern = regexp.MustCompile(`^[a-z][a-z0-9 ]{2,59}$`)
	wordsPattern  = regexp.MustCompile(`^[\pL\pN\pP ]{0,100}$`)
	holePattern   = regexp.MustCompile(`\{([^{}]*)\}`)
)

// Problems returns what is wrong with the rule. Each problem names the key and says what would be right. It also converts the
// values of conditions to the types that Firestore has: whole numbers become int64.
func (r *Rule) Problems() (problems []string) {
	c := checker{rule: r}
	c.age()
	if n := count(r.Collection != "", r.CollectionGroup != "", r.Objects != "", r.Accounts != ""); n != 1 {
		c.add("", "give exactly one of collection, collectionGroup, objects and accounts")
		return c.problems
	}
	c.expect(r.Action == "" || actionPattern.MatchString(r.Action), "action",
		"%q is not like %q: use at most 60 lower-case letters, digits and spaces", r.Action, "delete draft")
	c.expect(wordsPattern.MatchString(r.Because), "because", "use at most 100 letters, digits and punctuation marks")
	if r.Objects != "" {
		c.objects()
		return c.problems
	}
	if r.Accounts != "" {
		c.accounts()
		return c.problems
	}
	c.collection("collection", r.Collection)
	c.expect(r.CollectionGroup == "" || plainID(r.CollectionGroup), "collectionGroup",
		"%q is not a collection's name: a name has no slash", r.CollectionGroup)
	c.foreign("collectionGroup", r.CollectionGroup)
	c.expect(!slices.Contains(collections.Below(), r.CollectionGroup), "collectionGroup",
		"Firesweep itself has collections named %s: declare a rule for each of your own with collection", r.CollectionGroup)
	c.expect(r.Owner == nil, "owner", "only objects have an owner; to keep documents, use unless")
	c.where()
	for i, u := range r.Unless {
		c.path(fmt.Sprintf("unless[%d].document", i), u.Document)
	}
	for i, a := range r.With {
		c.along(fmt.Sprintf("with[%d]", i), a)
	}
	c.archive()
	c.set()
	// The age says this.
	r.Where = slices.DeleteFunc(r.Where, func(w Condition) bool { return w.Field == r.Age.Field && w.Is == NotNull })
	if len(c.problems) == 0 {
		c.uses()
	}
	return c.problems
}

type checker struct {
	rule     *Rule
	problems []string
}

func (c *checker) add(key, format string, args ...any) {
	if key != "" {
		key = "." + key
	}
	c.problems = append(c.problems, "rule"+key+": "+fmt.Sprintf(format, args...))
}

func (c *checker) expect(ok bool, key, format string, args ...any) {
	if !ok {
		c.add(key, format, args...)
	}
}

// count returns how many of all are true.
func count(all ...bool) (n int) {
	for _, one := range all {
		if one {
			n++
		}
	}
	return n
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (c *checker) age() {
	a, what := c.rule.Age, `{"field": "createdAt", "days": 90}`
	if c.rule.Objects != "" {
		what = `{"hours": 24}`
	}
	if c.rule.Accounts != "" {
		what = `{"field": "lastSignIn", "days": 30}`
	}
	if a == nil {
		c.add("age", "say how old it must be, e.g. %s", what)
		c.rule.Age = &Age{} // the other checks need one
		return
	}
	c.expect(count(a.Hours != 0, a.Days != 0, a.Months != 0) == 1, "age", "give one of hours, days and months, e.g. %s", what)
	c.expect(min(a.Hours, a.Days, a.Months) >= 0, "age", "it cannot be negative")
	c.expect(max(a.Hours, a.Days*24, a.Months*31*24) <= maxHours, "age", "it is more than 100 years")
	if c.rule.Objects != "" {
		c.expect(a.Field == "", "age.field", "an object's age counts from its upload: leave it out")
		return
	}
	if c.rule.Accounts != "" {
		c.expect(a.Field == LastSignIn || a.Field == Created, "age.field", "%q is neither %s nor %s", a.Field, LastSignIn, Created)
		return
	}
	c.field("age.field", a.Field)
}

func (c *checker) field(key, name string) {
	reserved := slices.ContainsFunc(strings.Split(name, "."),
		func(part string) bool { return strings.HasPrefix(part, "__") && strings.HasSuffix(part, "__") })
	c.expect(fieldPattern.MatchString(name) && !reserved, key,
		"%q is not a field's name: use letters, digits and _, and dots for fields of maps", name)
}

// plainID reports whether a text can name a collection or a document, and has no hole.
func plainID(id string) bool { return documents.ValidID(id) && !strings.ContainsAny(id, "{}") }

// collection checks a collection's path, unless it is empty.
func (c *checker) collection(key, path string) {
	if path == "" {
		return
	}
	parts := strings.Split(path, "/")
	hint := ""
	if last := parts[len(parts)-1]; len(parts) > 1 && len(parts)%2 == 1 && plainID(last) {
		hint = fmt.Sprintf(`; for %s below any document use "collectionGroup": %q`, last, last)
	}
	c.expect(len(parts)%2 == 1 && !slices.ContainsFunc(parts, func(p string) bool { return !plainID(p) || p == "*" }), key,
		"%q is not a collection, such as drafts or teams/main/drafts%s", path, hint)
	c.foreign(key, parts...)
}

// foreign checks that no name is that of one of the bundle's own collections.
func (c *checker) foreign(key string, names ...string) {
	for _, name := range names {
		c.expect(!slices.Contains(collections.Names(), name), key, "%s belongs to Firesweep itself", name)
	}
}

func (c *checker) where() {
	seen := map[string]bool{}
	alternatives := 1
	for i := range c.rule.Where {
		w, key := &c.rule.Where[i], fmt.Sprintf("where[%d]", i)
		c.field(key+".field", w.Field)
		switch {
		case w.Field == c.rule.Age.Field && w.Is == NotNull:
		case w.Field == c.rule.Age.Field:
			c.add(key+".field", "%s has two conditions: the age is one, which keeps documents without a timestamp in it", w.Field)
		default:
			c.expect(!seen[w.Field], key+".field", "%s has two conditions", w.Field)
		}
		seen[w.Field] = true
		if count(w.Equals != nil, w.In != nil, w.Is != "") != 1 {
			c.add(key, `give exactly one of "==", "in" and "is"`)
			continue
		}
		if w.Is != "" {
			c.expect(w.Is != Text || !strings.Contains(w.Field, "."), key+".is",
				"text is for top-level fields only, not for fields of maps")
			c.expect(slices.Contains(States(), w.Is), key+".is", "%q is not one of: %s", w.Is, strings.Join(States(), ", "))
			continue
		}
		if w.Equals != nil {
			w.Equals = c.scalar(key+`["=="]`, w.Equals)
			continue
		}
		for n := range w.In {
			w.In[n] = c.scalar(fmt.Sprintf("%s.in[%d]", key, n), w.In[n])
			c.expect(!slices.Contains(w.In[:n], w.In[n]), key+".in", "%v is listed twice", w.In[n])
		}
		c.expect(len(w.In) > 0, key+".in", "give at least one value")
		alternatives *= max(1, len(w.In))
	}
	c.expect(alternatives <= maxAlternatives, "where",
		"%d combinations of values; Firestore allows %d", alternatives, maxAlternatives)
}

// scalar checks a value and returns it in the type that Firestore has. The problem says what else it might be.
func (c *checker) scalar(key string, value any, or ...string) any {
	switch v := value.(type) {
	case bool:
		return v
	case int64:
		return v
	case string:
		c.expect(documents.Queryable(v), key, "it is too long: a query allows 1,499 bytes")
		return v
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		if n, err := v.Float64(); err == nil {
			return n
		}
	}
	c.add(key, "it must be a string, a number, true or false%s", strings.Join(or, ""))
	return value
}

// path checks a document's path, which may have holes.
func (c *checker) path(key, path string) {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		for _, hole := range holePattern.FindAllStringSubmatch(part, -1) {
			c.expect(hole[1] == "id" || fieldPattern.MatchString(hole[1]), key, "{%s} is neither {id} nor a field", hole[1])
			c.expect(i%2 == 1, key, "{%s} stands for a collection; only a document's id can be filled in", hole[1])
		}
		c.expect(plainID(holePattern.ReplaceAllString(part, "x")), key, "%q is not a part of a path", part)
	}
	c.expect(len(parts)%2 == 0, key, "%q is not a document's path, such as users/{id}", path)
}

func (c *checker) along(key string, a Along) {
	if count(a.Subcollection != "", a.Collection != "", a.Object != "", a.Folder != "", a.Account) != 1 {
		c.add(key, "give exactly one of subcollection, collection (with field), object (with under), folder and account")
		return
	}
	c.expect((a.Collection != "") == (a.Field != ""), key, "collection and field belong together")
	c.expect((a.Object != "") == (a.Under != ""), key, "object and under belong together")
	c.expect(a.Metadata == "" || a.Object != "", key+".metadata", "only an entry with object can have it")
	if a.Subcollection != "" {
		c.expect(plainID(a.Subcollection), key+".subcollection", "%q is not a collection's name: a name has no slash", a.Subcollection)
		c.foreign(key+".subcollection", a.Subcollection)
	}
	c.collection(key+".collection", a.Collection)
	c.expect(a.Collection == "" || a.Collection != c.rule.Collection, key+".collection",
		"it is the rule's own collection: what goes along with a document is not judged")
	c.expect(a.Collection == "" || c.rule.CollectionGroup == "", key+".collection",
		"documents of a collection group may share an id: declare a rule for each collection")
	if a.Field != "" {
		c.field(key+".field", a.Field)
	}
	if a.Object != "" && a.Under != "" {
		c.expect(objectPattern.MatchString(a.Object), key+".object",
			"%q is not a field's name: use letters, digits and _, dots for fields of maps, and [] for each element of a list", a.Object)
		c.folder(key+".under", a.Under)
	}
	if a.Folder != "" {
		c.folder(key+".folder", a.Folder)
		c.expect(strings.Contains("/"+a.Folder, "/{id}/"), key+".folder",
			"%q would be the same for every document: {id} must be a part of it, as in drafts/{id}/", a.Folder)
	}
	c.expect(c.rule.Deletes(), key, "set keeps the document, so nothing can go along with it")
}

// folder checks a folder of the bucket.
func (c *checker) folder(key, folder string) {
	filled := strings.ReplaceAll(folder, "{id}", "x")
	parts := strings.Split(strings.TrimSuffix(filled, "/"), "/")
	c.expect(strings.HasSuffix(folder, "/") && !slices.ContainsFunc(parts, func(p string) bool { return !plainID(p) }), key,
		"%q is not a folder: write it like drafts/, with a slash at the end and none at the beginning", folder)
}

func (c *checker) objects() {
	r := c.rule
	c.folder("objects", r.Objects)
	c.expect(!strings.Contains(r.Objects, "{"), "objects", "%q contains {, but it must be one folder", r.Objects)
	for key, said := range map[string]bool{
		"where": r.Where != nil, "unless": r.Unless != nil, "with": r.With != nil, "archive": r.Archive != "", "set": r.Set != nil,
		"limit": r.Limit != 0, "maxDuePercent": r.MaxDuePercent != 0,
	} {
		c.expect(!said, key, "it is for documents; objects have owner and age")
	}
	slices.Sort(c.problems)
	o := r.Owner
	if o == nil {
		c.add("owner", `say whose they are, e.g. {"collection": "users", "segment": 2}; to delete objects by age alone, use the bucket's lifecycle`)
		return
	}
	c.expect(o.Collection != "", "owner.collection", "name the collection of the owners")
	c.collection("owner.collection", o.Collection)
	c.expect((o.Segment != 0) != (o.Metadata != ""), "owner", "give either segment or metadata")
	folder := strings.Count(r.Objects, "/")
	c.expect(o.Segment == 0 || o.Segment > folder && o.Segment <= folder+20, "owner.segment",
		"%d lies within %s, which has %d parts: count from the first part of the name", o.Segment, r.Objects, folder)
	c.expect(!o.Stem || o.Segment != 0, "owner.stem", "it belongs to segment")
}

// accounts checks the keys of a rule about accounts.
func (c *checker) accounts() {
	r := c.rule
	c.expect(slices.Contains(AccountKinds(), r.Accounts), "accounts", "%q is not one of: %s", r.Accounts,
		strings.Join(AccountKinds(), ", "))
	c.expect(r.Owner == nil, "owner", "only objects have an owner; to keep accounts, use unless")
	for _, wrong := range []struct {
		key  string
		said bool
	}{{"where", r.Where != nil}, {"with", r.With != nil}, {"archive", r.Archive != ""}, {"set", r.Set != nil}} {
		c.expect(!wrong.said, wrong.key,
			`it is for documents; declare a rule about the documents that accounts belong to, such as users, with {"account": true}`)
	}
	for i, u := range r.Unless {
		key := fmt.Sprintf("unless[%d].document", i)
		collection, id := cutLast(u.Document)
		if strings.Count(u.Document, "/")%2 == 0 || !accountHole.MatchString(id) || holePattern.MatchString(collection) ||
			strings.ContainsAny(accountHole.ReplaceAllString(id, ""), "{}") {
			c.add(key, "%q: for an account, write a collection and {uid}, such as users/{uid}", u.Document)
			continue
		}
		c.path(key, accountHole.ReplaceAllString(u.Document, "x"))
	}
}

func (c *checker) archive() {
	r := c.rule
	if r.Archive == "" {
		return
	}
	c.collection("archive", r.Archive)
	c.expect(r.CollectionGroup == "", "archive",
		"documents of a collection group may share an id: declare a rule for each collection")
	c.expect(r.Deletes(), "archive", "set keeps the document, so it is not archived")
}

func (c *checker) set() {
	r := c.rule
	if r.Set == nil {
		return
	}
	if len(r.Set) == 0 {
		c.add("set", `give at least one field, e.g. {"deleted": true}`)
		return
	}
	ends := false
	for _, field := range sorted(r.Set) {
		c.expect(fieldPattern.MatchString(field) && !strings.Contains(field, "."), "set",
			"%q is not a field's name: letters, digits and _", field)
		value := r.Set[field]
		if value != nil {
			value = c.scalar("set."+field, value, " or null")
		}
		r.Set[field] = value
		if value == Now {
			value = time.Time{}
		}
		for _, w := range r.Where {
			ends = ends || w.Field == field && w.Holds(value, true) != Met
		}
	}
	c.expect(ends, "set", `every run would find the same documents again: `+
		`add a condition that no longer holds after set, e.g. {"field": "deleted", "is": "not true"}`)
}

// use is one use of a field by a rule.
type use struct {
	key, path string
	holds     string     // what the field must hold for this use
	of        *Condition // the condition of where; nil for other uses
}

// uses refuses two uses of a field that contradict each other: the rule would never find anything.
func (c *checker) uses() {
	r := c.rule
	all := []use{{key: "age.field", path: r.Age.Field, holds: "a timestamp"}}
	for i := range r.Where {
		all = append(all, use{fmt.Sprintf("where[%d].field", i), r.Where[i].Field, "what where says", &r.Where[i]})
	}
	for i, u := range r.Unless {
		for _, field := range u.Fields() {
			all = append(all, use{key: fmt.Sprintf("unless[%d].document", i), path: field, holds: "a document's id"})
		}
	}
	for i, a := range r.With {
		if a.Object != "" {
			all = append(all, use{key: fmt.Sprintf("with[%d].object", i), path: strings.ReplaceAll(a.Object, "[]", ""),
				holds: "an object's name"})
		}
	}
	for i, outer := range all {
		for n, inner := range all {
			mapped := outer.of != nil && outer.of.Is == NotNull
			c.expect(!strings.HasPrefix(inner.path, outer.path+".") || mapped, inner.key, "%s lies within %s, which is %s, not a map",
				inner.path, outer.path, outer.holds)
			if n <= i || inner.path != outer.path || inner.holds == outer.holds {
				continue
			}
			ok := outer.of != nil && outer.of.names(inner.holds == "an object's name")
			c.expect(ok, inner.key, "%s is %s, and cannot be %s as well", inner.path, outer.holds, inner.holds)
		}
	}
}

// names reports whether a field that meets the condition can name something: an object by a string, a document by a string or
// a number.
func (c Condition) names(object bool) bool {
	if c.Is != "" {
		return c.Is == Text || c.Is == NotNull
	}
	return !object && !slices.ContainsFunc(c.Alternatives(), func(value any) bool {
		_, named := documents.IDOf(value)
		return !named
	})
}
