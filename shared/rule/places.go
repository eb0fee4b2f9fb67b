package rule

import (
	"path"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/rule/criteria"
)

const (
	anywhere   = "…/"                  // begins the place of a collection group: all collections whose path ends with what follows
	everywhere = "/…"                  // ends the place of all collections below a document
	somewhere  = anywhere + "{parent}" // is the place of what documents of a collection group lie below
)

// Reads returns the places of the documents that the rule judges, deletes or looks for: collections, whose path may have holes.
func (r Rule) Reads() (places []string) {
	at := r.At()
	if at != "" {
		places = append(places, at)
	}
	for _, related := range append(r.Related(), r.With...) {
		places = append(places, related.reads(at)...)
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// At returns the place of the rule's documents.
func (r Rule) At() string {
	if r.CollectionGroup != "" {
		return anywhere + r.CollectionGroup
	}
	return r.Collection
}

// Pattern returns a place as a pattern of [engine.Reach].
func Pattern(place string) string {
	place = "/" + criteria.Hole.ReplaceAllLiteralString(place, "*") + "/"
	return strings.Trim(strings.ReplaceAll(place, "/…/", "/"+Everything+"/"), "/")
}

// At returns the place of a relation to the documents of a place; empty if they are no documents.
func (r Relation) At(of string) (own string) {
	switch {
	case r.Document != "":
		above, _ := cutLast(of)
		if above+"/" == anywhere {
			above = somewhere + "/{id}"
		}
		own, _ = cutLast(strings.ReplaceAll(r.Document, "{"+parentHole+"}", above))
		return own
	case r.Subcollection == Everything:
		return of + "/{id}" + everywhere
	case r.Subcollection != "":
		return of + "/{id}/" + r.Subcollection
	case r.CollectionGroup != "":
		return anywhere + r.CollectionGroup
	}
	return r.Collection
}

// reads returns the places of a relation to the documents of a place.
func (r Relation) reads(at string) (places []string) {
	own := r.At(at)
	if own != "" && own != somewhere {
		places = append(places, own)
	}
	for _, w := range r.With {
		places = append(places, w.reads(own)...)
	}
	return places
}

// Archives returns the places that the rule copies documents to: the archive, and the collections below its documents.
func (r Rule) Archives() (places []string) {
	if r.Archive == "" {
		return nil
	}
	return append([]string{r.Archive}, archives(r.Archive, r.At(), r.With)...)
}

func archives(at, of string, with []Relation) (places []string) {
	for _, w := range with {
		if name := w.archived(of); name != "" {
			below := at + "/{id}/" + name
			places = append(append(places, below), archives(below, w.At(of), w.With)...)
		}
	}
	return places
}

// archived returns the name of the collection in the archive for what goes along with documents of a place; empty if it is not copied.
func (r Relation) archived(of string) string {
	if r.Remove || r.Objects != "" || r.Account != "" {
		return ""
	}
	return path.Base(r.At(of))
}

// Same reports whether two places may be the same collection: a hole stands for any id.
func Same(a, b string) bool {
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		if above, all := strings.CutSuffix(pair[0], everywhere); all {
			return below(above, pair[1])
		}
	}
	endA, groupA := strings.CutPrefix(a, anywhere)
	endB, groupB := strings.CutPrefix(b, anywhere)
	partsA, partsB := strings.Split(endA, "/"), strings.Split(endB, "/")
	n := min(len(partsA), len(partsB))
	if len(partsA) > n && !groupB || len(partsB) > n && !groupA {
		return false
	}
	for i := 1; i <= n; i++ {
		x, y := partsA[len(partsA)-i], partsB[len(partsB)-i]
		if x != y && !strings.Contains(x+y, "{") {
			return false
		}
	}
	return true
}

// below reports whether a place may be below a document.
func below(document, place string) bool {
	parts, of := strings.Split(place, "/"), strings.Split(document, "/")
	if strings.HasPrefix(place, anywhere) || strings.HasPrefix(document, anywhere) {
		return true
	}
	return len(parts) > len(of) && Same(strings.Join(parts[:len(of)], "/"), document)
}
