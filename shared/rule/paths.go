package rule

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// The holes that every item fills.
const (
	idHole     = "id"     // the item's id
	uidHole    = "uid"    // the same, of an account, which binds it
	parentHole = "parent" // the path of the document that the item lies below
)

// Item is what is judged, and what fills paths: a document, an object or an account.
type Item struct {
	ID       string
	Parent   string            // the path of the document that it lies below
	Bound    map[string]string // what the rule's own path binds
	Field    criteria.Lookup
	Times    map[string]time.Time // by the values of by; the zero time is unknown
	Database string               // of a document
}

// ItemOf returns a document as an item. ok is false if it is none of the rule's, but of another collection of the same name.
func (r Rule) ItemOf(d documents.Document) (i Item, ok bool) {
	ref := d.Ref()
	i = Item{ID: ref.ID, Parent: path.Dir(ref.Collection), Field: d.Lookup, Database: d.Database,
		Times: map[string]time.Time{criteria.UpdateTime: d.UpdateTime, criteria.CreateTime: d.CreateTime}}
	if i.Parent == "." {
		i.Parent = ""
	}
	if !strings.Contains(r.Collection, "{") {
		return i, true
	}
	i.Bound, ok = bind(r.Collection, ref.Collection)
	return i, ok
}

// Among returns those of some documents that are the rule's, and not of another collection of the same name.
func (r Rule) Among(found []documents.Document) []documents.Document {
	return slices.DeleteFunc(slices.Clone(found), func(d documents.Document) bool {
		_, ok := r.ItemOf(d)
		return !ok
	})
}

// bind returns what the holes of a pattern stand for in a path of as many parts.
func bind(pattern, path string) (bound map[string]string, ok bool) {
	want, parts := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(parts) {
		return nil, false
	}
	bound = map[string]string{}
	for n, part := range want {
		hole, isHole := criteria.HoleOf(part)
		switch {
		case isHole:
			bound[hole] = parts[n]
		case part != parts[n]:
			return nil, false
		}
	}
	return bound, true
}

// Own returns what a hole stands for by the item's path; ok is false if it is a field.
func (i Item) Own(hole string) (text string, ok bool) {
	if text, ok = i.Bound[hole]; ok {
		return text, true
	}
	switch hole {
	case idHole:
		return i.ID, true
	case parentHole:
		return i.Parent, true
	}
	return "", false
}

// Lookup is [Item.Field], or [Item.Own] of a hole in braces.
func (i Item) Lookup(field string) (value any, there bool) {
	if hole, isHole := criteria.HoleOf(field); isHole {
		return i.Own(hole)
	}
	return i.Field(field)
}

// values returns what a hole stands for: texts, or references to documents. None, if it is a list that is empty; ok is false if
// the item has no such field.
func (i Item) values(hole string) (all []any, ok bool) {
	if text, isOwn := i.Own(hole); isOwn {
		return []any{own(text)}, text != ""
	}
	if list, isList := strings.CutSuffix(hole, "[]"); isList {
		value, _ := i.Field(list)
		all, ok = value.([]any)
		return all, ok
	}
	if m, isMap := strings.CutSuffix(hole, ".*"); isMap {
		value, _ := i.Field(m)
		fields, ok := value.(map[string]any)
		for key := range fields {
			all = append(all, key)
		}
		return all, ok
	}
	value, there := i.Field(hole)
	return []any{value}, there
}

// own is a part of the item's own path, which is valid as it is. What a field holds must be an id.
type own string

// Fill returns the documents that a path names. ok is false if a hole names none: the item is kept then. A hole that is the whole
// path takes a reference or a path; others take an id or a reference to a document of the collection that is written before it.
func (i Item) Fill(path string) (refs []documents.Ref, ok bool) {
	texts, end := []string{""}, 0
	for _, at := range criteria.Hole.FindAllStringSubmatchIndex(path, -1) {
		hole, whole := path[at[2]:at[3]], at[1]-at[0] == len(path)
		values, there := i.values(hole)
		if !there || len(values) == 0 {
			return nil, false
		}
		var longer []string
		for _, text := range texts {
			text += path[end:at[0]]
			for _, value := range values {
				filled, named := i.fill(text, value, whole)
				if !named || strings.Contains(filled, "/") && hole != parentHole && !whole {
					return nil, false
				}
				longer = append(longer, text+filled)
			}
		}
		texts, end = longer, at[1]
	}
	for _, text := range texts {
		text += path[end:]
		ref, err := documents.RefOf(text)
		if err != nil || slices.ContainsFunc(strings.Split(text, "/"), func(part string) bool { return !documents.ValidName(part) }) {
			return nil, false
		}
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs, true
}

// fill returns what a value puts into a path behind what is written before it.
func (i Item) fill(before string, value any, whole bool) (text string, ok bool) {
	if text, isOwn := value.(own); isOwn {
		return string(text), true
	}
	if ref, isReference := documents.ReferenceOf(value); isReference {
		d := documents.Document{Database: i.Database}
		if whole {
			id, here := d.IDIn(ref.Collection, value)
			return ref.Collection + "/" + id, here
		}
		return d.IDIn(strings.TrimSuffix(before, "/"), value)
	}
	if text, isText := value.(string); whole && isText {
		return strings.TrimPrefix(text, "/"), strings.Count(text, "/") > 0
	}
	if ref, isPath := documents.RefIn(value); isPath {
		return ref.ID, ref.Collection+"/" == before
	}
	return documents.IDOf(value)
}

// UID returns the uid that a text with holes names; ok is false if it names none.
func (i Item) UID(text string) (uid string, ok bool) {
	refs, ok := i.Fill("users/" + text)                           // a uid is an id of a document, if one may be looked up by it
	if !ok || len(refs) != 1 || !accounts.Deletable(refs[0].ID) { // nobody could tell whether it is there
		return "", false
	}
	return refs[0].ID, true
}
