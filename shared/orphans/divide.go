package orphans

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
)

// A run that is split into shards must know where to cut before it lists anything. Nobody can tell how many names lie between
// two others, but one page of a listing shows whether they are many. So heavy pieces are divided by their names' next letter,
// again and again, until the heaviest piece is small compared with a shard.

// letters are the letters by which names are divided. Names with other letters are not lost, because a piece ends where the
// next one begins. A bound made of these letters is never an invalid id of a document, such as "." or "__x__".
const letters = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Bounds of what dividing may cost: a request for each letter, so many at once and so many times. Beyond the free divisions, it
// ends when it has asked for a quarter of the pages that there seem to be, for then more balance is not worth the time.
const (
	weighedAtOnce = 16
	maxDivisions  = 16
	freeDivisions = 2
)

// pageSize is how many things a page holds, and leastShard what is not worth a shard of its own.
const (
	pageSize   = 1000
	leastShard = pageSize
)

// weight is how much a piece holds.
type weight struct {
	n     int    // how many things; with many, a guess
	many  bool   // there are more things than were looked at
	alike string // with many, the common beginning of the names that were looked at
}

// weigh returns the weight of the things between two names. An empty name is no bound.
type weigh func(ctx context.Context, from, before string) (weight, error)

// piece is a range of names with its weight.
type piece struct {
	from, before string
	weight
	whole bool // it cannot be divided
}

// divide returns pieces, in order and without gaps. Each holds only a small part of a shard, if such pieces can be found.
func divide(ctx context.Context, prefix string, shards int, weigh weigh) ([]piece, error) {
	all, err := weigh(ctx, "", "")
	if err != nil {
		return nil, err
	}
	pieces := []piece{{weight: all, whole: !all.many && all.n < 2*leastShard}}
	for n := range maxDivisions {
		total := 0
		for _, p := range pieces {
			total += p.n
		}
		heaviest := -1
		for i, p := range pieces {
			if p.n > max(leastShard/2, total/(4*shards)) && !p.whole && (heaviest < 0 || p.n > pieces[heaviest].n) {
				heaviest = i
			}
		}
		if heaviest < 0 || n >= freeDivisions && n*len(letters) > total/pageSize/4 {
			break
		}
		parts, err := pieces[heaviest].divide(ctx, prefix, weigh)
		if err != nil {
			return nil, err
		}
		pieces = slices.Replace(pieces, heaviest, heaviest+1, parts...)
	}
	return pieces, nil
}

// divide divides a piece by the first letter in which its names differ.
func (p piece) divide(ctx context.Context, prefix string, weigh weigh) ([]piece, error) {
	base, err := p.base(ctx, prefix, weigh)
	if err != nil {
		return nil, err
	}
	var parts []piece
	from := p.from
	for _, letter := range strings.Split(letters, "") {
		if next := base + letter; from < next && (p.before == "" || next < p.before) {
			parts = append(parts, piece{from: from, before: next})
			from = next
		}
	}
	if len(parts) == 0 {
		p.whole = true
		return []piece{p}, nil
	}
	parts = append(parts, piece{from: from, before: p.before})
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(weighedAtOnce)
	for i := range parts {
		part := &parts[i]
		g.Go(func() (err error) {
			part.weight, err = weigh(ctx, part.from, part.before)
			return err
		})
	}
	return parts, g.Wait()
}

// base returns the common beginning of all names of the piece. The names that were looked at show the longest that is
// possible. A binary search finds how much of that the other names share.
func (p piece) base(ctx context.Context, prefix string, weigh weigh) (string, error) {
	if !p.many {
		return cmp.Or(p.from, prefix), nil
	}
	ends := []int{len(prefix)}
	for i := range p.alike {
		if i > len(prefix) {
			ends = append(ends, i)
		}
	}
	if len(p.alike) > len(prefix) {
		ends = append(ends, len(p.alike))
	}
	var failed error
	n := sort.Search(len(ends)-1, func(i int) bool { // the first of ends[1:] that not all names share
		behind := successor(p.alike[:ends[i+1]])
		if failed != nil || behind == "" || p.before != "" && behind >= p.before {
			return false
		}
		rest, err := weigh(ctx, behind, p.before)
		failed = err
		return rest.n > 0
	})
	return p.alike[:ends[n]], failed
}

// successor returns the first name behind all that begin with name; "" if there is none.
func successor(name string) string {
	last, size := utf8.DecodeLastRuneInString(name)
	switch last {
	case utf8.MaxRune:
		return ""
	case '\uD7FF': // surrogates follow, which are not characters
		last = '\uE000' - 1
	}
	return name[:len(name)-size] + string(last+1)
}

// common returns the common beginning of two names.
func common(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	for i > 0 && i < len(a) && !utf8.RuneStart(a[i]) {
		i--
	}
	return a[:i]
}

// weightOfPage returns the weight of a piece from one page of its names, n names from first to last. All names of the piece
// begin with base, and more names follow the page. It assumes that the others are as dense, and that half a page follows
// at least.
func weightOfPage(base, first, last string, n int) weight {
	begin, end := share(base, first), share(base, last)
	guess := float64(n) * (1 - begin) / max(end-begin, leastShare)
	return weight{n: max(n+n/2, int(guess)), many: true, alike: common(first, last)}
}

// leastShare bounds the guess from a page: names are often dense at the beginning and sparse further on.
const leastShare = 1.0 / 4096

// share returns which share of the names that begin with base lies before a name, if all letters are equally frequent.
func share(base, name string) float64 {
	share, width := 0.0, 1.0
	rest := strings.TrimPrefix(name, base)
	for i := range min(len(rest), 3) {
		width /= float64(len(letters) + 1)
		at := strings.IndexFunc(letters, func(r rune) bool { return byte(r) > rest[i] }) // the letters up to this one
		if at < 0 {
			at = len(letters)
		}
		share += width * float64(at)
	}
	return share
}
