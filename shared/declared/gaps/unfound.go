// Package gaps says where a rule and the documents of a project do not meet: relations and conditions that lead to nothing,
// fields of another shape, and collections that would stay below what is deleted.
package gaps

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// Listing returns the first names of files that begin with a prefix; with "", the folders at the top of the bucket.
type Listing func(ctx context.Context, prefix string) ([]string, error)

// Unfound names each relation of all that leads to nothing, whatever the item: its collection has no document, its folder no
// file, or no document has the field by which it leads there; and each condition on a field that no document has. Of many
// collections, the first documents tell: with guess, whatever they have, and else if one of their fields is called alike. Without
// files, nobody looks into folders.
func Unfound(
	ctx context.Context, r documents.Reader, files Listing, of rule.Rule, all []rule.Placed, guess bool,
) (said []string, err error) {
	l := lost{Rule: of, Reader: r, files: files, guess: guess}
	var missed []string
	for _, w := range all {
		ofMissed := func(key string) bool { return strings.HasPrefix(w.Key, key+".") }
		if slices.ContainsFunc(missed, ofMissed) { // what belongs to nothing
			continue
		}
		what, right, err := l.lacks(ctx, w)
		if err != nil {
			return nil, err
		}
		if what == "" {
			continue
		}
		so := "so a run does nothing"
		switch {
		case w.Role() == rule.WithRole:
			so = "so nothing is deleted along by it"
		case isOwn(w):
			so = "so it keeps nothing"
		case strings.HasPrefix(what, noDocument): // one value is found where the rule says a list, and the other way round
			so = "so a run that finds nothing by it does nothing"
			if w.Place(w.Of).IsGroup() {
				what = strings.Replace(what, " has ", " that was looked at has ", 1)
			}
		}
		said, missed = append(said, fmt.Sprintf("%s: %s, %s: %s", w.Key, what, so, right)), append(missed, w.Key)
	}
	return said, nil
}

// isOwn reports whether an entry of unless is a condition on the item itself.
func isOwn(w rule.Placed) bool { return len(w.Condition().Operators()) > 0 }

type lost struct {
	rule.Rule
	documents.Reader
	files Listing
	guess bool
}

// lacks says why a relation leads to nothing; "" if it may lead to something. right asks for the right name.
func (l *lost) lacks(ctx context.Context, w rule.Placed) (what, right string, err error) {
	to, fields := w.Place(w.Of), l.FieldHoles(w.Document+w.Account)
	if to == "" { // a field of the item refers to files
		fields = append(fields, w.Field)
	}
	if isOwn(w) {
		return l.lacksOwn(ctx, w)
	}
	if w.Of != "" && w.Role() == rule.WithRole { // an account has no fields, and an item without those of gone and unless is kept
		if field, err := lacking(ctx, l.Reader, w.Of, nil, fields...); field != "" || err != nil {
			return l.noField(ctx, w.Of, field, err)
		}
	}
	if folder, _, _ := strings.Cut(w.Objects, "{"); w.Objects != "" && l.files != nil {
		folder = strings.TrimSuffix(folder, rule.Everything)
		if some, err := l.files(ctx, folder); len(some) == 0 || err != nil {
			return "no file is below " + folder, unlike, err
		}
	}
	if !to.IsKnown() {
		return "", "", nil
	}
	field, empty, err := Nothing(ctx, l.Reader, to, nil, w.Fields()...)
	if !empty || err != nil {
		return l.noField(ctx, to, field, err)
	}
	if below, err := l.below(ctx, w.Relation); below || err != nil {
		return "", "", err
	}
	if right, err = Meant(ctx, l.Reader, to, ""); right == unlike && w.Role() != rule.WithRole {
		right += " If it is, put any document into it"
	}
	return fmt.Sprintf("the collection %s has no document", to), right, err
}

// lacksOwn is lacks of a condition on documents of a place: a value of any type is one.
func (l *lost) lacksOwn(ctx context.Context, w rule.Placed) (what, right string, err error) {
	switch {
	case w.Condition().Absence(), strings.Contains(w.Field, "{"), !w.Of.IsKnown():
		return "", "", nil
	case !w.Of.IsGroup():
		field, err := lacking(ctx, l.Reader, w.Of, nil, w.Field)
		if field != w.Field {
			field = ""
		}
		return l.noField(ctx, w.Of, field, err)
	}
	found, whole, err := some(ctx, l.Reader, w.Of, LookedIn)
	what, right = Unheard("document of "+w.Of.String(), w.Field, lookups(found), whole, l.guess)
	return what, right, err
}

// lookups returns how the fields of some documents are looked up.
func lookups(found []documents.Document) (all []criteria.Lookup) {
	for _, d := range found {
		all = append(all, d.Lookup)
	}
	return all
}

// Unheard says that none of some items has a field, and asks for the right name; "" if one has it. Where these are not all, and
// none has a field called alike, it only guesses.
func Unheard(noun, field string, items []criteria.Lookup, whole, guess bool) (what, right string) {
	for _, of := range items {
		if value, _ := of(field); value != nil {
			return "", ""
		}
	}
	like := likeIn(field, items)
	switch {
	case len(items) == 0, like == "" && !whole && !guess:
		return "", ""
	case !whole:
		noun += " that was looked at"
	}
	return fmt.Sprintf("no %s has %s", noun, field), asking(like)
}

// likeIn returns a field of some items that is called like another one; "" if there is none.
func likeIn(field string, items []criteria.Lookup) string {
	at := strings.LastIndexByte(field, '.') + 1
	var there []string
	for _, of := range items {
		inside, _ := of(strings.TrimSuffix(field[:at], "."))
		fields, _ := inside.(map[string]any)
		there = slices.AppendSeq(there, maps.Keys(fields))
	}
	slices.Sort(there)
	like := criteria.Alike(field[at:], there)
	if like == "" || like == field[at:] {
		return ""
	}
	return field[:at] + like
}

// asking asks whether a name is meant.
func asking(like string) string {
	if like == "" {
		return unlike
	}
	return "is it " + like + "?"
}

// noField says that no document of a place has a field, unless it is "" or that could not be read.
func (l *lost) noField(ctx context.Context, in rule.Place, field string, err error) (what, right string, _ error) {
	if field == "" || err != nil {
		return "", "", err
	}
	right, err = Meant(ctx, l.Reader, in, field)
	return fmt.Sprintf("%s%s has %s", noDocument, in, field), right, err
}

// noDocument begins what is said of a field that no document has.
const noDocument = "no document of "

// unlike asks for a name like which there is none.
const unlike = "is that its name?"

// fewToName is in how many documents of a place the names of its fields are looked for.
const fewToName = 3

// Meant asks whether a field of a place's documents that none has, or with "" the collection itself, which has no document, is
// another one that there is.
func Meant(ctx context.Context, r documents.Reader, in rule.Place, field string) (asks string, err error) {
	switch {
	case field != "":
		found, _, err := some(ctx, r, in, fewToName)
		return asking(likeIn(field, lookups(found))), err
	case in.IsGroup(): // perhaps it is elsewhere
		found, err := r.First(ctx, in.Query(documents.NameOnly...), "", 1)
		if len(found) == 0 || err != nil {
			return unlike, err
		}
		return "is it " + patternOf(found[0].Ref().Collection) + "?", nil
	}
	name := in.String()
	if parts := strings.Split(name, "/"); len(parts) == 3 { // perhaps somebody forgot the braces
		each := rule.Place(fmt.Sprintf("%s/{%s}/%s", parts[0], parts[1], parts[2]))
		found, err := r.First(ctx, each.Query(documents.NameOnly...), "", 1)
		if err != nil || len(found) > 0 && each.Same(rule.Place(found[0].Ref().Collection)) {
			return fmt.Sprintf("is it %s?", each), err
		}
	}
	there, err := r.Collections(ctx, documents.Ref{})
	if err != nil {
		return "", err
	}
	slices.Sort(there)
	if like := criteria.Alike(name, there); like != name {
		return asking(like), nil
	}
	return unlike, nil
}

// patternOf returns a collection's path with {id} in place of ids.
func patternOf(collection string) string {
	parts := strings.Split(collection, "/")
	for i := 1; i < len(parts); i += 2 {
		parts[i] = "{id}"
	}
	return strings.Join(parts, "/")
}

// some returns those of a place among the first n documents that a query finds, and whether these are all. Of many collections,
// it begins where the documents below the first part of the place's path do.
func some(ctx context.Context, r documents.Reader, in rule.Place, n int, fields ...string) (
	found []documents.Document, whole bool, err error,
) {
	q, from := in.Query(fields...), documents.Cursor("")
	below := in.Below()
	if below != "" {
		if from, err = q.After(documents.Document{Path: below + first}); err != nil {
			return nil, false, err
		}
	}
	if found, err = r.First(ctx, q, from, n); err != nil {
		return nil, false, err
	}
	whole = len(found) < n || !strings.HasPrefix(found[n-1].Path, below)
	return slices.DeleteFunc(found, func(d documents.Document) bool { return !in.Same(rule.Place(d.Ref().Collection)) }), whole, err
}

// first is an id before those that applications write.
const first = "!"

// below reports whether there are documents below a subcollection that has none itself.
func (l *lost) below(ctx context.Context, w rule.Relation) (bool, error) {
	for _, b := range w.With {
		if b.Subcollection == "" || w.Subcollection == "" {
			continue
		}
		found, err := l.First(ctx, b.Place("").Query(documents.NameOnly...), "", LookedIn)
		of := func(d documents.Document) bool {
			return path.Base(path.Dir(path.Dir(d.Ref().Collection))) == w.Subcollection
		}
		if err != nil || slices.ContainsFunc(found, of) {
			return true, err
		}
	}
	return false, nil
}

// LookedIn is in how many collections, or at how many documents of a group, a run looks for a field that nobody may have written.
const LookedIn = 20

// Nothing says why nothing is found in a place by fields of its documents: which of them none has, or that there is no document.
// That costs a read for each field that one has.
func Nothing(ctx context.Context, r documents.Reader, in rule.Place, collections []string, fields ...string) (
	lacks string, empty bool, err error,
) {
	if lacks, err = lacking(ctx, r, in, collections, fields...); err != nil {
		return "", false, err
	}
	if lacks == "" && !in.IsGroup() && strings.Join(fields, "") != "" {
		return "", false, nil
	}
	found, whole, err := some(ctx, r, in, 1, documents.NameOnly...)
	if len(found) == 0 && !whole && err == nil { // in a collection of this name elsewhere
		found, whole, err = some(ctx, r, in, LookedIn, documents.NameOnly...)
	}
	return lacks, len(found) == 0 && whole, err
}

// lacking returns what no document of a place has by which the first of fields, as a rule writes them, could lead somewhere; ""
// if all could, or if there is no document to tell by.
func lacking(ctx context.Context, r documents.Reader, in rule.Place, collections []string, fields ...string) (
	lacks string, err error,
) {
	for _, field := range fields {
		if field != "" && lacks == "" && err == nil {
			lacks, err = lackingOne(ctx, r, in, collections, field)
		}
	}
	return lacks, err
}

// lackingOne is lacking for one field. No index spans many collections: it looks at the first of those or a group.
func lackingOne(ctx context.Context, r documents.Reader, in rule.Place, collections []string, field string) (string, error) {
	name, of := field, shapeOf(field)
	name, _, _ = strings.Cut(strings.TrimSuffix(strings.TrimSuffix(name, ".{id}"), ".*"), "[]")
	q, n := in.Query(name), 1
	find := func(q documents.Query) ([]documents.Document, error) { return r.First(ctx, q, "", n) }
	var asks []documents.Query
	switch {
	case !in.IsGroup():
		q.OrderBy = []string{name}
		set := q
		set.Where = []documents.Filter{{Field: name, Op: "!=", Value: nil}}
		if asks = append(asks, set); of.least != nil { // what sorts before it may hide it
			q.From = []any{of.least}
			asks = append(asks, q)
		}
	case len(collections) > 0 && strings.Contains(collections[0], "/"):
		for _, collection := range collections {
			asks = append(asks, documents.Query{Collection: collection, Select: q.Select})
		}
	default:
		asks, n = append(asks, q), LookedIn
		find = func(documents.Query) ([]documents.Document, error) {
			found, _, err := some(ctx, r, in, n, name)
			return found, err
		}
	}
	lacks := ""
	if !in.IsGroup() {
		lacks = name
	}
	for _, q := range asks {
		found, err := find(q)
		if err != nil || len(found) == 0 && !in.IsGroup() {
			return lacks, err
		}
		for _, d := range found {
			switch value := d.Value(name); {
			case value != nil && of.fits(value):
				return "", nil
			case value != nil:
				lacks = fmt.Sprintf(of.words, name)
			case lacks == "":
				lacks = name
			}
		}
	}
	return lacks, nil
}

// shape is what a field must hold to lead somewhere.
type shape struct {
	words string
	fits  func(value any) bool
	least any // of a list or a map: the first of them in the order of Firestore
}

func isList(value any) bool { _, is := value.([]any); return is }
func isMap(value any) bool  { _, is := value.(map[string]any); return is }

// shapeOf returns the shape that a rule gives a field.
func shapeOf(field string) shape {
	switch {
	case strings.HasSuffix(field, "[]"):
		ofValues := func(value any) bool {
			all, _ := value.([]any)
			return isList(value) && (len(all) == 0 || !isList(all[0]) && !isMap(all[0]))
		}
		return shape{"a list of values in %[1]s (if it holds one value, write %[1]s)", ofValues, []any{}}
	case strings.Contains(field, "[]"):
		return shape{"a list in %s", isList, []any{}}
	case strings.HasSuffix(field, ".*"), strings.HasSuffix(field, ".{id}"):
		return shape{"a map in %s", isMap, map[string]any{}}
	}
	ofOne := func(value any) bool { return !isList(value) && !isMap(value) }
	return shape{"one value in %[1]s (if it holds a list, write %[1]s[])", ofOne, nil}
}

// OfMaps says what is wrong if a document of a place holds a map in a field, or a list of maps, where the rule says an id or a
// list of ids: no query finds to what it refers. It costs one read. Of many collections, no index tells.
func OfMaps(ctx context.Context, r documents.Reader, in rule.Place, field string) (string, error) {
	if field == "" || in.IsGroup() || strings.HasSuffix(field, ".{id}") {
		return "", nil
	}
	name := strings.TrimSuffix(field, "[]")
	q := in.Query(documents.NameOnly...)
	q.OrderBy, q.From = []string{name}, []any{[]any{map[string]any{}}} // maps, and lists that begin with one, come last
	found, err := r.First(ctx, q, "", 1)
	if len(found) == 0 || err != nil {
		return "", err
	}
	return fmt.Sprintf("what %s refers to, whose %s holds a map or maps: have it hold ids or references or, if the keys of a "+
		"map are ids, write "+
		"%s.{id}. Until then nothing is deleted", found[0].Path, name, name), nil
}
