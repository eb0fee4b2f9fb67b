package doubts

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

// How many documents are looked at: of the rule's, for a path that they fill, of those that a relation finds, and of these for
// all relations together, but fewest for each.
const (
	excepted = 30
	related  = 20
	ofAll    = 80
	fewest   = 4
)

// A relation is doubtful if, of so many values or more that were looked at, fewer than one of so many leads anywhere.
const (
	telling = 3
	oneOf   = 10
)

// An exception that keeps more than mostPercent of leastLooked documents or more is doubtful.
const (
	mostPercent = 90
	leastLooked = 20
)

// relations doubts relations that find nothing: by the values of the field by which they lead.
func (l *looking) relations(ctx context.Context) {
	all := slices.Concat(l.Related(), l.With)
	for _, of := range all {
		switch {
		case of.Objects != "":
		case of.Document != "":
			l.leads(ctx, of)
		case of.Account != "":
			for _, field := range l.idHoles(of) {
				l.odd(of.Key, field, "@ ", "find no account: name the field that holds its uid", l.held(field), nil)
			}
		default:
			found := l.find(ctx, of, max(fewest, min(related, ofAll/len(all))))
			if of.Role() == rule.WithRole {
				l.along[of.Key] = found.sample
			} else {
				l.lacks(ctx, of, found)
			}
			if of.Field != "" {
				l.refers(ctx, of, found.sample)
			}
		}
	}
}

// find returns the first documents that a relation may find.
func (l *looking) find(ctx context.Context, of rule.Relation, n int) seen {
	q, found := of.Place("").Query(), seen{at: of.Place(l.Place())}
	if of.Subcollection == "" {
		all, ok := l.first(ctx, q, n)
		found.sample, found.whole = all, ok && len(all) < n
		return found
	}
	q.Group = false
	for _, d := range l.sample[:min(fewest, len(l.sample))] {
		q.Collection = d.Path + "/" + of.Subcollection
		some, _ := l.first(ctx, q, max(1, n/fewest))
		found.sample = append(found.sample, some...)
	}
	return found
}

// lacks says of the documents that a relation may find what its conditions and within do not fit.
func (l *looking) lacks(ctx context.Context, of rule.Relation, found seen) {
	all := found.sample
	if len(all) == 0 {
		return
	}
	if of.Within != nil {
		if hint := of.Within.Hint(timesOf(all, of.Within.Field)); hint != "" {
			l.say("%s.within: %s", of.Key, hint)
		}
	}
	for n, w := range of.Where {
		key, set, odd := fmt.Sprintf("%s.where[%d]", of.Key, n), 0, 0
		for _, d := range all {
			if _, there := d.Lookup(w.Field); there {
				set++
				if w.Holds(d.Lookup) == criteria.Unclear {
					odd++
				}
			}
		}
		switch {
		case set == 0 && slices.ContainsFunc(l.doubts, func(text string) bool { return strings.HasPrefix(text, key+": ") }):
			continue
		case set == 0:
			l.say("%s: %s is missing in all of %d: %s", key, w.Field, len(all), l.meant(ctx, found.at, w.Field))
			continue
		case odd == set:
			l.say("%s: %s is of another type in all of %d, which have %s: write one of these", key, w.Field, odd,
				criteria.List(found.shownOf(w.Field), "and"))
			continue
		case odd > 0 && len(w.Values()) > 0 && of.Document == "": // another type keeps the item that leads to it
			l.say(`%s: %s is of another type in %d of %d, and these keep nothing: to have them keep it, too, write "in" with a value of `+
				"each type", key, w.Field, odd, len(all))
		}
		l.keepingBy(ctx, key, found, w, "==", "in")
	}
}

// valuesOf returns what a field of a document, as a rule writes it, holds: each of a list, each key of a map, or one value.
func valuesOf(d documents.Document, field string) []any {
	plain := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(field, "[]"), ".{id}"), ".*")
	switch value := d.Value(plain).(type) {
	case nil:
		return nil
	case []any:
		return value
	case map[string]any:
		if plain == field || strings.HasSuffix(field, "[]") {
			return []any{value}
		}
		var keys []any
		for _, key := range slices.Sorted(maps.Keys(value)) {
			keys = append(keys, key)
		}
		return keys
	default:
		return []any{value}
	}
}

// ofMaps says how many values of a field are maps, which refer to nothing, and what to write instead. keys is how a rule there
// names the keys of a map.
func (l *looking) ofMaps(key, field, keys string, values []any) {
	n, write := 0, ""
	for _, value := range values {
		inside, isMap := value.(map[string]any)
		if isMap {
			n++
		}
		for _, name := range slices.Sorted(maps.Keys(inside)) {
			_, isID := documents.IDOf(inside[name])
			switch _, isRef := documents.RefIn(inside[name]); {
			case write != "":
			case strings.HasSuffix(field, "[]"):
				write = "have another list hold their ids"
			case slices.ContainsFunc(l.sample, func(d documents.Document) bool { return d.ID() == name }):
				write = "write " + field + keys
			case isRef, isID && strings.HasSuffix(strings.ToLower(name), "id"):
				write = "write " + field + "." + name
			}
		}
	}
	if n > 0 {
		l.say("%s: %s holds a map in %d of %d, which refers to nothing: %s", key, field, n, len(values),
			cmp.Or(write, "name a field that holds an id"))
	}
}

// idHoles returns the fields by which a relation leads to a document or an account, and says which hold maps.
func (l *looking) idHoles(of rule.Relation) []string {
	fields := l.FieldHoles(of.Document + of.Account)
	for _, field := range fields {
		l.ofMaps(of.Key, field, ".*", l.held(field))
	}
	return fields
}

// noIDs says of fields by which a path leads to documents what is unlike the ids of those that exist.
func (l *looking) noIDs(of rule.Relation, fields []string, there map[documents.Ref]documents.Document) {
	so := "count as gone"
	switch {
	case of.Role() == rule.UnlessRole:
		so = "keep nothing"
	case of.Role() == rule.WithRole:
		so = "delete nothing along"
	}
	for _, field := range fields {
		if len(there) > 0 {
			l.odd(of.Key, field, "@,;: ", so+": correct the documents first", l.held(field), slices.Collect(maps.Values(there)))
		}
		lists := slices.DeleteFunc(slices.Clone(l.sample), func(d documents.Document) bool {
			_, isList := d.Value(field).([]any)
			return !isList
		})
		if len(lists) > 0 {
			l.say("%s: %s holds a list in %d of %d, which leads to nothing: write {%s[]}", of.Key, field, len(lists), len(l.sample), field)
		}
	}
}

// odd says how many values of a field have signs that no id of some documents has, and what follows. A path is no such value.
func (l *looking) odd(key, field, signs, so string, values []any, like []documents.Document) {
	isOdd := func(r rune) bool {
		has := func(d documents.Document) bool { return strings.ContainsRune(d.ID(), r) }
		return strings.ContainsRune(signs, r) && !slices.ContainsFunc(like, has)
	}
	values = slices.DeleteFunc(slices.Clone(values), func(value any) bool { return value == "" })
	odd := slices.DeleteFunc(slices.Clone(values), func(value any) bool {
		text, _ := value.(string)
		_, isPath := documents.RefIn(text)
		_, isID := documents.IDOf(text)
		kept := !isID && !strings.Contains(signs, "/") // an item that holds what can be no id
		return isPath || kept || !strings.ContainsFunc(text, isOdd)
	})
	if len(odd) > 0 {
		l.say("%s: %s holds what is no id, such as an address or several ids, in %d of %d, and these %s", key, field, len(odd),
			len(values), so)
	}
}

// held returns what a field holds in the sample.
func (l *looking) held(field string) (values []any) {
	for _, d := range l.sample {
		values = append(values, valuesOf(d, field)...)
	}
	return values
}

// leads doubts a relation by a document's path that leads to no document, or a document of unless that keeps nearly everything.
func (l *looking) leads(ctx context.Context, of rule.Relation) {
	fields := l.idHoles(of)
	var refs, single []documents.Ref
	for _, d := range l.sample[:min(excepted, len(l.sample))] {
		filled := l.filled(d, of)
		if refs = append(refs, filled...); len(filled) == 1 {
			single = append(single, filled...)
		}
	}
	there, n, ok := l.exist(ctx, refs)
	if !ok {
		return
	}
	lacks := func(ref documents.Ref) bool { return there[ref].Path == "" }
	found := len(there)
	if strings.ContainsAny(of.Document, "[*") { // of many items, the values may be alike
		n, found = len(refs), len(slices.DeleteFunc(refs, lacks))
	}
	l.lacks(ctx, of, seen{of.Place(l.Place()), slices.Collect(maps.Values(there)), false})
	l.noIDs(of, fields, there)
	kept := len(slices.DeleteFunc(slices.Clone(single), lacks))
	so := ", so nearly all of these are due"
	switch {
	case of.Role() == rule.UnlessRole:
		if of.Where == nil && len(single) >= leastLooked && kept*100 > len(single)*mostPercent {
			l.say("%s: %d of %d are kept because %s exists: did you mean gone?", of.Key, kept, len(single), of.Document)
		}
		if path := l.otherPath(ctx, of); found == 0 && path != "" {
			l.say("%s: no item looked at leads to a document %s, and some lead to one %s: is that meant?", of.Key, of.Document, path)
			return
		}
		if found > 0 || !l.unmet(ctx, of, fields) {
			return
		}
		so = ", and no item leads to one that does, so this keeps nothing"
	case of.Role() == rule.WithRole:
		so = ", so nothing is deleted along"
	}
	right := "is that its path?"
	if len(fields) > 0 {
		right = "is " + criteria.List(fields, "and") + " the right field?"
	}
	if strings.Contains(of.Document, ".*}") {
		right += " It stands for the keys of a map, and not for its values"
	}
	l.none(of.Key, found, n, "documents "+of.Document+" looked at exists"+so+": "+right)
}

// none says that no or hardly any of what was looked at is what it should be. It reports whether that is so.
func (l *looking) none(key string, there, n int, rest string) bool {
	words := "none"
	if there > 0 {
		words = fmt.Sprintf("only %d", there)
	}
	if n < telling || there*oneOf >= n {
		return false
	}
	l.say("%s: %s of the %d %s", key, words, n, rest)
	return true
}

// otherPath returns the path of a relation with other ids filled in, if that leads items to documents that there are and its own
// does not; else "".
func (l *looking) otherPath(ctx context.Context, of rule.Relation) string {
	there, _ := l.first(ctx, of.Place(l.Place()).Query(documents.NameOnly...), related)
	exists := func(path string) bool {
		of.Document = path
		return slices.ContainsFunc(l.sample, func(item documents.Document) bool {
			return slices.ContainsFunc(l.filled(item, of), func(ref documents.Ref) bool {
				return slices.ContainsFunc(there, func(d documents.Document) bool { return d.Ref() == ref })
			})
		})
	}
	own, ids := of.Document, append(criteria.Holes(l.Source()), "id")
	named := target{name: path.Base(path.Dir(own))}
	for _, field := range slices.Sorted(maps.Keys(l.sample[0].Data)) {
		if named.isNamed(field) {
			ids = append(ids, field)
		}
	}
	between := criteria.Hole.Split(own, -1)
	all := between[:1]
	for _, text := range between[1:] {
		var longer []string
		for _, begin := range all {
			for _, id := range ids {
				if !strings.Contains(begin, "{"+id+"}") {
					longer = append(longer, begin+"{"+id+"}"+text)
				}
			}
		}
		all = longer
	}
	if at := slices.IndexFunc(all, exists); at >= 0 && !exists(own) {
		return all[at]
	}
	return ""
}

// unmet reports whether no item leads to one of the documents that there are where a path of unless leads. There may be few such
// exceptions, so that the items looked at need not have one.
func (l *looking) unmet(ctx context.Context, of rule.Relation, fields []string) bool {
	collection, isLast := strings.CutSuffix(of.Document, "/{"+strings.Join(fields, "")+"}")
	if !isLast || len(fields) != 1 || strings.Contains(collection, "{") || l.Place().IsGroup() {
		return false
	}
	found, _ := l.first(ctx, documents.Query{Collection: collection, Select: documents.NameOnly}, fewest)
	by := rule.Relation{Collection: l.Collection, Field: strings.Replace(fields[0], ".*", ".{id}", 1)}
	leads := func(d documents.Document) bool { // or nobody knows
		q, asked := by.Query(d.Ref(), false, func(ref documents.Ref) any { return l.Ref(ref.Path()) })
		items, ok := l.first(ctx, q, 1)
		return !asked || !ok || len(items) > 0
	}
	return len(found) >= telling && !slices.ContainsFunc(found, leads)
}

// holding reports whether a document of a collection holds one of some values in a field, or in its list. It may be true if
// nobody knows.
func (l *looking) holding(ctx context.Context, collection, field string, values []any) bool {
	f := documents.Filter{Field: field, Op: "in", Value: values[:min(len(values), criteria.MaxAlternatives)]}
	if plain, isList := strings.CutSuffix(field, "[]"); isList {
		f.Field, f.Op = plain, "array-contains-any"
	}
	found, ok := l.first(ctx, documents.Query{Collection: collection, Select: documents.NameOnly, Where: []documents.Filter{f}}, 1)
	return len(found) > 0 || !ok
}

// refers doubts a relation by a field of others whose values refer to no document of the rule's.
func (l *looking) refers(ctx context.Context, of rule.Relation, found []documents.Document) {
	var refs []documents.Ref
	var values []any
	others, right := map[any]bool{}, "is it the right field?"
	for _, d := range found {
		for _, value := range valuesOf(d, of.Field) {
			if text, isText := value.(string); isText {
				value = strings.TrimPrefix(text, d.Database+"/documents/")
			}
			if value == d.ID() {
				right = `to look up what a field of the item refers to, write "document"`
			}
			values = append(values, value)
			if text, _ := value.(string); strings.Contains(text, "://") {
				right = `a URL refers to a file: to keep files, write a rule about them, with this field in "gone"`
			}
			_, isMap := value.(map[string]any)
			ref, isRef := documents.RefIn(value)
			id, isID := documents.IDOf(value)
			switch {
			case isMap:
			case isRef && l.Place().Same(rule.Place(ref.Collection)):
				refs = append(refs, ref)
			case isID && !isRef && !l.Place().Repeats():
				refs = append(refs, documents.Ref{Collection: l.Collection, ID: id})
			case isID && of.Role() == rule.WithRole:
				right = "ids repeat there, so have this field hold references or paths"
				fallthrough
			case isRef || !isID && value != "":
				others[fmt.Sprint(value)] = true
			}
		}
	}
	l.ofMaps(of.Key, of.Field, ".{id}", values)
	if there, n, ok := l.exist(ctx, refs); ok && !l.none(of.Key, len(there), n+len(others), fmt.Sprintf(
		"values of %s.%s looked at refers to a document of %s: %s", of.Place(""), of.PlainField(), l.Source(), right)) {
		l.odd(of.Key, of.Field, "@,;: /", "refer to nothing: correct the documents first", values, l.sample)
	}
}
