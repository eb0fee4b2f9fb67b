package documents

import (
	"maps"
	"strings"
)

// Past returns the cursor behind a document, where the order begins with a field of texts and the cursor must be one that a query
// can ask for. An index holds only the beginning of a text that is too long for a query, so behind one of those it is the cursor
// behind all that begin alike: what of them has not been read yet is left out. It is empty if no text comes behind those.
func (q Query) Past(d Document) (Cursor, error) {
	text, _ := d.Text(q.OrderBy[0])
	if !Queryable(text) {
		const last = "\U0010FFFF" // no character comes after it
		behind := strings.ToValidUTF8(text[:maxQueried-1-len(last)], "") + last
		if behind <= text {
			return "", nil
		}
		d.Data = maps.Clone(d.Data)
		d.Data[q.OrderBy[0]] = behind
	}
	return q.After(d)
}
