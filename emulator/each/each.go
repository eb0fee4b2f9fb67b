// Package each goes through what Google's clients list.
package each

import (
	"errors"
	"iter"

	"google.golang.org/api/iterator"
)

// Of returns all that one of Google's iterators returns. An error is the last.
func Of[T any](list interface{ Next() (T, error) }) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			one, err := list.Next()
			if errors.Is(err, iterator.Done) || !yield(one, err) || err != nil {
				return
			}
		}
	}
}
