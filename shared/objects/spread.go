package objects

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// spread tells how names are spread, from those that were listed: which bytes occur at each place, and how many objects there are
// to each byte of a place. It is a guess, for where to cut; each object is listed once whatever it says.
type spread struct {
	prefix int       // bytes that all names begin with
	names  float64   // that were listed
	turns  []float64 // by place: how many of them first differ there from the one before
	seen   [][]byte  // by place: the bytes there, in order
}

// run is a run of neighbouring names, as it looks from its last one.
type run struct {
	end   string // the last name
	names float64
	turns []float64 // by place: how many names first differ there from the one before, of those that begin as the last one does
	last  []float64 // by place: how many names there were when that last happened
}

// learn adds a page of names to what is known. They follow `before`, if that is known. It returns the run that near becomes.
func (s *spread) learn(near *run, before string, names []string) *run {
	n := &run{}
	if near != nil {
		n.names, n.turns, n.last = near.names, append(n.turns, near.turns...), append(n.last, near.last...)
	}
	for i, name := range names {
		for len(s.seen) <= len(name) {
			s.seen, s.turns = append(s.seen, nil), append(s.turns, 0)
		}
		if more := len(s.seen) - len(n.turns); more > 0 {
			n.turns, n.last = append(n.turns, make([]float64, more)...), append(n.last, make([]float64, more)...)
		}
		at := s.prefix
		if i > 0 || before != "" {
			for at < len(before) && at < len(name) && before[at] == name[at] {
				at++
			}
			s.turns[at]++
			n.turns[at]++
			clear(n.turns[at+1:])
			n.last[at] = n.names
		}
		n.names++
		s.names++
		for ; at < len(name); at++ {
			if i, seen := slices.BinarySearch(s.seen[at], name[at]); !seen {
				s.seen[at] = slices.Insert(s.seen[at], i, name[at])
			}
		}
		before = name
	}
	n.end = before
	return n
}

// each returns, by place, how many objects there are to each byte of it, on average, and how many of the run begin as its last name
// up to that place. What the run itself tells comes first, then what all names tell, unless the run contradicts that. What nobody
// knows follows from the place behind and the bytes that it probably has, and alike is 0 there.
func (s *spread) each(near *run) (each, alike []float64) {
	each, alike = make([]float64, len(s.seen)+1), make([]float64, len(s.seen)+1)
	bound := make([]float64, len(s.seen)) // by what is known of the places before
	all, last, known := 0.0, 0.0, math.Inf(1)
	for i := range s.seen {
		before := near.names - last // names of the run that begin alike up to the place before
		turns := 0.0
		if i < len(near.turns) {
			turns, last = near.turns[i], max(last, near.last[i])
		}
		bound[i], alike[i] = known, near.names-last
		all += s.turns[i]
		switch {
		case turns >= 3:
			each[i] = (before - alike[i]) / turns
		case all >= 1 && alike[i] < 3*s.names/all:
			each[i] = s.names / all
		default:
			continue
		}
		if known = math.Inf(1); alike[i] < 1.5*each[i] {
			known = each[i]
		}
	}
	each[len(s.seen)] = 1
	more, free := 1.0, false // bytes of the place behind to one of this; they were seen to vary in the run
	for i := len(s.seen) - 1; i >= 0; i-- {
		if each[i] == 0 {
			each[i], alike[i] = min(bound[i], each[i+1]*more), 0
		}
		each[i] = min(max(each[i], each[i+1], 1), plenty)
		more = max(1, float64(len(s.at(i, ""))))
		free = more > 1 && (free || i < len(near.turns) && near.turns[i] >= 2)
		if before := all - s.turns[i]; before > 0 && !free {
			more = min(more, all/before)
		}
		all -= s.turns[i]
	}
	return each, alike
}

const (
	precise = 32   // objects more or less do not matter for a cut
	plenty  = 1e12 // objects, and more need not be told apart
)

// behind returns a name so many objects behind the end of a run. If the range ends before that, it returns "" and how many there
// are.
func (s *spread) behind(near *run, before string, objects float64) (name string, n float64) {
	each, alike := s.each(near)
	from := near.end
	i := min(len(from), len(s.seen)-1)
	for i > s.prefix && each[i-1] <= precise {
		i--
	}
	for ; i >= s.prefix; i-- {
		next := 0
		if i < len(from) {
			next = int(from[i]) + 1
		}
		most := math.Inf(1) // left of those that begin alike up to the place before
		if i > s.prefix {
			if most = each[i-1] - alike[i-1]; alike[i-1] > 1.5*each[i-1] {
				most = alike[i-1]
			}
		}
		at, more, ended := s.within(from[:i], before, next, each, objects-n, max(0, most-n), from)
		if at != "" || ended {
			return at, n + more
		}
		n += more
	}
	return "", n
}

// within steps over the bytes, from one on, that names may go on with, until so many objects are behind, or as many as there are. It
// returns a name behind from. ended says that the range ends before that.
func (s *spread) within(
	name, before string, next int, each []float64, objects, most float64, from string,
) (at string, n float64, ended bool) {
	i := len(name)
	for _, c := range s.at(i, from) {
		if int(c) < next {
			continue
		}
		if n >= most {
			break
		}
		child := name + string([]byte{c})
		if before != "" && child >= before {
			return "", n, true
		}
		fits := valid(child)
		if fits == "" {
			continue
		}
		if n+each[i] > objects && each[i] > precise || before != "" && strings.HasPrefix(before, child) {
			at, more, ended := s.within(child, before, 0, each, objects-n, each[i], "")
			if at != "" || ended {
				return at, n + more, ended
			}
			n += more
			continue
		}
		if n+each[i] > objects && len(fits) <= maxName {
			return fits, n, false
		}
		n += each[i]
	}
	return "", min(n, most), false
}

// at returns the bytes that there probably are at a place, in order. Until those of a place began anew twice, they may be those of the
// places behind it, if these are of the same kinds and more. Behind the highest, which name has there, follow as many as there are.
func (s *spread) at(i int, name string) []byte {
	if i >= len(s.seen) {
		return nil
	}
	own, anew := s.seen[i], 0.0
	for _, turns := range s.turns[:i] {
		if anew += turns; anew >= 2 {
			return own
		}
	}
	set := slices.Clone(own)
	for behind := i + 1; behind < min(i+4, len(s.seen)); behind++ {
		next := s.seen[behind]
		missing := func(c byte) bool {
			return !slices.ContainsFunc(next, func(other byte) bool { return kind(other) == kind(c) })
		}
		if !slices.ContainsFunc(own, missing) {
			set = append(set, next...)
		}
	}
	slices.Sort(set)
	set = slices.Compact(set)
	if i < len(name) && (len(set) == 0 || set[len(set)-1] <= name[i]) {
		for c := int(name[i]) + 1; c < 256 && c <= int(name[i])+max(1, len(own)) && kind(byte(c)) == kind(name[i]); c++ {
			set = append(set, byte(c))
		}
	}
	return set
}

// kind returns the first of the bytes that replace each other in names: digits, upper and lower case, and parts of characters that
// are not ASCII.
func kind(c byte) byte {
	for _, span := range []string{"09", "AZ", "az", "\x80\xff"} {
		if c >= span[0] && c <= span[1] {
			return span[0]
		}
	}
	return c
}

// valid completes a name that ends in the middle of a character; "" if it cannot.
func valid(name string) string {
	for _, end := range []string{"", "\x80", "\x80\x80", "\xa0\x80", "\x80\x80\x80", "\x90\x80\x80"} {
		if utf8.ValidString(name + end) {
			return name + end
		}
	}
	return ""
}
