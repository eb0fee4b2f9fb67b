package rule

import (
	"cmp"
	"path"
	"strings"
)

// anywhere begins the place of a collection group: all collections whose path ends with what follows.
const anywhere = "…/"

// Reads returns the places of the documents that the rule judges, deletes or looks for: collections, whose path may have holes.
func (r Rule) Reads() (places []string) {
	at := r.Collection
	if r.CollectionGroup != "" {
		at = anywhere + r.CollectionGroup
	}
	if at != "" {
		places = append(places, at)
	}
	if r.Owner != nil {
		places = append(places, r.Owner.Collection)
	}
	for _, u := range r.Unless {
		places = append(places, u.Keepers().Collection)
	}
	for _, a := range r.With {
		switch {
		case a.Subcollection != "":
			places = append(places, at+"/{id}/"+a.Subcollection)
		case a.Collection != "":
			places = append(places, a.Collection)
		}
	}
	return places
}

// Archives returns the places that the rule copies documents to: the archive, and the collections below its documents.
func (r Rule) Archives() (places []string) {
	if r.Archive == "" {
		return nil
	}
	places = []string{r.Archive}
	for _, a := range r.With {
		if name := cmp.Or(a.Subcollection, a.Collection); name != "" {
			places = append(places, r.Archive+"/{id}/"+path.Base(name))
		}
	}
	return places
}

// Same reports whether two places may be the same collection: a hole stands for any id.
func Same(a, b string) bool {
	endA, groupA := strings.CutPrefix(a, anywhere)
	endB, groupB := strings.CutPrefix(b, anywhere)
	partsA, partsB := strings.Split(endA, "/"), strings.Split(endB, "/")
	n := min(len(partsA), len(partsB))
	if len(partsA) > n && !groupB || len(partsB) > n && !groupA {
		return false
	}
	for i := 1; i <= n; i++ {
		x, y := partsA[len(partsA)-i], partsB[len(partsB)-i]
		if x != y && !strings.Contains(x, "{") && !strings.Contains(y, "{") {
			return false
		}
	}
	return true
}
