package rule

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule/criteria"
	"github.com/firesweep/firesweep/shared/rule/pattern"
)

// related checks the relations of a role.
func (c *checker) related(role string, all []Relation) {
	for i, r := range all {
		if r.kind() != nil || role != UnlessRole || r.Field == "" {
			c.relation(role, &all[i], c.kind, c.rule.Place(), false)
			continue
		}
		c.Condition(r.Key, r.Condition(), c.kind, c.bound())
		c.Expect(r.Where == nil && r.Within == nil && !r.Remove && r.With == nil && r.Metadata == "", r.Key,
			"a condition has a field and its operators, and nothing else")
	}
}

// relation checks a relation to items of a kind and place. It may be nested: of what is deleted with the rule's items.
func (c *checker) relation(role string, r *Relation, kind string, of Place, nested bool) {
	if !c.oneKey(role, r, kind) {
		return
	}
	key := r.Key
	c.relatedWhere(r)
	switch r.kind().key {
	case "document":
		c.document(key, role, r.Document)
	case "account":
		at := key + ".account"
		switch isHole := len(criteria.Holes(r.Account)) > 0 && !strings.Contains(r.Account, "/"); {
		case role == WithRole:
			c.Expect(r.Account == "{id}" && !nested, at, `whose? "{id}"`)
		case !isHole: // the same for all, or a path
			c.Add(at, "%q is no uid: write {id}, or a field in braces, such as {ownerId}", r.Account)
		default:
			c.path(at, "users/"+r.Account)
		}
	case "subcollection":
		if r.Subcollection != Everything || role != WithRole {
			pattern.CheckName(&c.Problems, key+".subcollection", r.Subcollection, `write a name or, in with, "**" for all that is below`)
			break
		}
		c.Expect(r.With == nil && c.rule.CollectionGroup == "" && !nested, key+".subcollection",
			"** is only for what is below the rule's own documents, in a rule with collection: write the name of the subcollection")
	case "objects":
		c.objectsAlong(key, *r)
		c.Expect(!nested, key, "objects can only be deleted with the rule's own documents: for files of others, write a rule about "+
			"the files with gone")
	default:
		c.naming(key, role, r)
	}
	unsure := c.rule.Place().Repeats() && c.byID(*r)
	if role == WithRole && !nested && unsure && len(c.rule.FieldHoles(r.Document)) > 0 {
		c.Add(key, "with deletes what a field refers to only where the rule is about a collection at the top: write a rule about "+
			"it, with gone")
		unsure = false
	}
	c.Expect(role != WithRole || nested || !unsure, key, "ids repeat in %s, so what has the item's id may belong to another: write "+
		"a path with {parent} or what the rule's path has in braces, a field that holds references, or a rule about it, with gone",
		c.rule.Source())
	if r.Within != nil {
		c.Age(key+".within", r.Within, c.kind)
		c.Expect(r.Within.Indexed(), key+".within", "it must have a field")
	}
	if r.Unless != nil {
		c.Expect(!r.Remove && r.Subcollection != Everything, key+".unless", "it keeps what is deleted: leave it out")
		below := checker{rule: &Rule{CollectionGroup: r.Place(of).name()}, kind: criteria.OfDocuments}
		below.related(UnlessRole, r.Unless)
		c.All = append(c.All, below.All...)
	}
	own := r.Place(of)
	for n := range r.With {
		w := &r.With[n]
		c.relation(role, w, criteria.OfDocuments, own, true)
		c.Expect(!own.Repeats() || !slices.Equal(criteria.Holes(w.Document), []string{idHole}), w.Key+".document",
			"ids repeat below other documents: name {parent} as well, or what the rule's path binds")
	}
	c.Expect(role != WithRole || c.rule.Deletes(), key, "set and remove keep the document: leave with out")
}

// oneKey checks which keys a relation has. It reports whether it has one that says what is related.
func (c *checker) oneKey(role string, r *Relation, kind string) bool {
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
		case kind == criteria.OfAccounts:
			c.Add(r.Key, `write a document of the account's uid, such as {"document": "users/{uid}"}, or a condition, such as `+
				`{"field": "claims.admin", "==": true}`)
		case kind == criteria.OfObjects && r.Account != "":
			c.Add(r.Key, `files know no account: write a document of its uid, such as {"document": "users/{uid}"}`)
		case len(keys) == 1:
			c.Add(r.Key, "give %s: no other relation is for %s", keys[0], kind)
		case len(keys) > 1:
			c.Add(r.Key, "give exactly one of %s", criteria.List(keys, "and"))
		}
		return false
	}
	k := r.kind()
	for _, key := range r.keys() {
		judged := key != "where" || k.key != "document" || role == UnlessRole && kind == criteria.OfDocuments
		switch roles := rolesOf[key]; {
		case !judged && role == GoneRole && kind == criteria.OfDocuments:
			c.Add(r.Key+"."+key, `gone asks only whether the document exists: write all of it into "unless", which keeps the item `+
				"while there is one")
		case !slices.Contains(k.keys, key), !judged:
			c.Add(r.Key+"."+key, "it cannot be beside %s: leave it out", k.key)
		case roles != nil && !slices.Contains(roles, role):
			c.Add(r.Key+"."+key, "it is for %s: leave it out", criteria.List(roles, "and"))
		}
	}
	c.Expect(!k.field || r.Field != "", r.Key, "%s and field belong together: which of its fields refers to the item? One document "+
		`by its path is {"document": "users/{id}"}`, k.key)
	return true
}

// byID reports whether a relation finds what is related by the item's id alone.
func (c *checker) byID(r Relation) bool {
	bound := append(criteria.Holes(c.rule.Collection), parentHole)
	isBound := func(hole string) bool { return slices.Contains(bound, hole) }
	return r.isKey() || r.Account != "" || r.Objects != "" && r.Field == "" ||
		r.Document != "" && !slices.ContainsFunc(criteria.Holes(r.Document), isBound)
}

// relatedWhere checks the conditions on what is related: an index must answer them.
func (c *checker) relatedWhere(r *Relation) {
	for n, w := range r.Where {
		at := fmt.Sprintf("%s.where[%d]", r.Key, n)
		before := len(c.All)
		c.Condition(at, w, criteria.OfDocuments, c.bound())
		filters, ranged, ok := w.Filters()
		ofList := func(f documents.Filter) bool { return strings.HasPrefix(f.Op, "array") }
		c.Expect(len(c.All) > before || r.Document != "" || ok && !ranged && !slices.ContainsFunc(filters, ofList), at,
			"no index answers it: of what is related, only ==, in and empty can be asked for")
	}
	c.Expect(r.Where == nil || !r.isKey() && !r.isList(), r.Key+".where", "no index answers it together with %s", r.Field)
}

// naming checks a relation of documents whose field names the item.
func (c *checker) naming(key, role string, r *Relation) {
	if above := path.Dir(r.Collection); role == WithRole && strings.Contains(above, "{") && !strings.Contains(above, "{id}") {
		c.Add(key+".collection", "%q is many collections, and with looks in one: write a rule about these documents, with gone, or "+
			"have documents of one collection refer to the item", r.Collection)
		return
	}
	pattern.CheckCollection(&c.Problems, key+".collection", r.Collection, false)
	pattern.CheckName(&c.Problems, key+".collectionGroup", r.CollectionGroup, "write a relation for each name")
	if c.kind == criteria.OfObjects {
		return
	}
	if r.Field != "" {
		c.Field(key+".field", r.PlainField())
	}
	several := r.isKey() || r.isList()
	c.Expect(r.Within == nil || !several, key+".within", "no index answers it together with %s", r.Field)
	if role != WithRole {
		return
	}
	c.Expect(r.Collection == "" || r.Collection != c.rule.Source() || r.Remove, key+".collection",
		"it is the rule's own collection, whose documents would be deleted without being judged: leave it out")
	c.Expect(!r.Remove || several, key+".remove", "from which list or map? e.g. members[] or owners.{id}")
	c.Expect(r.Remove || !several, key+".field",
		`one of several that %s names: to take it out of them, add "remove":true`, r.Field)
	c.Expect(!r.Remove || r.With == nil, key+".with", "remove keeps the document: leave with out")
}

// document checks a document's path in a relation.
func (c *checker) document(key, role, path string) {
	key += ".document"
	holes := criteria.Holes(path)
	if c.kind == criteria.OfAccounts {
		collection, id := cutLast(path)
		right := len(criteria.Holes(collection)) == 0 && len(holes) == 1 && strings.Count(path, "/")%2 == 1 &&
			(strings.Contains(id, "{"+idHole+"}") || strings.Contains(id, "{"+uidHole+"}"))
		if c.Expect(right, key, "%q: for an account, write a collection and {uid}, such as users/{uid}", path); !right {
			return
		}
	}
	before := len(c.All)
	if c.path(key, path); len(c.All) > before {
		return
	}
	c.Expect(!strings.Contains(path, "/{"+parentHole+"}") || role == WithRole && c.rule.CollectionGroup == "", key,
		"{parent} can only stand first here: write out what it stands for, such as chats/{chat}")
	c.Expect(len(holes) > 0 || c.rule.ByReference(), key, "%q would be the same for each of the %s: fill in an id, such as "+
		"{id} or a field's in braces", path, c.kind)
	own := slices.Contains([]string{c.rule.Collection + "/{id}", "{parent}/" + c.rule.Name() + "/{id}"}, path)
	c.Expect(!own || c.kind != criteria.OfDocuments, key, "%q is the item itself: write what it belongs to", path)
	whole, isHole := criteria.HoleOf(path)
	c.Expect(role != WithRole || !isHole || whole == parentHole || whole == idHole, key,
		"%q may be any document of the database: say in which collection it is, as in users/{id}", path)
}

// objectsAlong checks objects that are deleted with a document.
func (c *checker) objectsAlong(key string, r Relation) {
	folder, below := strings.CutSuffix(r.Objects, "/"+Everything)
	byID := slices.Contains(strings.Split(folder, "/"), "{"+idHole+"}")
	others := func(hole string) bool { return hole != idHole }
	pattern.Check(&c.Problems, key+".objects", r.Objects)
	right := below && !strings.Contains(folder, "*") && !slices.ContainsFunc(criteria.Holes(folder), others)
	c.Expect(right && (byID || r.Field != ""), key+".objects",
		`%q is neither a folder of the item's id, such as drafts/{id}/**, nor one with "field", such as `+
			`{"objects": "drafts/**", "field": "coverUrl"}`, r.Objects)
	c.objectField(key, r.Field)
	c.Expect(r.Metadata == "" || r.Field != "", key+".metadata", "only objects to which a field refers can have it: add field")
	c.OneKey(key+".metadata", r.Metadata)
}

// withAccounts checks what is deleted with accounts: documents, each with what is deleted with it as in a rule about documents.
func (c *checker) withAccounts() {
	for i, w := range c.rule.With {
		key := w.Key
		collection, id := cutLast(w.Document)
		others := func(key string) bool { return key != WithRole && key != UnlessRole }
		if id != "{"+uidHole+"}" && id != "{"+idHole+"}" || slices.ContainsFunc(w.keys(), others) {
			c.Add(key, `which document? e.g. {"document":"users/{uid}"}, in its with what else is deleted, and in its unless what `+
				"keeps it")
			continue
		}
		pattern.CheckCollection(&c.Problems, key+".document", collection, false)
		c.Expect(!slices.ContainsFunc(c.rule.Unless, func(u Relation) bool { return u.Place("") == w.Place("") }), key+".document",
			"unless keeps the account of such a document, so it would never be deleted: leave one of both out")
		c.Expect(!slices.ContainsFunc(c.rule.With[:i], func(u Relation) bool { return u.Place("") == w.Place("") }), key+".document",
			"%s is listed twice", collection)
		below := checker{rule: &Rule{Collection: collection, With: w.With}, kind: criteria.OfDocuments}
		below.related(WithRole, w.With)
		below.related(UnlessRole, w.Unless)
		c.All = append(c.All, below.All...)
		c.Expect(!below.rule.DeletesAccounts(), key+".with", "the rule deletes the account already: leave account out")
		of := func(w Placed) bool { return strings.Contains(w.Document, "{"+uidHole+"}") }
		c.Expect(!slices.ContainsFunc(below.rule.Along(), of), key+".with",
			"{uid} would be a field of that document, which may name somebody else: write {id}")
	}
}
