package objects

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of the cuts that are kept for the next listing.
const (
	cutEvery    = 4*pageSize - 50 // objects: some more may come before the next listing, and it takes no page more
	maxCuts     = 256
	maxCutBytes = 24 << 10
)

// Cutter notes where a listing may be cut the next time: at texts between which there are about as many names. A listing reads
// what lies between cuts side by side. Whatever they are, it gives each object once: a wrong cut costs time.
type Cutter struct {
	cuts  []string
	every int    // names from one cut to the next
	n     int    // names since the last cut
	last  string // name
}

// See notes the next name of the listing.
func (c *Cutter) See(name string) {
	c.every = max(c.every, cutEvery)
	if c.n++; c.n > c.every {
		cut := name[:shared(c.last, name)] // and the character that tells it from the name before
		_, size := utf8.DecodeRuneInString(name[len(cut):])
		c.n, c.cuts = 1, append(c.cuts, name[:len(cut)+size])
		if thin := thinned(c.cuts); len(thin) < len(c.cuts) {
			c.n += len(c.cuts) % 2 * c.every // the last is left out
			c.cuts, c.every = thin, 2*c.every
		}
	}
	c.last = name
}

// Cuts returns those for the next run: of the listing with a prefix that began at a name, up to where it got, or to its end, and,
// elsewhere, those before.
func (c *Cutter) Cuts(before []string, prefix, from string, ended bool) []string {
	all := slices.DeleteFunc(unpacked(before), func(cut string) bool {
		return strings.HasPrefix(cut, prefix) && cut > from && (ended || cut <= c.last)
	})
	all = append(all, c.cuts...)
	slices.Sort(all)
	return packed(thinned(slices.Compact(all)))
}

// thinned leaves every second cut out until they are within the bounds.
func thinned(cuts []string) []string {
	for len(cuts) > maxCuts || len(strings.Join(packed(cuts), "")) > maxCutBytes {
		var odd []string
		for i := 1; i < len(cuts); i += 2 {
			odd = append(odd, cuts[i])
		}
		cuts = odd
	}
	return cuts
}

// packed returns cuts as they are saved: how many bytes each shares with the one before, and the others.
func packed(cuts []string) (all []string) {
	before := ""
	for _, cut := range cuts {
		n := shared(before, cut)
		all, before = append(all, fmt.Sprintf("%d:%s", n, cut[n:])), cut
	}
	return all
}

// unpacked returns cuts that were saved; none if a [Cutter] cannot have returned them: others may have been able to write them.
func unpacked(saved []string) (cuts []string) {
	before := ""
	for _, text := range saved {
		number, rest, _ := strings.Cut(text, ":")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n > len(before) || len(cuts) == maxCuts || n+len(rest) > maxName {
			return nil
		}
		cut := before[:n] + rest
		if cut <= before || !utf8.ValidString(cut) || strings.ContainsAny(cut, "\x00\r\n") {
			return nil
		}
		cuts, before = append(cuts, cut), cut
	}
	return cuts
}

// shared returns how many bytes two texts begin with alike, in whole characters.
func shared(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// divide cuts a range of names.
func divide(prefix string, names Names, saved []string) (all []Names) {
	for _, cut := range unpacked(saved) {
		if strings.HasPrefix(cut, prefix) && cut > names.From && (names.Before == "" || cut < names.Before) {
			all = append(all, Names{From: names.From, After: names.After, Before: cut})
			names.From, names.After = cut, false
		}
	}
	return append(all, names)
}
