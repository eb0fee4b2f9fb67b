package documents

import (
	"strings"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/shared/documents/docsize"
)

// maxQueried is how large a value in a query can be, in bytes as [docsize.Of] counts them: an index holds only the beginning of a
// longer one. A string counts one byte more than it has, so an id can be too long for a query and still name a document.
const maxQueried = 1500

// Queryable reports whether a query can ask for a value of a field. A string, for example, may have at most 1,499 bytes.
// Firestore refuses a query that asks for a larger one as a whole: if you ask for many values at once, leave it out, and decide
// about its items separately. The limit does not apply to documents' names, which [Reader.Missing] looks up.
func Queryable(value any) bool {
	if ref, ok := value.(*firestore.DocumentRef); ok {
		return ref != nil && docsize.OfName(relative(ref)) <= maxQueried
	}
	if list, ok := value.([]string); ok {
		size := 0
		for _, text := range list {
			size += docsize.OfValue(text)
		}
		return size <= maxQueried
	}
	return docsize.OfValue(value) <= maxQueried
}

// Past is [Query.After], but the cursor is one that a query can ask for whatever strings it goes through. An index holds only
// the beginning of a string that is too long for a query. Behind such a string, the cursor is the one behind all strings with
// the same beginning, so those that were not read yet are left out. The cursor is empty if no string comes behind them.
func (q Query) Past(d Document) (Cursor, error) {
	last := false
	cursor, err := q.cursor(d, func(field string) any {
		text, isText := d.Text(field)
		if !isText || Queryable(text) {
			return d.Value(field)
		}
		const greatest = "\U0010FFFF" // character
		behind := strings.ToValidUTF8(text[:maxQueried-1-len(greatest)], "") + greatest
		last = last || behind <= text
		return behind
	})
	if last {
		return "", nil
	}
	return cursor, err
}
