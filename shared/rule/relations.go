package rule

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
	"github.com/firesweep/firesweep/shared/rule/criteria"
	"github.com/firesweep/firesweep/shared/rule/pattern"
)

// Roles of relations: keys of a rule.
const (
	GoneRole   = "gone"
	UnlessRole = "unless"
	WithRole   = "with"
)

// Role returns the key of the rule, or of the relation above it, in which the relation is.
func (r Relation) Role() string {
	key := r.Key[:max(0, strings.LastIndexByte(r.Key, '['))]
	return key[strings.LastIndexByte(key, '.')+1:]
}

// relation says what one key of a [Relation] means. In its texts, $ stands for what the key says and # for the field.
type relation struct {
	key    string
	of     func(Relation) string
	roles  []string // where it can stand
	kinds  []string // the kinds of items that it can stand for
	keys   []string // the keys that can stand beside it
	field  bool     // one of them, field, must
	noun   string   // what is related, e.g. "account $"
	plural string   // what is deleted with it
}

var (
	askedRoles   = []string{GoneRole, UnlessRole}
	allRoles     = []string{GoneRole, UnlessRole, WithRole}
	ofDocuments  = []string{criteria.OfDocuments}
	keysOfNaming = []string{"field", "where", "within", "remove", "with", "unless"}
)

// rolesOf says for which roles a key is that only some relations can have.
var rolesOf = map[string][]string{"where": askedRoles, "within": {UnlessRole}, "remove": {WithRole}, "with": {WithRole},
	"unless": {WithRole}, "metadata": {WithRole}}

// relations are all of them, in the order in which problems name them.
var relations = []relation{
	{key: "document", of: func(r Relation) string { return r.Document }, roles: allRoles,
		kinds: []string{criteria.OfDocuments, criteria.OfObjects, criteria.OfAccounts}, keys: []string{"where", "with", "unless"},
		noun: "$", plural: "$"},
	{key: "account", of: func(r Relation) string { return r.Account }, roles: allRoles, kinds: ofDocuments,
		noun: "account $", plural: "its account"},
	{key: "subcollection", of: func(r Relation) string { return r.Subcollection }, roles: allRoles, kinds: ofDocuments,
		keys: []string{"where", "within", "with", "unless"},
		noun: "document in $ below it", plural: "its documents in $"},
	{key: "collection", of: func(r Relation) string { return r.Collection }, roles: allRoles,
		kinds: []string{criteria.OfDocuments, criteria.OfObjects}, keys: keysOfNaming, field: true,
		noun: "document of $ whose # refers to it", plural: "the documents of $ whose # refers to it"},
	{key: "collectionGroup", of: func(r Relation) string { return r.CollectionGroup }, roles: askedRoles,
		kinds: []string{criteria.OfDocuments, criteria.OfObjects}, keys: keysOfNaming, field: true,
		noun: "document of any collection $ whose # refers to it"},
	{key: "objects", of: func(r Relation) string { return r.Objects }, roles: []string{WithRole}, kinds: ofDocuments,
		keys: []string{"field", "metadata"}, plural: "the objects $"},
}

// say fills in one of the texts of the relation's entry in the table.
func (r Relation) say(text string) string {
	return strings.NewReplacer("$", r.kind().of(r), "#", r.Field).Replace(text)
}

// goes returns what is deleted with it by the relation.
func (r Relation) goes() string {
	switch {
	case r.Subcollection == Everything:
		return "all documents below it"
	case r.Remove:
		return r.say("its entry in # of documents of $")
	case r.Objects != "" && r.Field != "":
		return r.say("the objects $ that # refers to")
	}
	return r.say(r.kind().plural)
}

// Everything is the subcollection that stands for all documents below one.
const Everything = pattern.Everything

// kind returns the entry of the table; nil if the relation has none of its keys.
func (r Relation) kind() *relation {
	for i := range relations {
		if relations[i].of(r) != "" {
			return &relations[i]
		}
	}
	return nil
}

// keys returns the keys beside that of the table which are set.
func (r Relation) keys() (all []string) {
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		isKind := slices.ContainsFunc(relations, func(k relation) bool { return k.key == name })
		if name != "-" && !isKind && !v.Field(i).IsZero() {
			all = append(all, name)
		}
	}
	return append(all, criteria.Condition{Ops: r.Ops}.Operators()...)
}

// Nameless returns why an item is kept that has no valid id for the relation.
func (r Relation) Nameless() string {
	if r.Document+r.Account == "" {
		return "no query can ask for what refers to it by " + r.Field
	}
	holes := criteria.List(criteria.Holes(r.Document+r.Account), "or")
	return holes + " holds no id for " + cmp.Or(r.Document, "account "+r.Account) + ` (it is missing, "", a list, a map or the like)`
}

// conditions returns what the relation's conditions ask for.
func (r Relation) conditions() (filters []documents.Filter) {
	for _, c := range r.Where {
		asked, _, _ := c.Filters()
		filters = append(filters, asked...)
	}
	return filters
}

// isList reports whether the elements of a list name the item, and isKey whether the keys of a map do.
func (r Relation) isList() bool { return strings.HasSuffix(r.Field, "[]") }
func (r Relation) isKey() bool  { return strings.HasSuffix(r.Field, ".{"+idHole+"}") }

// PlainField is the relation's field without what stands for its elements or keys.
func (r Relation) PlainField() string {
	return strings.TrimSuffix(strings.TrimSuffix(r.Field, "[]"), ".{"+idHole+"}")
}

// Fields returns the fields of what is related by which it is looked for, and judged within a time; "" for none.
func (r Relation) Fields() []string {
	if r.Within == nil {
		return []string{r.Field, ""}
	}
	return []string{r.Field, r.Within.Field}
}

// Query returns the query for the documents that are related to an item. self is the item's document, and reference returns the
// value that refers to it. With repeats, its id does not name it, because documents elsewhere may have that too. ok is false if
// no query can ask for it.
func (r Relation) Query(self documents.Ref, repeats bool, reference func(documents.Ref) any) (q documents.Query, ok bool) {
	q = r.Place("").Query(documents.NameOnly...)
	q.Where = r.conditions()
	if r.Subcollection != "" {
		q.Collection, q.Group = self.Path()+"/"+r.Subcollection, false
		return q, true
	}
	if !documents.Queryable(self.ID) || !documents.Queryable(reference(self)) {
		return q, false
	}
	f := documents.Filter{Field: r.PlainField(), Op: "in", Value: NamesOf(self, repeats, reference)}
	switch {
	case r.isKey():
		q.OrderBy, q.From = []string{f.Field + "." + self.ID}, []any{nil} // whatever is there
		return q, !repeats && !strings.ContainsAny(self.ID, ".~*/[]`")
	case r.isList():
		f.Op = "array-contains-any"
	}
	q.Where = append(q.Where, f)
	return q, true
}

// Any returns queries for all documents that may be related to an item, each of which one of them finds, for what keeps the item.
func (r Relation) Any(self documents.Ref, reference func(documents.Ref) any) (all []documents.Query, ok bool) {
	q, ok := r.Query(self, false, reference)
	if !ok {
		return nil, false
	}
	if r.Subcollection == "" && !r.isKey() {
		q.Select = []string{r.PlainField()}
	}
	if r.Within != nil {
		q.Select = append(slices.Clone(q.Select), r.Within.Field)
	}
	all = []documents.Query{q}
	if r.isKey() && !q.Group { // a list may hold it where another document has a map
		others, _ := Relation{Collection: r.Collection, Field: r.PlainField()}.Any(self, reference)
		all = append(all, others...)
	}
	if n := len(r.Where); r.Subcollection == "" && !r.isKey() {
		all = nil
		names, of := self.Keeping(reference(self)), q.Where[len(q.Where)-1]
		for some := range slices.Chunk(names, max(1, criteria.MaxAlternatives/combinations(q.Where[:len(q.Where)-1]))) {
			of.Value = some
			part := q
			part.Where = append(slices.Clone(q.Where[:len(q.Where)-1]), of)
			if n == 0 && r.Within == nil && !q.Group { // a list may hold it where another document has one value
				one, list := of, of
				one.Op, list.Op = "in", "array-contains-any"
				part.Where, part.Any = nil, [][]documents.Filter{{one}, {list}}
			}
			all = append(all, part)
		}
	}
	return all, true
}

// Queries returns queries one of which finds a document that is related to an item and keeps it, if there is any, but for those
// that lack the field of within.
func (r Relation) Queries(self documents.Ref, reference func(documents.Ref) any, now time.Time) (all []documents.Query, ok bool) {
	if all, ok = r.Any(self, reference); r.Within == nil {
		return all, ok
	}
	// With cursors instead of filters: what is no time keeps the item too.
	for _, q := range slices.Clone(all) {
		least, from := r.Within.Least(), r.Within.Cutoff(now)
		odd := q.Odd(r.Within.Field, least, least)
		odd[0].From = nil // null is no time either
		more := odd[:1]
		if _, isText := least.(string); isText { // which may name a date, whose end is 36 hours later where that is farthest behind UTC
			from = from.Add(-retention.Day * 3 / 2)
			odd[1].From, odd[1].Until = []any{"19:"}, []any{"200"} // no time that can be read lies there, but 2/14/2026 and 20.5.2026 do
			more = odd[:]
		}
		q.OrderBy, q.From = []string{r.Within.Field}, []any{r.Within.Value(from)}
		all = append(append(all[1:], q), more...)
	}
	return all, ok
}

// combinations returns how many combinations of alternatives filters have.
func combinations(filters []documents.Filter) int {
	n := 1
	for _, f := range filters {
		if values, isList := f.Value.([]any); isList {
			n *= max(1, len(values))
		}
	}
	return n
}

// NamesOf returns the values by which a field may refer to a document: by its id, unless that repeats elsewhere, by reference,
// and by its path as a text. Those for which no query can ask are left out.
func NamesOf(d documents.Ref, repeats bool, reference func(documents.Ref) any) (names []any) {
	if repeats {
		names = []any{reference(d)}
	} else {
		names = d.Names(reference(d))
	}
	names = append(names, d.Texts()...)
	return slices.DeleteFunc(names, func(name any) bool { return !documents.Queryable(name) })
}
