package objects

import (
	"iter"
	"math"
	"slices"
	"strings"
)

// Bounds of the requests for folders, each of which tells of up to a thousand.
const (
	worth    = 20   // pages in the folder whose folders are asked for
	fewest   = 60   // objects in each of these
	mayAsk   = 0.03 // to each page
	askMore  = 3    // and so many
	deepest  = 16   // folders within folders that are told apart
	distinct = 12   // pages of a folder whose names are guessed from its own alone
)

// tree is what is known of the folders that objects are in. Where one begins is a place to cut that is no guess.
type tree struct {
	prefix string
	begins []string          // known folders, in order
	levels map[string]*level // by folder
	asked  float64           // requests
}

// level is what is known of a folder and of the folders directly in it.
type level struct {
	names, folders float64 // that were listed
	from, until    string  // all folders between these are known
	asking         bool
	spread         *spread // of the names in it
}

func newTree(prefix string) tree {
	return tree{prefix: prefix, levels: map[string]*level{}}
}

// each returns how many names a folder holds on average.
func (l *level) each() float64 { return l.names / max(1, l.folders) }

func (l *level) knows(name string) bool {
	return name >= l.from && name < l.until
}

// level returns what is known of the folders of a folder.
func (t *tree) level(parent string) *level {
	l := t.levels[parent]
	if l == nil {
		l = &level{spread: &spread{prefix: len(parent)}}
		t.levels[parent] = l
	}
	return l
}

// beside returns what is known of a folder and those beside it.
func (t *tree) beside(folder string) *level { return t.level(t.prefix + above(folder[len(t.prefix):])) }

// above returns the folder that a folder is in.
func above(folder string) string {
	return folder[:strings.LastIndexByte(folder[:len(folder)-1], '/')+1]
}

// folderIn returns the folder of parent that a name is in; "" if it is in none.
func folderIn(parent, name string) string {
	if below, in := strings.CutPrefix(name, parent); in {
		if n := strings.IndexByte(below, '/'); n >= 0 {
			return name[:len(parent)+n+1]
		}
	}
	return ""
}

// behindFolder returns the first name that is behind all of a folder.
func behindFolder(folder string) string { return folder[:len(folder)-1] + "0" }

// around yields, from the outermost on, the folders that a name is in, each with the one that it divides.
func (t *tree) around(name string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		parent, folder := t.prefix, folderIn(t.prefix, name)
		for depth := 0; depth < deepest && folder != "" && yield(parent, folder); depth++ {
			parent, folder = folder, folderIn(folder, name)
		}
	}
}

// learn learns from names in order how they are spread in the folder that the last is in. It returns the run that near becomes, which
// ends with the name before.
func (t *tree) learn(near *run, before string, names []string) *run {
	_, own, _ := t.place(names[len(names)-1], "")
	folder := names[len(names)-1][:own.prefix]
	if at, _ := slices.BinarySearch(names, folder); at > 0 || !strings.HasPrefix(before, folder) {
		near, before, names = nil, "", names[at:]
	}
	return own.learn(near, before, names)
}

// count counts names, and the folders that begin with them. They follow the name before, or are the first from a cut on.
func (t *tree) count(before, cut string, names []string) {
	if before == "" {
		before = cut
		if _, known := slices.BinarySearch(t.begins, cut); known {
			before = above(cut)
		}
	}
	for parent := range t.around(names[len(names)-1]) {
		l, in := t.level(parent), ""
		at, _ := slices.BinarySearch(names, parent)
		if at == 0 {
			in = folderIn(parent, before)
		}
		for _, name := range names[at:] {
			if in == "" || !strings.HasPrefix(name, in) {
				in = folderIn(parent, name)
				l.folders++
			}
		}
		l.names += float64(len(names) - at)
	}
}

// ask returns the folder whose folders to ask for, from a name on, between that of another and before; "" if it is not worth it.
func (t *tree) ask(name, before string, pages float64) (parent, from string) {
	objects := math.Inf(1) // in the folder that is divided
	for parent, folder := range t.around(name) {
		l, from := t.level(parent), behindFolder(folder)
		switch {
		case objects < worth*pageSize || t.asked >= askMore+mayAsk*pages:
			return "", ""
		case l.each() >= fewest && !l.asking && !l.knows(from) && (before == "" || before > from):
			l.asking = true
			t.asked++
			return parent, from
		case l.folders > 1:
			objects = min(objects, l.each())
		}
	}
	return "", ""
}

// receive takes the names directly in a folder, and whether there are more. It forgets folders before the last name that was given.
func (t *tree) receive(parent, from string, names []string, more bool, given string) {
	l := t.level(parent)
	l.asking = false
	if more && len(names) == 0 {
		return
	}
	until := ""
	for _, name := range names {
		until = max(until, name)
		if len(name) > len(parent) && strings.HasPrefix(name, parent) && strings.HasSuffix(name, "/") {
			t.begins = append(t.begins, name)
		}
	}
	slices.Sort(t.begins)
	over, _ := slices.BinarySearch(t.begins, given)
	t.begins = slices.Compact(t.begins[over:])
	if !more {
		until = "\xff" // behind all names, which are of valid characters
	}
	if until >= l.from && from <= l.until { // they meet what was known
		from, until = min(l.from, from), max(l.until, until)
	}
	l.from, l.until = from, until
}

// place returns the innermost folder that a name is in whose next ones are known, what is known of names there, and where that ends, or
// one about which was asked does.
func (t *tree) place(name, before string) (in string, own *spread, end string) {
	in, own, end = t.prefix, t.level(t.prefix).spread, before
	for parent, folder := range t.around(name) {
		l, behind := t.level(parent), behindFolder(folder)
		known := l.knows(behind)
		if (known || l.asking) && (end == "" || behind < end) {
			end = behind
		}
		if !known {
			break
		}
		if in = folder; l.each() >= distinct*pageSize {
			own = t.level(folder).spread
		}
	}
	return in, own, end
}

// behind returns a name so many objects behind the end of a run: where a known folder begins, or else a guess. If the range ends before
// that, it returns "" and how many there are.
func (t *tree) behind(near *run, before string, objects float64) (name string, n float64) {
	folder, own, end := t.place(near.end, before)
	i, _ := slices.BinarySearch(t.begins, near.end+"\x00")
	if i < len(t.begins) && (end == "" || t.begins[i] < end) {
		end = t.begins[i]
	}
	n = math.Inf(1)
	if folder != t.prefix { // those beside it tell how much it still holds
		l, read := t.beside(folder), near.names-slices.Max(near.last[:len(folder)])
		if each := l.each(); l.folders >= 3 && read < 1.2*each {
			n = max(0, each-read)
		}
	}
	if n >= 1.5*pageSize {
		if name, n = own.behind(near, end, objects); name != "" {
			return name, n
		}
	}
	for ; i < len(t.begins) && (before == "" || t.begins[i] < before); i++ {
		each := t.beside(t.begins[i]).each()
		if n+each/2 >= objects {
			return t.begins[i], n
		}
		n += each
	}
	return "", n
}
