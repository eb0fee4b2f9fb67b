// Package digest derives ids from what they stand for, so that doing something again comes to the same id.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
)

// Of returns 24 hexadecimal digits derived from texts: the same texts in the same order, the same digits; the end of each
// makes a difference.
func Of(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		sum := sha256.Sum256([]byte(t)) // by itself first, so that where it ends makes a difference
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}
