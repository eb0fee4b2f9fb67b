package rule

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

var (
	holeField     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*(\[\]|\.\*)?$`)
	objectPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\[\])?(\.[A-Za-z_][A-Za-z0-9_]*(\[\])?)*$`)
)

// plainID reports whether a text can name a collection or a document, and stands for nothing else.
func plainID(id string) bool { return documents.ValidID(id) && !strings.ContainsAny(id, "{}*") }

// collection checks a collection's path, unless it is empty. It may have holes for ids if it is what the rule goes through.
func (c *checker) collection(key, of string, binds bool) {
	if of == "" {
		return
	}
	parts, seen := strings.Split(of, "/"), map[string]bool{}
	right := len(parts)%2 == 1
	for i, part := range parts {
		hole, isHole := criteria.HoleOf(part)
		right = right && (plainID(part) || binds && isHole && i%2 == 1 && criteria.Name.MatchString(hole) && !seen[hole])
		seen[hole] = isHole
	}
	c.foreign(key, parts...)
	if right {
		return
	}
	example, above, name := "drafts", path.Dir(of), path.Base(of)
	if binds {
		example += " or chats/{chat}/users"
	}
	hint := ""
	switch {
	case strings.Contains(of, "*"):
		hint = "; for any id write {x}, as in chats/{chat}/users"
	case strings.Trim(of, "/") != of:
		hint = ": leave out the slash at its beginning and its end"
	case len(parts)%2 == 0:
		hint = fmt.Sprintf(", but the path of a document: write %q", above)
	case strings.Contains(above, "{"+idHole+"}"):
		hint = fmt.Sprintf(`: for what lies below the item write "subcollection": %q`, name)
	case strings.Contains(above, "{"):
		hint = fmt.Sprintf(`: for all collections of this name write "collectionGroup": %q`, name)
	}
	c.Add(key, "%q is not a collection, such as %s%s", of, example, hint)
}

// name checks a collection's name, unless it is empty.
func (c *checker) name(key, name, instead string) {
	c.foreign(key, name)
	switch {
	case strings.Contains(name, "*"):
		c.Add(key, "* in %q is not every collection: %s", name, instead)
	case name != "" && !plainID(name):
		c.Add(key, "%q is not a collection's name, which has no slash: is it %q?", name, path.Base(name))
	}
}

// foreign checks that no name is that of one of the bundle's own collections.
func (c *checker) foreign(key string, names ...string) {
	for _, name := range names {
		c.Expect(!slices.Contains(collections.Names(), name), key, "%s belongs to Firesweep itself", name)
	}
}

// path checks a document's path, which may have holes.
func (c *checker) path(key, path string) {
	for _, hole := range criteria.Holes(path) {
		c.hole(key, hole)
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
		switch plain := criteria.Hole.ReplaceAllString(part, "x"); {
		case strings.Contains(plain, "*"):
			c.Add(key, "* in %q is no id: write {id}, a field such as {userId}, or {map.*} for each key of a map", path)
		case !plainID(plain):
			c.Add(key, "%q is not a part of a path", part)
		}
	}
	even := (len(parts)+strings.Count("/"+strings.Join(parts, "/")+"/", "/{"+parentHole+"}/"))%2 == 0
	c.Expect(even, key, "%q is not a document's path, such as users/{id}", path)
}

// hole checks that what is filled in in a document's path is something that the item has.
func (c *checker) hole(key, hole string) {
	bound, known, unknown := append(c.bound(), parentHole), holeField.MatchString(hole), "{%s} is neither {id} nor a field"
	switch c.kind {
	case criteria.OfAccounts:
		bound, known, unknown = []string{idHole, uidHole}, false, "{%s} is nothing that an account has: write {uid}"
	case criteria.OfObjects:
		bound = criteria.Holes(c.rule.Objects)
		known = strings.HasPrefix(hole, "metadata.") && !strings.Contains(hole, "*")
		unknown = "{%[1]s} is not in the names of the objects: write {%[1]s} into objects where the id is, or {metadata.KEY} here"
	}
	c.Expect(known || slices.Contains(bound, hole), key, unknown, hole)
}

// objectField checks the name of a field that names objects, unless it is empty.
func (c *checker) objectField(key, field string) {
	c.Expect(field == "" || objectPattern.MatchString(field), key+".field",
		"%q is not a field's name: use letters, digits and _, dots for fields of maps, and [] for each element of a list", field)
}
