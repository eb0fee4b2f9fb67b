package documents

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"cloud.google.com/go/firestore"
)

// ErrUnqueryable says that a query asks for a value that is too large for one. Nothing was sent. Firestore refuses such
// a query as a whole, so whoever asks for many values at once leaves this one out (see [Queryable]) and decides about
// what it belongs to by itself.
var ErrUnqueryable = errors.New("a value that is too large for a query")

// maxQueried is how large a value can be that a query asks for, as [Size] counts: of a longer one an index holds only the
// beginning. A text takes a byte more than it has, so an id can be too long for a query and still name a document.
const maxQueried = 1500

// Queryable reports whether a query can ask for a value of a field: whether a text has at most 1,499 bytes, for example. It
// does not matter for names of documents, which [Reader.Missing] looks up.
func Queryable(value any) bool {
	if ref, ok := value.(*firestore.DocumentRef); ok {
		return ref != nil && nameSize(relative(ref)) <= maxQueried
	}
	if list, ok := value.([]string); ok {
		size := 0
		for _, text := range list {
			size += ValueSize(text)
		}
		return size <= maxQueried
	}
	return ValueSize(value) <= maxQueried
}

// checkValues returns [ErrUnqueryable] if a condition of the query asks for a value that is too large. The value itself
// is not in the error: a user may have written it.
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

// alternatives returns the values of which a condition asks for any one.
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
