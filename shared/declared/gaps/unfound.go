// Package gaps says where a rule and the documents of a project do not meet: relations and conditions that lead to nothing,
// fields of another shape, and collections that would stay below what is deleted.
package gaps

import (
	"cmp"
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
// file, or no document has the field by which it leads there; and each condition on a field that no document has. Without files,
// nobody looks into folders.
func Unfound(ctx context.Context, r documents.Reader, files Listing, of rule.Rule, all []rule.Placed) (said []string, err error) {
	l := lost{Rule: of, Reader: r, files: files}
	missed := "-"
	for _, w := range all {
		if strings.HasPrefix(w.Key, missed+".") { // what belongs to nothing
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
		}
		said, missed = append(said, fmt.Sprintf("%s: %s, %s: %s", w.Key, what, so, right)), w.Key
	}
	return said, nil
}

// isOwn reports whether an entry of unless is a condition on the item itself.
func isOwn(w rule.Placed) bool { return len(w.Condition().Operators()) > 0 }

type lost struct {
	rule.Rule
	documents.Reader
	files Listing
}

// lacks says why a relation leads to nothing; "" if it may lead to something. right asks for the right name.
func (l *lost) lacks(ctx context.Context, w rule.Placed) (what, right string, err error) {
	to, fields := w.Place(w.Of), l.FieldHoles(w.Document+w.Account)
	if to == "" { // a field of the item refers to files
		fields = append(fields, w.Field)
	}
	if isOwn(w) { // a value of any type is one; of many collections, no index tells
		field, err := lacking(ctx, l.Reader, w.Of, nil, w.Field)
		if field != w.Field || w.Of.IsGroup() || strings.Contains(field, "{") {
			field = ""
		}
		return l.noField(ctx, w.Of, field, err)
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

// noField says that no document of a place has a field, unless it is "" or that could not be read.
func (l *lost) noField(ctx context.Context, in rule.Place, field string, err error) (what, right string, _ error) {
	if field == "" || err != nil {
		return "", "", err
	}
	right, err = Meant(ctx, l.Reader, in, field)
	return fmt.Sprintf("no document of %s has %s", in, field), right, err
}

// unlike asks for a name like which there is none.
const unlike = "is that its name?"

// fewToName is in how many documents of a place the names of its fields are looked for.
const fewToName = 3

// Meant asks whether a field of a place's documents that none has, or with "" the collection itself, which has no document, is
// another one that there is.
func Meant(ctx context.Context, r documents.Reader, in rule.Place, field string) (asks string, err error) {
	name, there := cmp.Or(field, in.String()), []string{}
	switch {
	case field != "":
		found, err := r.First(ctx, in.Query(), "", fewToName)
		if err != nil {
			return "", err
		}
		for _, d := range found {
			there = slices.AppendSeq(there, maps.Keys(d.Data))
		}
	case !in.IsGroup():
		if parts := strings.Split(name, "/"); len(parts) == 3 { // perhaps somebody forgot the braces
			each := rule.Place(fmt.Sprintf("%s/{%s}/%s", parts[0], parts[1], parts[2]))
			found, err := r.First(ctx, each.Query(documents.NameOnly...), "", 1)
			if err != nil || len(found) > 0 && each.Same(rule.Place(found[0].Ref().Collection)) {
				return fmt.Sprintf("is it %s?", each), err
			}
		}
		if there, err = r.Collections(ctx, documents.Ref{}); err != nil {
			return "", err
		}
	}
	slices.Sort(there)
	if like := criteria.Alike(name, there); like != "" && like != name {
		return "is it " + like + "?", nil
	}
	return unlike, nil
}

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
	found, err := r.First(ctx, in.Query(documents.NameOnly...), "", 1)
	return lacks, len(found) == 0, err
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
	}
	lacks := ""
	if !in.IsGroup() {
		lacks = name
	}
	for _, q := range asks {
		found, err := r.First(ctx, q, "", n)
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
