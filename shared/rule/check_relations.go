package rule

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule/criteria"
	"github.com/firesweep/firesweep/shared/rule/pattern"
)

// related checks the relations of a role.
func (c *checker) related(role string, all []Relation) {
	for i := range all {
		key := all[i].Key
		if all[i].kind() == nil && role == unlessRole && all[i].Field != "" {
			w := all[i].Condition()
			c.Condition(key, &w, c.kind, c.bound())
			c.Expect(all[i].Where == nil && all[i].Within == nil && !all[i].Remove && all[i].With == nil && all[i].Metadata == "", key,
				"a condition has a field and its operators, and nothing else")
			continue
		}
		c.relation(key, role, &all[i], c.kind, c.rule.At(), false)
	}
}

// relation checks a relation to items of a kind and place. It may be one that goes along with what is deleted with it.
func (c *checker) relation(key, role string, r *Relation, kind, of string, nested bool) {
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
		switch {
		case kind == criteria.OfAccounts && len(keys) == 1:
			c.Add(key, `write {"document": "users/{uid}"}: an account is kept by a document of its uid, and by nothing else`)
		case len(keys) == 1:
			c.Add(key, "give %s: no other relation is for %s", keys[0], kind)
		case len(keys) > 1:
			c.Add(key, "give exactly one of %s", criteria.List(keys, "and"))
		}
		return
	}
	k := r.kind()
	for _, beside := range r.keys() {
		judged := beside != "where" || k.key != "document" || role == unlessRole && kind == criteria.OfDocuments
		c.Expect(slices.Contains(k.keys, beside) && judged, key+"."+beside, "it cannot be beside %s: leave it out", k.key)
	}
	c.Expect(!k.field || r.Field != "", key, "%s and field belong together: which field refers to it?", k.key)
	c.Expect(r.Within == nil || role == unlessRole, key+".within", "it is for unless: it says how new something must be to keep "+
		"the item")
	c.Expect((!r.Remove && r.With == nil && r.Unless == nil && r.Metadata == "") || role == withRole, key,
		"remove, with, unless and metadata are for with")
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
		c.Expect(everything || !strings.Contains(r.Subcollection, "*"), key+".subcollection",
			`* in %q is not every collection: write a name or, in with, "**" for all that is below`, r.Subcollection)
		c.Expect(!everything || r.With == nil && c.rule.CollectionGroup == "" && !nested, key+".subcollection",
			"** is only for what is below the rule's own documents, in a rule with collection: write the name of the subcollection")
		c.foreign(key+".subcollection", r.Subcollection)
	case "objects":
		c.objectsAlong(key, *r, nested)
	default:
		c.naming(key, role, r)
	}
	byID := r.isKey() || r.Account != "" || r.Objects != "" && r.Field == ""
	c.Expect(role != withRole || nested || !byID || !c.rule.Repeats(), key,
		"ids repeat in %s, so it may be another's: name it by a reference, "+
			"or delete it by a rule about it, with gone", c.rule.Source())
	if r.Within != nil {
		c.Age(key+".within", r.Within, c.kind)
		c.Expect(r.Within.Indexed(), key+".within", "it must have a field")
	}
	if r.Unless != nil {
		c.Expect(!r.Remove && r.Subcollection != Everything, key+".unless", "it keeps what is deleted: leave it out")
		below := checker{rule: &Rule{CollectionGroup: path.Base(r.At(of)), Unless: r.Unless}, kind: criteria.OfDocuments}
		below.related(unlessRole, r.Unless)
		c.All = append(c.All, below.All...)
	}
	for n := range r.With {
		at, own := r.With[n].Key, r.At(of)
		c.relation(at, role, &r.With[n], criteria.OfDocuments, own, true)
		c.Expect(!strings.Contains(own, "/") || !slices.Equal(criteria.Holes(r.With[n].Document), []string{idHole}), at+".document",
			"ids repeat below other documents: name {parent} as well, or what the rule's path binds")
	}
	c.Expect(role != withRole || c.rule.Deletes(), key, "set and remove keep the document: leave with out")
}

// relatedWhere checks the conditions on what is related: an index must answer them.
func (c *checker) relatedWhere(key, role string, r *Relation) {
	if r.Where == nil {
		return
	}
	c.Expect(role != withRole, key+".where", "it is for what a query finds, in gone and unless")
	for n := range r.Where {
		at := fmt.Sprintf("%s.where[%d]", key, n)
		before := len(c.All)
		c.Condition(at, &r.Where[n], criteria.OfDocuments, c.bound())
		if filters, ranged, ok := r.Where[n].Filters(); len(c.All) == before && r.Document == "" {
			equal := ok && !ranged && !slices.ContainsFunc(filters, func(f documents.Filter) bool {
				return strings.HasPrefix(f.Op,
					"array")
			})
			c.Expect(equal, at, "no index answers it: of what is related, only ==, in and empty can be asked for")
		}
	}
	c.Expect(!r.isKey() && !r.isList(), key+".where", "no index answers it together with %s", r.Field)
}

// ofURLs matches the names of fields that hold URLs.
var ofURLs = regexp.MustCompile(`(?i)(^|_|\.|[a-z])(ur[il]s?)(\[\])?$`)

// naming checks a relation of documents whose field names the item.
func (c *checker) naming(key, role string, r *Relation) {
	c.collection(key+".collection", r.Collection, false)
	c.name(key+".collectionGroup", r.CollectionGroup)
	if c.kind == criteria.OfObjects {
		return
	}
	if r.Field != "" {
		c.Field(key+".field", r.PlainField())
	}
	several := r.isKey() || r.isList()
	c.Expect(r.Within == nil || !several, key+".within", "no index answers it together with %s", r.Field)
	if role != withRole {
		ofFiles := func(w Relation) bool { return w.Objects != "" && w.Field != "" }
		c.Expect(role != unlessRole || !ofURLs.MatchString(r.Field) || !slices.ContainsFunc(c.rule.With, ofFiles), key+".field",
			"a URL refers to a file, and unless looks for what refers to the document: to keep files that others use, leave objects out of "+
				"with, and write a rule about the files, with every such collection and field in gone")
		return
	}
	c.Expect(r.CollectionGroup == "", key+".collectionGroup", "in with, write collection: a query of all collections of a name "+
		"would find other people's documents")
	c.Expect(r.Collection == "" || r.Collection != c.rule.Source() || r.Remove, key+".collection",
		"it is the rule's own collection, whose documents would be deleted without being judged: leave it out")
	c.Expect(!r.Remove || several, key+".remove", "from which list or map? e.g. members[] or owners.{id}")
	c.Expect(r.Remove || !several, key+".field",
		`one of several that %s names: to take it out of them, add "remove":true`, r.Field)
	c.Expect(!r.Remove || r.With == nil, key+".with", "remove keeps the document: leave with out")
}

// document checks a document's path in a relation.
func (c *checker) document(key, role, path string, nested bool) {
	key += ".document"
	if collection, id := cutLast(path); c.kind == criteria.OfAccounts {
		right := len(criteria.Holes(collection)) == 0 && len(criteria.Holes(id)) == 1 && (strings.Contains(id, "{id}") ||
			strings.Contains(id, "{uid}")) &&
			strings.Count(path, "/")%2 == 1
		if c.Expect(right, key, "%q: for an account, write a collection and {uid}, such as users/{uid}", path); !right {
			return
		}
	}
	c.path(key, path, "")
	c.Expect(!strings.Contains(path, "/{"+parentHole+"}") || role == withRole && c.rule.CollectionGroup == "", key,
		"{parent} can only stand first here: write out what it stands for, such as chats/{chat}")
	if role != withRole {
		return
	}
	c.Expect(len(criteria.Holes(path)) > 0, key, "%q would be the same for every document: give it a hole, such as {id}", path)
	whole := path != "{"+parentHole+"}" && len(criteria.Holes(path)) == 1 && "{"+criteria.Holes(path)[0]+"}" == path
	c.Expect(!whole, key, "%q may be any document of the database: say in which collection it is, as in users/{id}", path)
	bound := append(criteria.Holes(c.rule.Collection), parentHole)
	c.Expect(nested || !c.rule.Repeats() || slices.ContainsFunc(criteria.Holes(path),
		func(hole string) bool { return slices.Contains(bound, hole) }), key,
		"ids repeat in %s: name what the rule's path binds, or {parent}", c.rule.Source())
}

// objectsAlong checks objects that go along with a document.
func (c *checker) objectsAlong(key string, r Relation, nested bool) {
	folder, below := strings.CutSuffix(r.Objects, "/"+Everything)
	pattern.Check(&c.Problems, key+".objects", r.Objects)
	c.Expect(below && !strings.Contains(folder, "*"), key+".objects", "%q is not a folder: write it like drafts/{id}/**", r.Objects)
	for _, hole := range criteria.Holes(r.Objects) {
		c.Expect(hole == idHole, key+".objects", "{%s} is not {id}: only the document's own folder can be deleted with it", hole)
	}
	c.Expect(!below || r.Field != "" || slices.Contains(strings.Split(folder, "/"), "{id}"), key+".objects",
		"%q: {id} must be the whole name of a folder, as in drafts/{id}/**", r.Objects)
	c.objectField(key, r.Field)
	c.Expect(r.Metadata == "" || r.Field != "", key+".metadata", "only objects that a field names can have it")
	c.OneKey(key+".metadata", r.Metadata)
	c.Expect(!nested, key, "objects can only be deleted with the rule's own documents: for files of others, write a rule about "+
		"the files with gone")
}

// withAccounts checks what is deleted with accounts: documents, each with what is deleted with it as in a rule about documents.
func (c *checker) withAccounts() {
	for i, w := range c.rule.With {
		key := w.Key
		collection, id := cutLast(w.Document)
		if id != "{"+uidHole+"}" && id != "{"+idHole+"}" || !slices.Equal(w.keys(), nil) && !slices.Equal(w.keys(), []string{"with"}) {
			c.Add(key, `which document? e.g. {"document":"users/{uid}"}, and in its with what else is deleted`)
			continue
		}
		c.collection(key+".document", collection, false)
		c.Expect(!slices.ContainsFunc(c.rule.Unless, func(u Relation) bool { return u.Place() == w.Place() }), key+".document",
			"unless keeps the account of such a document, so it would never be deleted: leave one of both out")
		c.Expect(!slices.ContainsFunc(c.rule.With[:i], func(u Relation) bool { return u.Place() == w.Place() }), key+".document",
			"%s is listed twice", collection)
		below := checker{rule: &Rule{Collection: collection, With: w.With}, kind: criteria.OfDocuments}
		below.related(withRole, w.With)
		c.All = append(c.All, below.All...)
		c.Expect(!below.rule.DeletesAccounts(), key+".with", "the rule deletes the account already: leave account out")
		of := func(w Along) bool { return strings.Contains(w.Document, "{"+uidHole+"}") }
		c.Expect(!slices.ContainsFunc(below.rule.Along(), of), key+".with",
			"{uid} would be a field of that document, which may name somebody else: write {id}")
	}
}
