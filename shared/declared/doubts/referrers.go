package doubts

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
	"github.com/firesweep/firesweep/shared/rule/pattern"
)

// How much is looked at for references to what the rule deletes: documents of other collections, of each of them, and fields that
// may have references.
const (
	ofOthers = 120
	leastOf  = 2
	mostOf   = 10
	asking   = 20
)

// shortest is how many bytes an id has at least that tells, as a text, that its document is meant, whatever the field is called.
const shortest = 6

// target is what the rule deletes: its documents or accounts, or what is deleted along by an entry of with.
type target struct {
	what   string
	with   rule.Relation // the entry
	at     rule.Place    // of documents
	folder string        // of files
	// Some of it: ids, unless they repeat elsewhere, or spellings of files. What is in values may be asked for.
	known  map[string]bool
	values []any
}

func (t *target) add(text string, spellings ...string) {
	for _, one := range spellings {
		t.known[one] = true
	}
	if documents.Queryable(text) {
		t.values = append(t.values, text)
	}
}

// reference is a field of documents of a collection, as a relation writes it, that may refer to one of the targets.
type reference struct {
	target            int
	collection, field string
}

func (a reference) compare(b reference) int {
	return cmp.Or(cmp.Compare(a.target, b.target), cmp.Compare(a.collection, b.collection), cmp.Compare(a.field, b.field))
}

// inMaps reports whether a field is one of maps in a list, for which nothing can ask.
func inMaps(field string) bool { return strings.Contains(strings.TrimSuffix(field, "[]"), "[]") }

// referrers names other collections whose documents refer to what the rule deletes, by fields of which the rule says nothing:
// once that is deleted, these refer to nothing.
func (l *looking) referrers(ctx context.Context) {
	targets := l.targets()
	if len(targets) == 0 {
		return
	}
	names, err := l.Collections(ctx, documents.Ref{})
	l.failed = cmp.Or(l.failed, err)
	l.end -= int64(len(names))
	names = slices.DeleteFunc(names, func(name string) bool {
		nested := func(w rule.Along) bool { return strings.Contains(w.Key, ".") && top(w.Relation) == name }
		return l.Source() == name || slices.Contains(collections.Names(), name) || slices.ContainsFunc(l.Along(), nested)
	})
	each := max(leastOf, min(mostOf, ofOthers/max(1, len(names))))
	n := min(ofOthers, l.left()) / each
	var skipped []string
	found := map[reference]bool{} // false: perhaps
	for i, name := range names {
		if len(names) > n && i*n/len(names) == (i+1)*n/len(names) { // all over the list
			skipped = append(skipped, name)
			continue
		}
		all, _ := l.first(ctx, documents.Query{Collection: name}, each)
		for _, d := range all {
			l.mentioned(name, d, targets, found)
		}
	}
	asked := 0
	for _, r := range slices.SortedFunc(maps.Keys(found), reference.compare) {
		if !found[r] && !inMaps(r.field) && asked < asking {
			asked++
			found[r] = l.holding(ctx, r.collection, r.field, targets[r.target].values)
		}
	}
	l.refer(targets, found)
	if n := len(skipped); n > 0 {
		if n > shown {
			skipped = append(skipped[:shown], fmt.Sprintf("%d others", n-shown))
		}
		l.say("nobody looked whether documents of these collections refer to what is deleted: %s", criteria.List(skipped, "and"))
	}
}

// top returns the collection at the top of the database in which a relation looks.
func top(of rule.Relation) string {
	name, _, _ := strings.Cut(cmp.Or(of.Document, of.Collection, of.CollectionGroup), "/")
	return name
}

// targets returns what the rule deletes, as far as it was looked at.
func (l *looking) targets() (all []target) {
	if l.Accounts != "" {
		t := target{what: "accounts that are due", known: map[string]bool{}}
		for _, uid := range l.due {
			t.add(uid, uid)
		}
		return []target{t}[:min(1, len(l.due))]
	}
	own := target{what: "documents of " + l.Source(), at: l.Place(), known: map[string]bool{}}
	for _, d := range l.sample {
		own.add(d.ID(), d.ID())
	}
	all = []target{own}[:min(1, len(l.sample))]
	for _, w := range l.With {
		t := target{with: w, at: w.Place(l.Place()), folder: pattern.Folder(w.Objects), known: map[string]bool{}}
		t.what = "documents of " + t.at.String()
		if w.Remove || w.Account != "" || w.Subcollection == rule.Everything || w.Objects != "" && (w.Field == "" || t.folder == "") {
			continue
		}
		if t.folder != "" {
			t.what = "files below " + t.folder
		}
		for _, d := range l.along[w.Key] {
			t.add(d.ID(), d.ID())
		}
		for _, d := range l.sample {
			for _, ref := range l.filled(d, w) {
				t.add(ref.ID, ref.ID)
			}
			for _, m := range mentions("", d.Data) {
				if text, isText := m.value.(string); isText && t.folder != "" && m.field == w.Field {
					spellings, _ := objects.Mentioned(text, t.folder)
					t.add(text, spellings...)
				}
			}
		}
		all = append(all, t)
	}
	for i, t := range all {
		if t.at.Repeats() {
			all[i].known, all[i].values = nil, nil
		}
	}
	return all
}

// filled returns the documents to which a relation by a path leads from one of the rule's.
func (l *looking) filled(d documents.Document, of rule.Relation) []documents.Ref {
	item, _ := l.ItemOf(d)
	refs, _ := item.Fill(of.Document)
	return refs
}

// mention is a value, or a key of a map, in a field.
type mention struct {
	field string
	value any
}

// mentions returns what is in a field, with the fields in which that is.
func mentions(field string, value any) (all []mention) {
	switch value := value.(type) {
	case []any:
		for _, one := range value {
			all = append(all, mentions(field+"[]", one)...)
		}
	case map[string]any:
		for name, one := range value {
			if field != "" {
				all = append(all, mention{field + ".{id}", name})
			}
			all = append(all, mentions(strings.TrimPrefix(field+"."+name, "."), one)...)
		}
	default:
		all = append(all, mention{field, value})
	}
	return all
}

// mentioned adds the fields by which a document of a collection refers to targets, or perhaps does.
func (l *looking) mentioned(name string, d documents.Document, targets []target, found map[reference]bool) {
	said, along := l.said(name, d)
	noun := strings.TrimSuffix(strings.ToLower(l.Rule.Name()), "s")
	for _, m := range mentions("", d.Data) {
		for n, t := range targets {
			at := reference{n, name, m.field}
			id, is, maybe := t.means(m.value, strings.Contains(strings.ToLower(m.field), noun))
			of := func(of rule.Relation) bool { return top(of) == name && of.Field == m.field }
			switch {
			case slices.ContainsFunc(slices.Concat(l.Related(), l.With), of): // the rule says it
			case t.with.Key != "" && (along || top(t.with) == name), t.with.Key == "" && said[id]:
			case is || maybe && !strings.HasSuffix(m.field, ".{id}"):
				found[at] = found[at] || is
			}
		}
	}
}

// means returns the id to which a value refers, and whether it means something of the target: it is, or looks like that. A text
// that is short means it in a field of its name.
func (t target) means(value any, isNamed bool) (id string, is, maybe bool) {
	text, isText := value.(string)
	if t.folder != "" {
		spellings, _ := objects.Mentioned(text, t.folder)
		return "", slices.ContainsFunc(spellings, func(name string) bool { return t.known[name] }), len(spellings) > 0
	}
	if ref, isRef := documents.RefIn(value); isRef && t.at != "" && t.at.Same(rule.Place(ref.Collection)) {
		return ref.ID, true, false
	}
	if !isText || len(text) < shortest && !isNamed || !documents.ValidID(text) {
		return "", false, false
	}
	for known := range t.known {
		maybe = maybe || len(known) == len(text)
	}
	return text, t.known[text], maybe
}

// said returns the ids of items to which a document of a collection belongs, as far as the rule knows: it refers to them by a
// field that the rule names, or its path is one that the rule names. along reports whether it is deleted together with one.
func (l *looking) said(name string, d documents.Document) (ids map[string]bool, along bool) {
	ids = map[string]bool{}
	for _, of := range slices.Concat(l.Related(), l.With) {
		if top(of) != name || of.Remove {
			continue
		}
		before := len(ids)
		if of.Document != "" {
			ids[d.ID()] = ids[d.ID()] || l.Accounts != ""
			for _, item := range l.sample {
				if slices.Contains(l.filled(item, of), d.Ref()) {
					ids[item.ID()] = true
				}
			}
		}
		for _, m := range mentions("", d.Data) {
			ref, isRef := documents.RefIn(m.value)
			if id, isID := documents.IDOf(m.value); m.field == of.Field && (isRef || isID) {
				ids[cmp.Or(ref.ID, id)] = true
			}
		}
		along = along || isWith(of) && len(ids) > before
	}
	return ids, along
}

// refer says which collections refer to targets, and what to write.
func (l *looking) refer(targets []target, found map[reference]bool) {
	fields := map[reference][]string{}
	for _, r := range slices.SortedFunc(maps.Keys(found), reference.compare) {
		if of := (reference{r.target, r.collection, ""}); found[r] {
			fields[of] = append(fields[of], r.field)
		}
	}
	for _, of := range slices.SortedFunc(maps.Keys(fields), reference.compare) {
		t, by := targets[of.target], fields[of]
		one := `{"collection": "` + of.collection + `", "field": "` + by[0] + `"}`
		write, key := "to keep these, add "+one+` to "unless"`, ""
		switch {
		case t.folder != "":
			write = "leave this entry out, and let a rule about files delete them, with " + one +
				` and {"collection": "` + l.Collection + `", "field": "` + t.with.Field + `"} in "gone"`
		case l.Accounts != "":
			write = "to delete these, too, write a rule about " + of.collection + ` with {"account": "{` + by[0] + `}"} in "gone"`
		case inMaps(by[0]):
			write = "no relation finds ids in maps of a list"
		}
		if t.with.Key != "" {
			key = t.with.Key + ": "
			write = strings.Replace(write, `"unless"`, `its "unless"`, 1)
		}
		l.say("%sdocuments of %s refer to %s by %s, and would refer to nothing: %s", key, of.collection, t.what,
			criteria.List(by, "and"), write)
	}
}
