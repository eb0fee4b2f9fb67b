package objects

import "math/bits"

// letters is a set of bytes.
type letters [4]uint64

// kinds are bytes that replace each other in names: digits, upper and lower case, and parts of characters that are not ASCII.
var kinds = []letters{span('0', '9'), span('A', 'Z'), span('a', 'z'), span(0x80, 0xff)}

func span(from, to int) (s letters) {
	for c := from; c <= to; c++ {
		s.add(byte(c))
	}
	return s
}

func (s *letters) add(c byte) { s[c/64] |= 1 << (c % 64) }

func (s *letters) has(c int) bool { return s[c/64]>>(c%64)&1 == 1 }

// size returns how many bytes a set has, and at least 1.
func (s *letters) size() (n float64) {
	for _, part := range s {
		n += float64(bits.OnesCount64(part))
	}
	return max(1, n)
}

func (s letters) and(more letters) letters {
	for i := range s {
		s[i] |= more[i]
	}
	return s
}

func (s letters) covers(other letters) bool { return s.and(other) == s }

// alike returns all bytes of the kinds of which a set has some.
func (s letters) alike() (all letters) {
	for _, kind := range kinds {
		for i := range s {
			if s[i]&kind[i] != 0 {
				all = all.and(kind)
				break
			}
		}
	}
	return all
}

// above reports whether a set has a byte above another.
func (s *letters) above(c byte) bool {
	for next := int(c) + 1; next < 256; next++ {
		if s.has(next) {
			return true
		}
	}
	return false
}
