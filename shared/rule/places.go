package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule/criteria"
	"github.com/firesweep/firesweep/shared/rule/pattern"
)

// Place is where documents are: the path of their collection, in which a hole stands for any id.
type Place string

const (
	anywhere   = "…/" // begins the place of a collection group: all collections whose path ends with what follows
	everywhere = "/…" // ends the place of all collections below a document
)

// Anywhere returns the place of a collection group.
func Anywhere(name string) Place { return Place(anywhere + name) }

// String returns the place as a rule writes it.
func (p Place) String() string { return strings.TrimPrefix(string(p), anywhere) }

// name returns the name of the place's collections.
func (p Place) name() string {
	_, name := cutLast(string(p))
	return name
}

// IsGroup reports whether the place has many collections.
func (p Place) IsGroup() bool {
	return strings.HasPrefix(string(p), anywhere) || strings.Contains(string(p), "{")
}

// Below returns how the paths of the place's documents begin, of many collections; "" if nobody can tell.
func (p Place) Below() string {
	below, _, isPattern := strings.Cut(string(p), "{")
	if !isPattern || strings.HasPrefix(below, anywhere) {
		return ""
	}
	return below
}

// IsKnown reports whether the place has documents, whose collections have one name.
func (p Place) IsKnown() bool {
	return p != "" && !strings.HasSuffix(string(p), everywhere) && !strings.Contains(p.name(), "{")
}

// Repeats reports whether another document may have the id of one of the place, because it lies below another.
func (p Place) Repeats() bool { return strings.Contains(string(p), "/") }

// Query returns the query for all documents of the place, with some of their fields or, if none are given, whole.
func (p Place) Query(fields ...string) documents.Query {
	q := documents.Query{Collection: string(p), Group: p.IsGroup(), Select: fields}
	if q.Group {
		q.Collection = p.name()
	}
	return q
}

// Pattern returns the place as a pattern of [engine.Reach].
func (p Place) Pattern() string {
	place := "/" + criteria.Hole.ReplaceAllLiteralString(string(p), "*") + "/"
	return strings.Trim(strings.ReplaceAll(place, "/…/", "/"+Everything+"/"), "/")
}

// words returns the place in words.
func (p Place) words() string {
	if name, isGroup := strings.CutPrefix(string(p), anywhere); isGroup {
		return "every collection " + name
	}
	return string(p)
}

// Place returns where the rule's documents are.
func (r Rule) Place() Place {
	if r.CollectionGroup != "" {
		return Anywhere(r.CollectionGroup)
	}
	return Place(r.Collection)
}

// Place returns where documents are that are related to those of a place; empty if they are no documents.
func (r Relation) Place(of Place) Place {
	switch {
	case r.Document != "":
		above, _ := cutLast(string(of))
		if above+"/" == anywhere {
			above += "/{" + parentHole + "}/{id}"
		}
		own, _ := cutLast(strings.ReplaceAll(r.Document, "{"+parentHole+"}", above))
		return Place(strings.TrimPrefix(own, "/"))
	case r.Subcollection == Everything:
		return of + "/{id}" + everywhere
	case r.Subcollection != "":
		return of + "/{id}/" + Place(r.Subcollection)
	case r.CollectionGroup != "":
		return Anywhere(r.CollectionGroup)
	}
	return Place(r.Collection)
}

// cutLast returns the text before the last slash, and the text after it.
func cutLast(path string) (before, after string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

// Placed is a relation with the place of the items that it is of.
type Placed struct {
	Relation
	Of Place // of the documents to which it belongs
}

// Along returns what is deleted together with the rule's items, and in turn with that.
func (r Rule) Along() []Placed { return along(r.With, r.Place()) }

func along(with []Relation, of Place) (all []Placed) {
	for _, w := range with {
		all = append(append(all, Placed{w, of}), along(w.With, w.Place(of))...)
	}
	return all
}

// LooksFor returns what is looked for to decide: about the rule's items, and about what is deleted together with them.
func (r Rule) LooksFor() (all []Placed) {
	for _, related := range r.Related() {
		all = append(all, Placed{related, r.Place()})
	}
	for _, w := range r.Along() {
		for _, u := range w.Unless {
			if u.kind() != nil {
				all = append(all, Placed{u, w.Place(w.Of)})
			}
		}
	}
	return all
}

// LooksAlong returns what is looked for to decide about what is deleted with items: by the rule, and by others that are about it.
func (r Rule) LooksAlong() []Placed {
	all := r.LooksFor()[len(r.Related()):]
	for _, other := range r.Others {
		if !other.OfDocuments() { // an account or an object is kept by itself
			continue
		}
		for _, u := range other.Unless {
			all = append(all, Placed{Relation: u, Of: other.Place()})
		}
	}
	return all
}

// Keeping returns the conditions on documents by which these keep something: entries of unless that are conditions, on the rule's
// own documents and on what is deleted with them, and where of relations.
func (r Rule) Keeping() (all []Placed) {
	add := func(unless []Relation, of Place) {
		for _, u := range unless {
			if u.kind() == nil {
				all = append(all, Placed{u, of})
			}
		}
	}
	if r.OfDocuments() {
		add(r.Unless, r.Place())
	}
	for _, w := range r.Along() {
		add(w.Unless, w.Place(w.Of))
	}
	for _, one := range r.LooksFor() {
		for n, w := range one.Where {
			key := fmt.Sprintf("%s.where[%d]", one.Key, n)
			all = append(all, Placed{Relation{Key: key, Field: w.Field, Is: w.Is, Ops: w.Ops}, one.Place(one.Of)})
		}
	}
	return all
}

// Meets reports whether with of the rule may delete what another rule is about.
func (r Rule) Meets(other Rule) bool {
	return slices.ContainsFunc(r.Along(), func(w Placed) bool {
		switch {
		case other.Accounts != "":
			return w.Account != "" && r.OfDocuments()
		case other.Objects != "":
			mine, theirs := pattern.Folder(w.Objects), pattern.Folder(other.Objects)
			return w.Objects != "" && (strings.HasPrefix(mine, theirs) || strings.HasPrefix(theirs, mine))
		}
		at, theirs := w.Place(w.Of), other.Place()
		if above, below := strings.CutSuffix(string(at), everywhere); below {
			parts, deep := strings.Split(string(theirs), "/"), strings.Count(above, "/")+1
			return strings.HasPrefix(string(theirs), anywhere) ||
				len(parts) > deep && Place(above).Same(Place(strings.Join(parts[:deep], "/")))
		}
		return !w.Remove && at != "" && theirs.Same(at)
	})
}

// Same reports whether two places may be the same collection: a hole stands for any id.
func (p Place) Same(other Place) bool {
	endA, groupA := strings.CutPrefix(string(p), anywhere)
	endB, groupB := strings.CutPrefix(string(other), anywhere)
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
