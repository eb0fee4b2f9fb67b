package rule

import (
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/rule/criteria"
	"github.com/firesweep/firesweep/shared/rule/pattern"
)

const (
	anywhere   = "…/"                  // begins the place of a collection group: all collections whose path ends with what follows
	everywhere = "/…"                  // ends the place of all collections below a document
	somewhere  = anywhere + "{parent}" // is the place of what documents of a collection group lie below
)

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

// Along is a relation with the place of the items that it is of.
type Along struct {
	Relation
	Of string // the place of the documents to which it belongs
	In Place  // likewise
}

// Along returns what is deleted together with the rule's items, and in turn with that.
func (r Rule) Along() []Along { return along(r.With, r.At(), r.Place()) }

func along(with []Relation, of string, in Place) (all []Along) {
	for _, w := range with {
		all = append(append(all, Along{w, of, in}), along(w.With, w.At(of), w.Place())...)
	}
	return all
}

// Asks returns what is looked for to decide: about the rule's items, and about what is deleted together with them.
func (r Rule) Asks() (all []Along) {
	for _, related := range r.Related() {
		all = append(all, Along{related, r.At(), r.Place()})
	}
	for _, w := range r.Along() {
		for _, u := range w.Unless {
			all = append(all, Along{u, w.At(w.Of), w.Place()})
		}
	}
	return all
}

// Own returns the entries of unless that are conditions on the rule's own documents and that a missing field does not meet.
func (r Rule) Own() (all []Along) {
	for _, u := range r.Unless {
		if u.kind() == nil && !u.Condition().Absence() && r.OfDocuments() {
			all = append(all, Along{u, r.At(), r.Place()})
		}
	}
	return all
}

// Meets reports whether with of the rule may delete what another rule is about.
func (r Rule) Meets(other Rule) bool {
	return slices.ContainsFunc(r.Along(), func(w Along) bool {
		switch {
		case other.Accounts != "":
			return w.Account != "" && r.OfDocuments()
		case other.Objects != "":
			mine, theirs := pattern.Folder(w.Objects), pattern.Folder(other.Objects)
			return w.Objects != "" && (strings.HasPrefix(mine, theirs) || strings.HasPrefix(theirs, mine))
		}
		at := w.At(w.Of)
		if above, below := strings.CutSuffix(at, everywhere); below {
			parts, deep := strings.Split(other.At(), "/"), strings.Count(above, "/")+1
			return strings.HasPrefix(other.At(), anywhere) || len(parts) > deep && Same(above, strings.Join(parts[:deep], "/"))
		}
		return !w.Remove && at != "" && Same(other.At(), at)
	})
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
		if x != y && !strings.Contains(x+y, "{") {
			return false
		}
	}
	return true
}
