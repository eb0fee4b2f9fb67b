package rule

import (
	"regexp"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/rule/criteria"
	"github.com/firesweep/firesweep/shared/rule/pattern"
)

var (
	holeField     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*(\[\]|\.\*)?$`)
	objectPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\[\])?(\.[A-Za-z_][A-Za-z0-9_]*(\[\])?)*$`)
)

// path checks a document's path, which may have holes.
func (c *checker) path(key, path string) {
	pattern.CheckDollar(&c.Problems, key, path)
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
			pattern.CheckForeign(&c.Problems, key, part)
		}
		switch plain := criteria.Hole.ReplaceAllString(part, "x"); {
		case strings.Contains(plain, "*"):
			c.Add(key, "* in %q is no id: write {id}, a field such as {userId}, or {map.*} for each key of a map", path)
		case !pattern.PlainID(plain):
			c.Add(key, "%q is not a part of a path", part)
		}
	}
	if len(parts)%2 == 0 && strings.HasSuffix(path, "/{"+parentHole+"}") {
		c.Add(key, "{%s} is the path of the document above, so a field of this name cannot be filled in: give it another name",
			parentHole)
		return
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
