package rule

import (
	"regexp"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
)

// Fields returns the fields whose values fill the holes of the path.
func (u Unless) Fields() (fields []string) {
	for _, hole := range holePattern.FindAllStringSubmatch(u.Document, -1) {
		if hole[1] != "id" && !slices.Contains(fields, hole[1]) {
			fields = append(fields, hole[1])
		}
	}
	return fields
}

// Of returns the document that keeps a given one while it exists. ok is false if a field that fills a hole holds no id.
func (u Unless) Of(d documents.Document) (ref documents.Ref, ok bool) {
	ok = true
	path := holePattern.ReplaceAllStringFunc(u.Document, func(hole string) string {
		if hole == "{id}" {
			return d.ID()
		}
		id, named := documents.IDOf(d.Value(strings.Trim(hole, "{}")))
		ok = ok && named
		return id
	})
	if !ok {
		return ref, false
	}
	ref, err := documents.RefOf(path)
	return ref, err == nil
}

// Keepers is where the documents of an [Unless] are.
type Keepers struct {
	Collection string // as the rule writes it
	Group      string // the collection's name, if holes in its path make it many collections; empty if it is one
}

// Keepers returns where the documents are.
func (u Unless) Keepers() Keepers {
	collection, _ := cutLast(u.Document)
	in := Keepers{Collection: collection}
	if strings.Contains(collection, "{") {
		_, in.Group = cutLast(collection)
	}
	return in
}

// accountHole matches what stands for an account's uid.
var accountHole = regexp.MustCompile(`\{u?id\}`)

// OfAccount returns the document that keeps an account while it exists. ok is false if the uid makes no valid id.
func (u Unless) OfAccount(uid string) (ref documents.Ref, ok bool) {
	collection, id := cutLast(u.Document)
	ref = documents.Ref{Collection: collection, ID: accountHole.ReplaceAllLiteralString(id, uid)}
	return ref, documents.ValidID(ref.ID)
}

// cutLast returns the text before the last slash, and the text after it.
func cutLast(path string) (before, after string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}
