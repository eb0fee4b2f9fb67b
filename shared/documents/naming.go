package documents

import (
	"strings"
	"unicode/utf8"
)

// longestBound is how many bytes of an id a condition asks for that cannot ask for all of them: what follows it, and the
// byte that an index adds, take the rest of the 1,500.
const longestBound = 1500 - 1 - utf8.UTFMax

// Naming returns a query for the documents whose field names an id, and whether one that it finds does. An id of 1,500 bytes
// is too long for a query: it is found by how it begins, and so may be others that begin alike.
func Naming(collection, field, id string) (q Query, names func(Document) bool) {
	q = Query{Collection: collection, Select: []string{field}}
	names = func(d Document) bool { return d.Value(field) == id }
	if Queryable(id) {
		q.Where = []Filter{{Field: field, Op: "==", Value: id}}
		return q, names
	}
	begin, last := id[:longestBound], string(utf8.MaxRune)
	for !utf8.ValidString(begin) || strings.HasPrefix(id[len(begin):], last) {
		begin = begin[:len(begin)-1]
	}
	q.Where = []Filter{{Field: field, Op: ">=", Value: begin}, {Field: field, Op: "<", Value: begin + last}}
	q.OrderBy = []string{field}
	return q, names
}
