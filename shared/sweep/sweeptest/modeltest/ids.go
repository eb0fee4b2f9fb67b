package modeltest

import (
	"fmt"
	"math"
	"strings"

	"pgregory.net/rapid"
)

// LongestAsked is the longest id that a query can ask for, and TooLong one that can name a document all the same.
var (
	LongestAsked = strings.Repeat("長", 499) + "xx"
	TooLong      = LongestAsked + "x"
)

// IDOf is what a field names that holds an id: a document by its id, or by its number. It is "" for what names none.
func IDOf(value any) string {
	if n, isNumber := value.(int64); isNumber && n >= 1 {
		return fmt.Sprint(n)
	}
	id, _ := value.(string)
	if len(id) > 1500 || strings.Contains(id, "/") || id == "." || id == ".." || len(id) > 3 && strings.HasPrefix(id, "__") && strings.HasSuffix(id, "__") {
		return ""
	}
	return id
}

// Refers reports whether a field's value refers to the document of an id, alone or in a list: by the id or by its number,
// which may be a real one.
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

// Named draws how a field may name one of some documents: by its id or, if that is a number, by the number.
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

// OddNames are what may stand where an id should and is easily taken for another: numbers that name nothing, texts that are no
// numbers, and ids of every length.
var OddNames = []any{int64(0), int64(-1), 7.0, 0.5, math.Inf(1), int64(math.MaxInt64), "007", "+7", "7.0", "a\x00b", LongestAsked, TooLong, []any{int64(7)}}
