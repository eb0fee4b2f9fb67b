// Package pattern holds patterns of objects' names, such as avatars/{uid}.* or chats/{chat}/images/**, and checks them and names
// of collections.
package pattern

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

// Everything stands for all that is below.
const Everything = "**"

// Check checks that a text is a pattern.
func Check(p *criteria.Problems, key, pattern string) {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		last := i == len(parts)-1
		plain := strings.ReplaceAll(criteria.Hole.ReplaceAllString(strings.TrimSuffix(part, ".*"), "x"), "*", "x")
		if part == Everything && last || documents.ValidID(plain) && !strings.ContainsAny(plain, "{}") &&
			!strings.Contains(part, Everything) && (last || !strings.HasSuffix(part, ".*")) {
			continue
		}
		hint := ""
		switch {
		case strings.Contains(pattern, "://"):
			hint = "; leave out what stands before the object's name"
		case last && part == "":
			hint = fmt.Sprintf("; all below it is %q", pattern+Everything)
		}
		p.Add(key, "%q is not a pattern of objects' names, such as avatars/{uid}.* or chats/{chat}/images/**%s", pattern, hint)
		return
	}
}

// CheckDollar checks that holes are not written as in a template of JavaScript.
func CheckDollar(p *criteria.Problems, key, text string) {
	p.Expect(!strings.Contains(text, "${"), key, "write {name}, without $, in %q", text)
}

// CheckHoles checks that it is clear what each hole of a pattern stands for.
func CheckHoles(p *criteria.Problems, key, pattern string) {
	for part := range strings.SplitSeq(pattern, "/") {
		several := strings.Count(part, "{")+strings.Count(strings.TrimSuffix(part, ".*"), "*") > 1
		CheckDollar(p, key, part)
		p.Expect(len(criteria.Holes(part)) == 0 || !several, key,
			"%q has two holes in one part, or a hole and a *, and nobody knows where one ends", part)
	}
	p.Expect(strings.Count(pattern, "{") == len(criteria.Holes(pattern)), key, "%q has the same hole twice", pattern)
}

// holeOrStar matches what stands for something in a part of a pattern, as [regexp.QuoteMeta] writes it.
var holeOrStar = regexp.MustCompile(`\\\{[^{}]*\\\}|\\\*`)

// Binds returns what reports whether an object's name is one of a pattern, and what the pattern's holes stand for in it.
func Binds(pattern string) func(name string) (bound map[string]string, ok bool) {
	pattern, bare := strings.CutSuffix(pattern, ".*") // bare: names are matched without what follows their last dot
	parts, holes := strings.Split(pattern, "/"), [][]string{}
	for n, part := range parts {
		if part == Everything {
			parts[n] = "(?s:.+)"
			continue
		}
		holes = append(holes, criteria.Hole.FindAllStringSubmatch(part, -1)...)
		parts[n] = holeOrStar.ReplaceAllStringFunc(regexp.QuoteMeta(part), func(of string) string {
			if of == `\*` {
				return "[^/]*"
			}
			return "([^/]+?)"
		})
	}
	matches := regexp.MustCompile("^" + strings.Join(parts, "/") + "$")
	return func(name string) (map[string]string, bool) {
		if bare {
			name = strings.TrimSuffix(name, path.Ext(name))
		}
		m := matches.FindStringSubmatch(name)
		if m == nil {
			return nil, false
		}
		bound := map[string]string{}
		for n, hole := range holes {
			bound[hole[1]] = m[n+1]
		}
		return bound, true
	}
}

// Folder returns the folder that all objects of a pattern lie below: its literal beginning.
func Folder(pattern string) string {
	i := strings.IndexAny(pattern, "{*")
	if i < 0 {
		i = len(pattern)
	}
	return pattern[:strings.LastIndexByte(pattern[:i], '/')+1]
}

// PlainID reports whether a text can name a collection or a document, and stands for nothing else.
func PlainID(id string) bool { return documents.ValidID(id) && !strings.ContainsAny(id, "{}*") }

// CheckCollection checks a collection's path, unless it is empty. It may have holes for ids if it is what the rule goes through.
func CheckCollection(p *criteria.Problems, key, of string, binds bool) {
	if of == "" {
		return
	}
	parts, seen := strings.Split(of, "/"), map[string]bool{}
	right := len(parts)%2 == 1
	for i, part := range parts {
		hole, isHole := criteria.HoleOf(part)
		right = right && (PlainID(part) || binds && isHole && i%2 == 1 && criteria.Name.MatchString(hole) && !seen[hole])
		seen[hole] = isHole
	}
	CheckForeign(p, key, parts...)
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
	case strings.Contains(above, "{id}"):
		hint = fmt.Sprintf(`: for what lies below the item write "subcollection": %q`, name)
	case strings.Contains(above, "{"):
		hint = fmt.Sprintf(`: for all collections of this name write "collectionGroup": %q`, name)
	}
	p.Add(key, "%q is not a collection, such as %s%s", of, example, hint)
}

// CheckName checks a collection's name, unless it is empty.
func CheckName(p *criteria.Problems, key, name, instead string) {
	CheckForeign(p, key, name)
	switch {
	case strings.Contains(name, "*"):
		p.Add(key, "* in %q is not every collection: %s", name, instead)
	case name != "" && !PlainID(name):
		p.Add(key, "%q is not a collection's name, which has no slash: is it %q?", name, path.Base(name))
	}
}

// CheckForeign checks that no name is that of one of the bundle's own collections.
func CheckForeign(p *criteria.Problems, key string, names ...string) {
	for _, name := range names {
		p.Expect(!slices.Contains(collections.Names(), name), key, "%s belongs to Firesweep itself", name)
	}
}
