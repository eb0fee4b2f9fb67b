package modeltest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cloud.google.com/go/firestore"
	"pgregory.net/rapid"
)

// LongestAsked is the longest id that a query can ask for. TooLong is one byte longer, and can still name a document.
var (
	LongestAsked = strings.Repeat("長", 499) + "xx"
	TooLong      = LongestAsked + "x"
)

// IDOf returns the id that a field's value names: the id itself, or that of a number. It is "" if the value names nothing.
func IDOf(value any) string {
	if n, isNumber := value.(int64); isNumber && n >= 1 {
		return fmt.Sprint(n)
	}
	id, _ := value.(string)
	reserved := len(id) > 3 && strings.HasPrefix(id, "__") && strings.HasSuffix(id, "__")
	mistake := slices.Contains([]string{"undefined", "null", "NaN", "true", "false", "[object Object]"}, id)
	if len(id) > 1500 || strings.Contains(id, "/") || id == "." || id == ".." || reserved || mistake || strings.TrimSpace(id) != id {
		return ""
	}
	return id
}

// IDIn is [IDOf], and the id of a document of a collection to which a reference leads. It is "" for a reference to elsewhere.
func IDIn(collection string, value any) string {
	if ref, isReference := value.(*firestore.DocumentRef); isReference {
		if ref.Parent.ID != collection || ref.Parent.Parent != nil {
			return ""
		}
		return IDOf(ref.ID)
	}
	return IDOf(value)
}

// Refers reports whether a field's value refers to the document with an id, alone or in a list: by the id or by its number,
// which may be a floating-point number.
func Refers(value any, id string) bool {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if _, nested := item.([]any); !nested && Refers(item, id) {
				return true
			}
		}
		return false
	case float64:
		return v == math.Trunc(v) && fmt.Sprintf("%.0f", v) == id
	case string, int64:
		return fmt.Sprint(v) == id
	default:
		return false
	}
}

// Named draws a field's value that names one of some documents: by its id or, if the id is a number, by that number.
func Named(ids ...any) *rapid.Generator[any] {
	values := append([]any{}, ids...)
	for _, id := range ids {
		var n int64
		if _, err := fmt.Sscan(id.(string), &n); err == nil && fmt.Sprint(n) == id {
			values = append(values, n, n, n)
		}
	}
	return OneOf(values...)
}

// References draws a reference to a document of some ids, which may not be there: mostly of a collection, else of another or
// of one of its name below a document.
func References(c *firestore.Client, collection string, ids ...any) *rapid.Generator[any] {
	var values []any
	for _, id := range ids {
		for _, in := range []string{collection, collection, "others", "others/o/" + collection} {
			values = append(values, c.Doc(in+"/"+id.(string)))
		}
	}
	return OneOf(values...)
}

// OddNames are values that may stand in place of an id and can be confused with one: numbers that name nothing, strings that
// look like numbers, and ids of every length.
var OddNames = []any{int64(0), int64(-1), 7.0, 0.5, math.Inf(1), int64(math.MaxInt64), "007", "+7", "7.0", "a\x00b", LongestAsked,
	TooLong, []any{int64(7)}, "undefined", "[object Object]", "7 "}
