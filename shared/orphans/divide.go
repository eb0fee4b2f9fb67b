package orphans

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// A run that is split into shards has to know where to cut before anything is listed. Nobody can tell how many names lie between two
// others, but a page of them says whether they are many. So what is heavy is divided by its next letter, again and again, until the
// heaviest piece is small beside a shard.

// letters are those by which names are divided. Names with others between them are not lost: a piece ends where the next begins. None
// of them makes an id of a document that is none, such as "." or "__x__".
const letters = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Bounds of what dividing may cost: a request for each letter, so many at once and so many times.
const (
	weighedAtOnce = 16
	maxDivisions  = 16
)

// leastShard is what is not worth a shard of its own, in things to look through: one page.
const leastShard = 1000

// weight is how much a piece holds.
type weight struct {
	n     int    // things, or a guess
	many  bool   // it is a guess: there are more than anybody has looked at
	alike string // what those that were looked at all begin with
}

// weigh says how much lies between two names. An empty one is no bound.
type weigh func(ctx context.Context, from, before string) (weight, error)

// piece is a stretch of names.
type piece struct {
	from, before string
	weight
	base string // its names begin with it, but for some at its end
	odd  bool   // they do not: they lie before all letters
}

// divide returns pieces, in order and without gaps, none of which holds more than a small part of a shard, where that can be found.
func divide(ctx context.Context, prefix string, shards int, weigh weigh) ([]piece, error) {
	whole, err := weigh(ctx, "", "")
	if err != nil {
		return nil, err
	}
	pieces := []piece{{weight: whole, base: prefix}}
	for range maxDivisions {
		total := 0
		for _, p := range pieces {
			total += p.n
		}
		heaviest := -1
		for i, p := range pieces {
			if p.n > max(leastShard/2, total/(4*shards)) && !p.odd && (heaviest < 0 || p.n > pieces[heaviest].n) {
				heaviest = i
			}
		}
		if heaviest < 0 {
			break
		}
		parts, err := pieces[heaviest].divide(ctx, weigh)
		if err != nil {
			return nil, err
		}
		pieces = slices.Replace(pieces, heaviest, heaviest+1, parts...)
	}
	return pieces, nil
}

// divide divides a piece by the first letter in which its names differ.
func (p piece) divide(ctx context.Context, weigh weigh) ([]piece, error) {
	if p.many && len(p.alike) > len(p.base) {
		// Those that were looked at begin alike. Perhaps all do.
		last := len(p.alike) - 1
		if behind := p.alike[:last] + string(rune(p.alike[last]+1)); p.alike[last] < '~' && (p.before == "" || behind < p.before) {
			rest, err := weigh(ctx, behind, p.before)
			if err != nil {
				return nil, err
			}
			if rest.n == 0 {
				p.base = p.alike
			}
		}
	}
	parts := make([]piece, 0, len(letters)+1)
	from := p.from
	for _, letter := range strings.Split(letters, "") {
		next := p.base + letter
		if from >= next {
			continue
		}
		parts = append(parts, piece{from: from, before: next, base: from, odd: from == p.from})
		from = next
	}
	parts = append(parts, piece{from: from, before: p.before, base: from})
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

// reach says which share of the names that begin with base lies before name, as if all letters were as frequent.
func reach(base, name string) float64 {
	share, width := 0.0, 1.0
	rest := strings.TrimPrefix(name, base)
	for i := range min(len(rest), 3) {
		width /= float64(len(letters) + 1)
		at := strings.IndexByte(letters, rest[i])
		if at < 0 { // between two of them
			at = strings.IndexFunc(letters, func(r rune) bool { return byte(r) > rest[i] })
		}
		if at < 0 {
			at = len(letters)
		}
		share += width * float64(at)
	}
	return share + width
}
