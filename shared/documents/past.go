package documents

import (
	"maps"
	"strings"
)

// Past is [Query.After] for a query that is ordered by a string field first. The cursor must be one that a query can ask for.
// An index holds only the beginning of a string that is too long for a query. Behind such a string, the cursor is the one
// behind all strings with the same beginning, so those that were not read yet are left out. The cursor is empty if no string
// comes behind them.
func (q Query) Past(d Document) (Cursor, error) {
	text, _ := d.Text(q.OrderBy[0])
	if !Queryable(text) {
		const last = "\U0010FFFF" // the last character
		behind := strings.ToValidUTF8(text[:maxQueried-1-len(last)], "") + last
		if behind <= text {
			return "", nil
		}
		d.Data = maps.Clone(d.Data)
		d.Data[q.OrderBy[0]] = behind
	}
	return q.After(d)
}
