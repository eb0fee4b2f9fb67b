package doubts

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
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
	deepest  = 3 // levels of collections below those at the top
)

// shortest is how many bytes an id has at least that tells, as a text, that its document is meant, whatever the field is called.
// A shorter one, and a number, may mean anything.
const shortest = 6

// target is what the rule deletes: its documents, accounts or files, or what is deleted along by an entry of with.
type target struct {
	what   string
	name   string        // of its collection
	with   rule.Relation // the entry
	at     rule.Place    // of documents
	folder string        // of files
	owned  bool          // the folder has folders by the items' ids
	// Some of it, with the items that it belongs to where it is a folder: ids, unless they repeat elsewhere, or spellings of files
	// and folders. What is in values may be asked for.
	known  map[string]string
	values []any
}

func (t *target) add(text string, spellings ...string) {
	for _, one := range spellings {
		t.known[one] = one
	}
	if documents.Queryable(text) {
		t.values = append(t.values, text)
	}
}

// reference is a field of documents of a place, as a relation writes it, that may refer to one of the targets.
type reference struct {
	target int
	in     rule.Place
	field  string
}

func (a reference) compare(b reference) int {
	return cmp.Or(cmp.Compare(a.target, b.target), cmp.Compare(a.in, b.in), cmp.Compare(a.field, b.field))
}

// What can be written about a field that refers to a target.
const (
	ofOne   = "" // one value refers to one target
	ofMany  = "each element of a list, or key of a map, does"
	inMaps  = "in maps of a list, for which nothing can ask"
	anyKeys = "in a map whose keys are data, for which nothing can ask"
)

// askedBy returns which of these a field is. Of files, each is looked at in the documents.
func askedBy(field string, ofFiles bool) string {
	plain := strings.TrimSuffix(strings.TrimSuffix(field, "[]"), ".{id}")
	switch {
	case strings.Contains(field, ".*"):
		return anyKeys
	case ofFiles:
		return ofOne
	case strings.Contains(plain, "[]"):
		return inMaps
	case plain != field:
		return ofMany
	}
	return ofOne
}

// Keys of a map are data if few documents have each of them, and so many look like ids or are more than a person would name.
const (
	leastIDs   = 3
	leastKeys  = 8
	lengthOfID = 16 // of one that could be a name
)

// general returns a field with * in place of the keys of a map of the place's documents that are data.
func (s seen) general(field string) string {
	parts := strings.Split(field, ".")
	for i := 1; i < len(parts); i++ {
		all, ids, of := 0, 0, map[string]int{}
		for _, d := range s.sample {
			inside, isMap := d.Value(strings.Join(parts[:i], ".")).(map[string]any)
			for key := range inside {
				of[key]++
			}
			if isMap {
				all++
			}
		}
		maps.DeleteFunc(of, func(_ string, n int) bool { return 2*n > all })
		for key := range of {
			if len(key) >= lengthOfID || !criteria.Name.MatchString(key) {
				ids++
			}
		}
		if name := strings.TrimRight(parts[i], "[]"); (ids >= leastIDs || len(of) >= leastKeys) && of[name] > 0 {
			parts[i] = "*" + strings.TrimPrefix(parts[i], name)
		}
	}
	return strings.Join(parts, ".")
}

// referrers names other collections whose documents refer to what the rule deletes, by fields of which the rule says nothing:
// once that is deleted, these refer to nothing. It names what would stay, too: documents with the same ids, and files.
func (l *looking) referrers(ctx context.Context) {
	targets := l.targets()
	if len(targets) == 0 {
		return
	}
	places, of := l.elsewhere(ctx), map[rule.Place]seen{}
	each := max(leastOf, min(mostOf, ofOthers/max(1, len(places))))
	n := min(ofOthers, l.left()) / each
	var skipped []string
	found, shared := map[reference]bool{}, map[string]bool{} // false: perhaps; folders
	for i, at := range places {
		few, asks := each, func(g rule.Relation) bool { return g.Place("").Same(at) }
		switch {
		case l.Objects != "" && slices.ContainsFunc(l.Gone, asks): // another field of these is the likeliest
			few = sampled / len(l.Gone)
		case len(places) > n && i*n/len(places) == (i+1)*n/len(places): // all over the list
			skipped = append(skipped, at.String())
			continue
		}
		all, ok := l.first(ctx, at.Query(), few)
		of[at] = seen{at, all, ok && len(all) < few}
		for _, d := range all {
			l.mentioned(of[at], d, targets, found, shared)
		}
	}
	asked := 0
	for _, r := range slices.SortedFunc(maps.Keys(found), reference.compare) {
		values := targets[r.target].values
		kind := askedBy(r.field, false)
		if !found[r] && kind != inMaps && kind != anyKeys && !r.in.IsGroup() && len(values) > 0 && asked < asking {
			asked++
			found[r] = l.holding(ctx, r.in.String(), r.field, values)
		}
	}
	l.refer(targets, found)
	if own := targets[0]; own.with.Key == "" && own.folder == "" {
		for _, at := range places {
			l.twins(ctx, of[at], own)
		}
		l.named(ctx, own)
	}
	l.files(shared)
	l.copies(ctx)
	if n := len(skipped); n > 0 {
		if n > shown {
			skipped = append(skipped[:shown], fmt.Sprintf("%d others", n-shown))
		}
		l.say("nobody looked whether documents of these collections refer to what is deleted: %s", criteria.List(skipped, "and"))
	}
}

// elsewhere returns the places where documents may refer to what the rule deletes: the collections at the top of the database,
// those below a document of each, unless it is the rule's, and for files those in which the rule looks.
func (l *looking) elsewhere(ctx context.Context) (all []rule.Place) {
	level := l.names(ctx, documents.Ref{})
	for _, name := range level {
		all = append(all, rule.Place(name))
	}
	for asked, deep := 0, 0; deep < deepest && l.Accounts == ""; deep++ {
		var below []string
		for _, collection := range level {
			if asked++; asked > asking || l.Place().Same(rule.Place(collection)) || slices.Contains(collections.Names(), collection) {
				continue
			}
			some, _ := l.first(ctx, documents.Query{Collection: collection, Select: documents.NameOnly}, 1)
			for _, d := range some {
				for _, name := range l.names(ctx, d.Ref()) {
					all, below = append(all, rule.Anywhere(name)), append(below, d.Path+"/"+name)
				}
			}
		}
		level = below
	}
	if l.Objects != "" {
		for _, g := range l.Gone {
			at := g.Place("")
			if at.IsGroup() {
				at = rule.Anywhere(at.Query().Collection)
			}
			all = append(all, at)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(at rule.Place) bool {
		nested := func(w rule.Placed) bool {
			return strings.Contains(w.Key, ".") && top(w.Relation) == string(at) || at == rule.Anywhere(w.Subcollection)
		}
		return at == l.Place() || at.IsGroup() && l.Place().Same(at) || slices.Contains(collections.Names(), at.String()) ||
			slices.ContainsFunc(l.Along(), nested)
	})
}

// names returns the names of the collections below a document, or of those at the top.
func (l *looking) names(ctx context.Context, below documents.Ref) []string {
	names, err := l.Collections(ctx, below)
	l.failed = cmp.Or(l.failed, err)
	l.end -= int64(len(names))
	return names
}

// top returns the collection at the top of the database in which a relation looks.
func top(of rule.Relation) string {
	name, _, _ := strings.Cut(cmp.Or(of.Document, of.Collection, of.CollectionGroup), "/")
	return name
}

// targets returns what the rule deletes, as far as it was looked at.
func (l *looking) targets() (all []target) {
	own := target{what: "documents of " + l.Source(), name: l.Rule.Name(), at: l.Place(), known: map[string]string{}}
	switch {
	case len(l.Gone) > 0 && l.Objects != "": // of those by age alone the rule says that nobody needs them
		own.folder = pattern.Folder(l.Objects)
		own.what = "files below " + own.folder
	case l.Accounts != "":
		own.what = "accounts that are due"
	}
	for _, due := range l.due {
		_, file, _ := strings.Cut(strings.TrimPrefix(due, "gs://"), "/")
		ref, _ := documents.RefOf(due)
		switch {
		case l.Accounts != "":
			own.add(due, due)
		case own.folder != "":
			own.add(file, objects.Spelling(file))
		case l.Place().Same(rule.Place(ref.Collection)) && len(own.known) < sampled:
			own.add(ref.ID, ref.ID)
		}
	}
	for _, d := range l.sample {
		own.add(d.ID(), d.ID())
	}
	if len(own.known) > 0 || own.folder != "" {
		all = append(all, own)
	}
	for _, w := range l.With {
		t := target{with: w, at: w.Place(l.Place()), folder: pattern.Folder(w.Objects), known: map[string]string{}}
		t.what, t.name = "documents of "+t.at.String(), path.Base(string(t.at))
		if w.Remove || w.Account != "" || w.Objects != "" && t.folder == "" {
			continue
		}
		if t.folder != "" {
			t.what, t.owned = "files below "+t.folder, w.Field == ""
		}
		for _, d := range l.along[w.Key] {
			t.add(d.ID(), d.ID())
		}
		for _, d := range l.sample {
			for _, ref := range l.filled(d, w) {
				t.add(ref.ID, ref.ID)
			}
			if t.owned {
				t.known[strings.TrimSuffix(objects.Spelling(folderOf(w, d.ID())), "/")] = d.ID()
				continue
			}
			for field, value := range documents.Leaves(d.Data) {
				if text, isText := value.(string); isText && t.folder != "" && field == w.Field {
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

// folderOf returns the folder of the files of a document, by its id.
func folderOf(w rule.Relation, id string) string {
	return pattern.Folder(strings.ReplaceAll(w.Objects, "{id}", id))
}

// filled returns the documents to which a relation by a path leads from one of the rule's.
func (l *looking) filled(d documents.Document, of rule.Relation) []documents.Ref {
	item, _ := l.ItemOf(d)
	refs, _ := item.Fill(of.Document)
	return refs
}

// mentioned adds the fields by which a document of a place refers to targets, or perhaps does, and the folders of files to which
// it refers.
func (l *looking) mentioned(in seen, d documents.Document, targets []target, found map[reference]bool, shared map[string]bool) {
	name := path.Base(string(in.at))
	said, along := l.said(name, d)
	for inside, value := range documents.Leaves(d.Data) {
		if inside == ".{id}" { // a field's name
			continue
		}
		shared[fileFolder(value)] = true
		field := in.general(inside)
		for n, t := range targets {
			at := reference{n, in.at, field}
			id, is, maybe := t.means(value, t.isNamed(field))
			of := func(of rule.Relation) bool {
				return (top(of) == name || path.Base(string(of.Place(""))) == name) && of.Field == field
			}
			// Of several that have a document of this id, that is meant after which the field is called, or else the first.
			another := func(u target) bool {
				return value == u.known[id] && value != "" && u.folder == "" && !t.isNamed(field) &&
					(u.isNamed(field) || u.what == targets[0].what && n > 0)
			}
			text, _ := value.(string)
			// Whatever refers to files of the folder will refer to one that is due.
			likely := maybe && !in.whole && (t.owned || l.ByReference()) && !strings.ContainsAny(text, " \n")
			switch {
			case slices.ContainsFunc(slices.Concat(l.Related(), l.With), of): // the rule says it
			case t.with.Key != "" && (along || top(t.with) == name), (t.with.Key == "" || t.owned) && said[id]:
			case slices.ContainsFunc(targets, another):
			case is || maybe && !strings.HasSuffix(inside, ".{id}"):
				found[at] = found[at] || is || likely
			}
		}
	}
}

// isNamed reports whether a field is called after the target.
func (t target) isNamed(field string) bool {
	return strings.Contains(strings.ToLower(field), strings.TrimSuffix(strings.ToLower(t.name), "s"))
}

// means returns the id to which a value refers, and whether it means something of the target: it is, or looks like that. What is
// too short to tell means it in a field of its name.
func (t target) means(value any, isNamed bool) (id string, is, maybe bool) {
	text, isText := value.(string)
	if t.folder != "" {
		spellings, _ := objects.Mentioned(text, t.folder)
		for _, name := range spellings {
			for ; len(name) > len(t.folder); name = path.Dir(name) { // a file, or a folder above it
				if id, is = t.known[name]; is {
					return id, true, true
				}
			}
		}
		return "", false, len(spellings) > 0
	}
	if ref, isRef := documents.RefIn(value); isRef && t.at != "" && t.at.Same(rule.Place(ref.Collection)) {
		return ref.ID, true, false
	}
	id, isID := documents.IDOf(value)
	if !isID || !isNamed && (!isText || len(id) < shortest) {
		return "", false, false
	}
	for known := range t.known {
		maybe = maybe || isText && len(known) == len(id)
	}
	_, is = t.known[id]
	return id, is, maybe
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
		for field, value := range documents.Leaves(d.Data) {
			ref, isRef := documents.RefIn(value)
			if id, isID := documents.IDOf(value); field == of.Field && (isRef || isID) {
				ids[cmp.Or(ref.ID, id)] = true
			}
		}
		along = along || of.Role() == rule.WithRole && len(ids) > before
	}
	return ids, along
}

// refer says which collections refer to targets, and what to write.
func (l *looking) refer(targets []target, found map[reference]bool) {
	fields := map[reference][]string{}
	for _, r := range slices.SortedFunc(maps.Keys(found), reference.compare) {
		if of := (reference{r.target, r.in, askedBy(r.field, targets[r.target].folder != "")}); found[r] {
			fields[of] = append(fields[of], r.field)
		}
	}
	for _, of := range slices.SortedFunc(maps.Keys(fields), reference.compare) {
		t, by := targets[of.target], fields[of]
		so, key := "would refer to nothing without them", ""
		if entry, _, _ := strings.Cut(t.with.Key, ","); entry != "" {
			key = entry + ": "
		} else if t.folder != "" {
			so = "that does not keep them"
		}
		l.say("%sdocuments of %s refer to %s by %s, and %s: %s", key, of.in, t.what, criteria.List(by, "and"), so,
			l.instead(t, of.in, by, of.field))
	}
}

// byField is the relation by which documents of a place refer to something.
func byField(in rule.Place, field string) string {
	key := "collection"
	if in.IsGroup() {
		key = "collectionGroup"
	}
	return fmt.Sprintf(`{%q: %q, "field": %q}`, key, in.Query().Collection, field)
}

// instead says what to write where documents of a place refer to a target by some fields, all asked for in one way.
func (l *looking) instead(t target, in rule.Place, by []string, asked string) string {
	name, each, its := in.String(), []string{}, ""
	for _, field := range by {
		each = append(each, byField(in, field))
	}
	if t.with.Key != "" {
		its = "its "
	}
	all := criteria.List(each, "and")
	leave := "leave this entry out, and let a rule about files delete them, with " + all + " and "
	such := path.Base(strings.TrimPrefix(t.what, "documents of "))
	keep := fmt.Sprintf(`to keep such %s, add %s to %s"unless"; `, such, all, its)
	switch {
	case asked == anyKeys:
		return "no rule reads the values of a map with keys of its own: have a list hold them"
	case asked == inMaps && l.Accounts == "":
		return "no relation finds ids in maps of a list: have another list hold their ids"
	case its == "" && l.ByReference():
		return "to keep these files, add " + all + ` to "gone"`
	case its == "" && t.folder != "": // by documents
		return `to keep these files, write such fields into "gone" instead: ` + all
	case t.owned:
		return leave + `each other field that refers to them in "gone"`
	case t.folder != "":
		return leave + byField(l.at, t.with.Field) + ` in "gone"`
	case l.Accounts != "":
		return "to delete these, too, write a rule about " + name + ` with {"account": "{` + by[0] + `}"} in "gone"`
	case strings.Contains(t.with.Key, ","):
		return fmt.Sprintf(`to keep such %s, write {"subcollection": %[1]q, "unless": [%s]} and what else is below in place of "**"`,
			such, all)
	case in.IsGroup():
		return keep + "to delete the " + name + " with them, write a rule about these"
	case asked == ofMany:
		return keep + `to take them out of the ` + name + `, add it to ` + its + `"with", beside "remove": true`
	}
	return keep + "to delete the " + name + " with them, add it to " + its + `"with"`
}
