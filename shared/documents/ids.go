package documents

import "strconv"

// IDOf returns the id of the document that a field's value names; ok is false if it names none. An application that numbers
// its documents may write a number where others write a string: 42 names the document with the id "42". Such numbers begin at
// 1, so 0 and negative numbers name nothing. Neither does a floating-point number, because it may stand for several whole
// numbers.
func IDOf(value any) (id string, ok bool) {
	switch v := value.(type) {
	case string:
		return v, ValidID(v)
	case int64:
		return strconv.FormatInt(v, 10), v > 0
	default:
		return "", false
	}
}

// NamesOf is the opposite of [IDOf]: it returns all values by which a field may name the document with an id. They are the id
// as a string and, if the id is a whole number without leading zeros, that number. In a query, the number also matches an
// equal floating-point number. To find all that refers to a document, ask for all of these values.
func NamesOf(id string) []any {
	names := []any{id}
	if n, err := strconv.ParseInt(id, 10, 64); err == nil && strconv.FormatInt(n, 10) == id {
		names = append(names, n)
	}
	return names
}

// Ref returns a reference to a document, for a [Filter] to compare with. It is nil if the path is not a document's path.
func (r Reader) Ref(path string) any {
	if ref := r.c.firestore.Doc(path); ref != nil {
		return ref
	}
	return nil
}
