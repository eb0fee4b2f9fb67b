package decide

import (
	"strings"
	"unicode/utf8"

	"github.com/firesweep/firesweep/shared/documents"
)

// longestBound is how many bytes of a too long id a condition asks for. A character behind them and the byte that Firestore
// adds to a string take the rest of the 1,500 bytes that an index holds.
const longestBound = 1500 - 1 - utf8.UTFMax

// naming returns a query for the documents whose field names an id, and a function that reports whether a document that it
// finds does so. An id of 1,500 bytes is too long for a query: the query then asks for its beginning, and may also find other
// ids with the same beginning.
func naming(collection, field, id string) (q documents.Query, names func(documents.Document) bool) {
	q = documents.Query{Collection: collection, Select: []string{field}}
	names = func(d documents.Document) bool { return d.Value(field) == id }
	if documents.Queryable(id) {
		q.Where = []documents.Filter{{Field: field, Op: "==", Value: id}}
		return q, names
	}
	begin, last := id[:longestBound], string(utf8.MaxRune)
	for !utf8.ValidString(begin) || strings.HasPrefix(id[len(begin):], last) {
		begin = begin[:len(begin)-1]
	}
	q.Where = []documents.Filter{{Field: field, Op: ">=", Value: begin}, {Field: field, Op: "<", Value: begin + last}}
	q.OrderBy = []string{field}
	return q, names
}
