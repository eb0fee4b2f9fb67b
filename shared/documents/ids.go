package documents

import "strconv"

// IDOf returns the id of the document that a field's value names; ok is false if it names none. An application that numbers
// its rows may keep a number where others keep a text: 42 is the document of the id "42". It numbers them from 1 on: 0 and
// negative numbers stand for nothing. A real number names nothing either, for it may stand for several whole ones.
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

// NamesOf returns the values by which a field may name the document of an id, the opposite of [IDOf]: the id as a text and,
// if it is a number as an application writes one, that number, which in a query also stands for the real number of the same
// value. Whoever asks whether anything refers to a document asks for all of them.
func NamesOf(id string) []any {
	names := []any{id}
	if n, err := strconv.ParseInt(id, 10, 64); err == nil && strconv.FormatInt(n, 10) == id {
		names = append(names, n)
	}
	return names
}

// Ref returns a value that is a reference to a document, for a [Filter] to compare with. It is nil if the path is none of
// a document.
func (r Reader) Ref(path string) any {
	if ref := r.c.firestore.Doc(path); ref != nil {
		return ref
	}
	return nil
}
