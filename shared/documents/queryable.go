package documents

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/shared/documents/docsize"
)

// ErrUnqueryable says that a query asks for a value that is too large for a query. Nothing was sent. Firestore refuses such a
// query as a whole. So if you ask for many values at once, leave this one out (see [Queryable]) and decide about its items
// separately.
var ErrUnqueryable = errors.New("a value that is too large for a query")

// maxQueried is how large a value in a query can be, in bytes as [docsize.Of] counts them: an index holds only the beginning of a
// longer one. A string counts one byte more than it has, so an id can be too long for a query and still name a document.
const maxQueried = 1500

// Queryable reports whether a query can ask for a value of a field. A string, for example, may have at most 1,499 bytes. The
// limit does not apply to documents' names, which [Reader.Missing] looks up.
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

// checkValues returns [ErrUnqueryable] if a condition of the query asks for a value that is too large. The error does not
// contain the value, because a user may have written it.
func (q Query) checkValues() error {
	for _, group := range append([][]Filter{q.Where}, q.Any...) {
		for _, f := range group {
			tooLarge := func(value any) bool { return !Queryable(value) }
			if f.Field != firestore.DocumentID && slices.ContainsFunc(f.alternatives(), tooLarge) {
				return fmt.Errorf("%s %s: %w", f.Field, f.Op, ErrUnqueryable)
			}
		}
	}
	return nil
}

// alternatives returns the values any of which meets the condition.
func (f Filter) alternatives() []any {
	list := reflect.ValueOf(f.Value)
	if f.Op != "in" && f.Op != "not-in" && f.Op != "array-contains-any" || list.Kind() != reflect.Slice {
		return []any{f.Value}
	}
	all := make([]any, list.Len())
	for i := range all {
		all[i] = list.Index(i).Interface()
	}
	return all
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
