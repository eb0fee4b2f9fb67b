package posts

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/firesweep/firesweep/shared/documents"
)

// longestBound is how many bytes of an id a condition asks for that cannot ask for all of them: what follows it, and the
// byte that an index adds, take the rest of the 1,500.
const longestBound = 1500 - 1 - utf8.UTFMax

// Naming returns a query for the documents whose field names an id, and whether one that it finds does. An id of 1,500 bytes
// is too long for a query: it is found by how it begins, and so may be others that begin alike.
func Naming(collection, field, id string) (q documents.Query, names func(documents.Document) bool) {
	q = documents.Query{Collection: collection, Select: []string{field}}
	names = func(d documents.Document) bool { return d.Data[field] == id }
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

// errManyAlike is why what belongs to an id of 1,500 bytes is not told apart from what belongs to others.
var errManyAlike = errors.New("too many documents name ids of 1,500 bytes that begin alike: delete it by hand")

// maxAlike is how many documents are looked through for those that name an id of 1,500 bytes.
const maxAlike = 1000

// First returns the first documents whose field names an id, at most limit, read in a transaction.
func First(tx *documents.Transaction, collection, field, id string, limit int) ([]documents.Document, error) {
	q, names := Naming(collection, field, id)
	if len(q.OrderBy) == 0 {
		return tx.Query(q, limit)
	}
	alike, err := tx.Query(q, maxAlike)
	if err != nil {
		return nil, err
	}
	var found []documents.Document
	for _, d := range alike {
		if names(d) && len(found) < limit {
			found = append(found, d)
		}
	}
	if len(alike) == maxAlike && len(found) < limit {
		return nil, errManyAlike
	}
	return found, nil
}
