package objects

import (
	"math/big"
	"slices"
)

// span is a range of names and the number of objects in it.
type span struct {
	from, to string
	n        int
}

// Bounds of what is learned about the letters of names.
const (
	learnedLength = 64 // letters of a name, behind the listing's prefix
	learnEach     = 8  // one of so many names is learned: neighbours are alike
)

// letters are the letters that occur at each place of the names. With them a name can be read as a number, and the letters
// are its digits. So we can calculate a name that lies as far behind another as a third lies behind a fourth. Only ASCII
// counts: names that differ in other characters count as equal.
type letters struct {
	at    [learnedLength][]byte // by place, sorted
	any   []byte                // at any place, sorted
	turns [learnedLength]int    // how often the letters of a place began anew, because one before it changed
}

// learnAll learns from names that are in order, some of those of a page. They begin with a listing's prefix of so many bytes.
func (l *letters) learnAll(names []string, prefix int) {
	for i, name := range names {
		name = name[prefix:]
		l.learn(name)
		if i == 0 {
			continue
		}
		for place := differ(names[i-1][prefix:], name) + 1; place < min(len(name), learnedLength); place++ {
			l.turns[place]++
		}
	}
}

// differ returns the first place at which two names differ.
func differ(a, b string) int {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return i
}

// likely returns the letters that there probably are. Letters that began anew twice were seen all round. Until then, a place is
// taken to have all letters of the kinds that occur at the next place, if its own are of these kinds. Otherwise a listing that
// begins in the middle of the letters of a place would learn those before them one by one.
func (l *letters) likely() *letters {
	likely := *l
	for place := learnedLength - 2; place >= 0; place-- {
		own, next := kindsOf(l.at[place]), kindsOf(likely.at[place+1])&^otherKind // the others separate parts of a name
		if l.turns[place] >= 2 || own == 0 || own&^next != 0 {
			continue
		}
		likely.at[place] = slices.DeleteFunc(slices.Clone(l.any), func(c byte) bool { return kindOf(c)&next == 0 })
	}
	return &likely
}

// kinds is a set of kinds of letters.
type kinds uint8

const (
	digitKind kinds = 1 << iota
	upperKind
	lowerKind
	otherKind
)

func kindOf(c byte) kinds {
	switch {
	case '0' <= c && c <= '9':
		return digitKind
	case 'A' <= c && c <= 'Z':
		return upperKind
	case 'a' <= c && c <= 'z':
		return lowerKind
	default:
		return otherKind
	}
}

func kindsOf(letters []byte) (all kinds) {
	for _, c := range letters {
		all |= kindOf(c)
	}
	return all
}

func (l *letters) learn(name string) {
	for i := range min(len(name), learnedLength) {
		c := name[i]
		if c < ' ' || c > '~' {
			return
		}
		l.at[i], l.any = with(l.at[i], c), with(l.any, c)
	}
}

// with returns sorted letters with one more.
func with(letters []byte, c byte) []byte {
	if at, known := slices.BinarySearch(letters, c); !known {
		return slices.Insert(letters, at, c)
	}
	return letters
}

// number reads a name as a number. A place behind the name's end is the lowest digit. A letter that was never seen at its
// place counts as the next higher one that was.
func (l *letters) number(name string) *big.Int {
	n, digit := new(big.Int), new(big.Int)
	beyond := false // a letter was higher than all that were seen: the rest of the number is as high as it can be
	for i := range learnedLength {
		base := int64(len(l.at[i]) + 1)
		d := int64(0)
		switch {
		case beyond:
			d = base - 1
		case i < len(name):
			at, known := slices.BinarySearch(l.at[i], name[i])
			d = int64(at + 1)
			if !known && at == len(l.at[i]) {
				d, beyond = base-1, true
			}
		}
		n.Mul(n, digit.SetInt64(base))
		n.Add(n, digit.SetInt64(d))
	}
	return n
}

// name is the opposite of number; "" if no name has so high a number.
func (l *letters) name(n *big.Int) string {
	var digits [learnedLength]int64
	rest, base := new(big.Int).Set(n), new(big.Int)
	digit := new(big.Int)
	for i := learnedLength - 1; i >= 0; i-- {
		rest.QuoRem(rest, base.SetInt64(int64(len(l.at[i])+1)), digit)
		digits[i] = digit.Int64()
	}
	if rest.Sign() > 0 {
		return ""
	}
	var name []byte
	for i, d := range digits {
		if d == 0 {
			break
		}
		name = append(name, l.at[i][d-1])
	}
	return string(name)
}

// behind returns a name so far behind another that about [rangeTarget] objects lie between them, if objects are as dense
// there as in a known span; "" if there is none. name is without the listing's prefix, which has so many bytes; the span's
// names are with it.
func (l *letters) behind(name string, known span, prefix int) (end string) {
	from, to := known.from[prefix:], known.to[prefix:]
	likely := l.likely()
	if end := likely.reckon(name, from, to, known.n); end != "" {
		return end
	}
	// Perhaps higher letters follow that were not seen yet, at the place where the span's names begin to differ or at one
	// before it. Try letters that were seen at other places.
	for place := min(differ(from, to), learnedLength-1); place >= 0; place-- {
		seen := likely.at[place]
		if len(seen) == 0 {
			continue
		}
		more := *likely
		more.at[place] = slices.Clone(seen)
		for _, c := range l.any {
			if c > seen[len(seen)-1] {
				more.at[place] = append(more.at[place], c)
			}
		}
		if end := more.reckon(name, from, to, known.n); end != "" {
			return end
		}
	}
	return ""
}

func (l *letters) reckon(name, from, to string, n int) string {
	distance := new(big.Int).Sub(l.number(to), l.number(from))
	switch {
	case distance.Sign() <= 0:
		return ""
	case 16*n < rangeTarget: // so few say only that there are few
		distance.Mul(distance, big.NewInt(16))
	default:
		distance.Mul(distance, big.NewInt(rangeTarget))
		distance.Quo(distance, big.NewInt(int64(n)))
	}
	return l.name(distance.Add(distance, l.number(name)))
}
