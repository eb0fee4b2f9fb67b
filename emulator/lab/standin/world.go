package standin

import (
	mathbits "math/bits"
	"sort"
	"strings"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// World is the data that exist at first.
type World struct {
	Collections []Collection
	// Below returns the collection at a path that is not among Collections, such as inquiries/X/messages; the zero value if there is
	// none. nil: there never is.
	Below    func(path string) Collection
	Objects  Objects
	Accounts Accounts
	Written  time.Time // when all of it was
}

// Collection is a collection whose documents are computed from their number.
type Collection struct {
	Path string // e.g. posts
	Len  int
	ID   func(i int) string // ascends with i
	// Field returns a field of a document, nil if it has none of that name; Names are those that it may have.
	Field func(i int, name string) *pb.Value
	Names []string
	// Ascending are fields that all documents have and that never descend as the number ascends.
	Ascending []string
	// Sub are the names of the collections below each document, for whoever writes all of the world elsewhere.
	Sub []string
}

// find returns the number of a document.
func (c *Collection) find(id string) (i int, found bool) {
	return sort.Find(c.Len, func(i int) int { return strings.Compare(id, c.ID(i)) })
}

// Objects are the objects of a bucket, computed from their number.
type Objects struct {
	Len      int
	Name     func(i int) string                        // ascends with i
	Metadata func(i int, add func(name, value string)) // calls add for each
}

// Accounts are accounts of Authentication, computed from their number.
type Accounts struct {
	Len int
	UID func(i int) string // ascends with i
}

// find returns the number of an account.
func (a Accounts) find(uid string) (i int, found bool) {
	return sort.Find(a.Len, func(i int) int { return strings.Compare(uid, a.UID(i)) })
}

// bits is a set of numbers.
type bits []uint64

func (b bits) has(i int) bool { return b != nil && b[i/64]>>(i%64)&1 != 0 }

// within returns how many numbers of a span there are.
func (b bits) within(s span) (n int) {
	if b == nil {
		return 0
	}
	for i := s.from; i < s.to; {
		if i%64 == 0 && i+64 <= s.to {
			n += mathbits.OnesCount64(b[i/64])
			i += 64
			continue
		}
		if b.has(i) {
			n++
		}
		i++
	}
	return n
}

// add adds a number below n, and reports whether it is new.
func (b *bits) add(i, n int) bool {
	if *b == nil {
		*b = make(bits, (n+63)/64)
	}
	if b.has(i) {
		return false
	}
	(*b)[i/64] |= 1 << (i % 64)
	return true
}
