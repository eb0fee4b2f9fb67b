// Package cascade deletes documents together with what belongs to them: for declared rules (shared/declared) and for posts of
// the Firebase application (functions/posts).
//
// cascade.go says what a commit does, objects.go which objects a field names, and how a field in a map is changed.
package cascade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// With says what is deleted with documents of a rule's collection.
type With struct {
	rule.Rule // its Collection or CollectionGroup, and With
	// Strict says that the application writes ids as strings or references, and objects as URLs. Then numbers, paths and objects'
	// names do not count.
	Strict bool
	// Home, if set, is the folder of a document's author, or "". Of the objects that the document names, those elsewhere are kept
	// if their metadata does not name it.
	Home func(documents.Document) string
	// ByAccount, if set, is the relation by which the rule's documents are themselves deleted with accounts.
	ByAccount *rule.Relation

	mentions *mentions
}

// reach returns what a rule can do of whose items these are what is deleted with it.
func (w With) reach(items string) cleanup.Reach {
	r := cleanup.Reach{Items: items, Deletes: []string{items}}
	for _, a := range w.Along() {
		folder := strings.TrimSuffix(a.Objects, rule.Everything)
		along := a.Place(a.Of).Pattern()
		switch {
		case a.Account != "":
			r.Account = true
		case a.Objects != "" && a.Field == "":
			r.Objects = append(r.Objects, cleanup.Files{Folder: folder, Whole: true})
		case a.Objects != "":
			r.Objects = append(r.Objects, cleanup.Files{Folder: folder, Owner: a.Metadata, Homes: w.Home != nil})
		case a.Remove:
			r.Writes = append(r.Writes, along)
		default:
			r.Deletes = append(r.Deletes, along)
		}
	}
	return r
}

// Rule returns a rule that deletes a document, and what is deleted with it, if judging says so. What judging's Change writes, if
// anything, is done instead. Its items are those of its Reach, or of the collection. One commit deletes the document with the
// documents that are deleted with it, so that nobody sees a half. Objects and the account follow. If one commit cannot take them
// all, earlier commits delete some of these documents first, and each judges the document again.
func Rule[S any](judging cleanup.Rule[S], with With) cleanup.AnyRule {
	with.mentions = &mentions{}
	r := cleanup.Rule[state[S]]{
		Name: judging.Name, Reach: with.reach(cmp.Or(judging.Reach.Items, with.Collection)),
		Load: func(ctx context.Context, src cleanup.Source, subjects []cleanup.Subject) ([]state[S], error) {
			judged, err := judging.Load(ctx, src, subjects)
			states := make([]state[S], len(judged))
			for i := range judged {
				states[i] = state[S]{judged[i], item{Subject: subjects[i], whole: true}}
			}
			return states, err
		},
		Judge: func(s state[S], run cleanup.Run) cleanup.Decision {
			d := judging.Judge(s.judged, run)
			if d.Kind != "" && with.tooLong(s.Ref()) {
				return cleanup.Invalid(KeptLong)
			}
			return d
		},
		Gather: func(ctx context.Context, src cleanup.Source, due []*state[S]) error {
			var items []*item
			for _, s := range due {
				if judging.Change == nil || len(judging.Change(s.judged, judging.Judge(s.judged, src.Run()), src.Run()).Writes) == 0 {
					items = append(items, &s.item)
				}
			}
			return with.gather(ctx, src, items)
		},
		Change: func(s state[S], d cleanup.Decision, run cleanup.Run) cleanup.Change {
			if judging.Change != nil {
				if change := judging.Change(s.judged, d, run); len(change.Writes) > 0 {
					return change
				}
			}
			return with.change(s.item, run)
		},
		Keeps: with.keeps,
	}
	r.Reach.Writes = append(r.Reach.Writes, judging.Reach.Writes...)
	if slices.ContainsFunc(with.With, Deep) {
		r.Group = 1 // what is deleted with one item may fill a commit
	}
	return r
}

// Deep reports whether what is deleted with it must be looked for one item after the other.
func Deep(a rule.Relation) bool {
	return len(a.With) > 0 || a.Subcollection == rule.Everything || a.Remove
}

// state is what the judging rule loaded for a document, and the document with what is deleted with it.
type state[S any] struct {
	judged S
	item
}

// item is a document with documents that are deleted with it: all of them, or only the first.
type item struct {
	cleanup.Subject
	children []child
	begun    []child                    // a later commit deletes these, of which children have some of what belongs to them
	whole    bool                       // children are all
	left     []left                     // what stays though it belongs to it
	files    map[string]map[string]file // what its texts refer to, by the relation's key
	used     bool                       // others refer to a file of its folder
	kept     string                     // why it stays: a rule keeps what belongs to it
}

// left is what stays though a relation leads to it, and why.
type left struct{ what, why string }

// child is a document that is deleted with another.
type child struct {
	documents.Document
	// loses, if set, returns the field that is written instead of deleting it, with its value, given the document's fields.
	loses func(data map[string]any) (field string, whole any)

	missing bool            // there is no such document, but others may be below it
	unless  []rule.Relation // of the relation
	above   documents.Ref   // what led to it
	claim   *thing          // a field led to it: others may refer to it, too
	referrers
}

// gather reads the documents that are deleted with it.
func (w With) gather(ctx context.Context, src cleanup.Source, due []*item) error {
	for _, a := range w.keepersLast(w.With, w.Place()) {
		for _, i := range due {
			switch {
			case w.Strict || !nameless(a, i.Ref()):
			case a.Objects != "" && a.Field == "":
				i.left = append(i.left, left{"the files of its folder", keptMistaken})
			case a.Collection != "":
				i.left = append(i.left, left{"documents of " + a.Collection, keptMistaken})
			}
		}
		var err error
		of := due
		if w.keep(a.Place(w.Place())) > 0 {
			of = slices.DeleteFunc(slices.Clone(due), func(i *item) bool { return !i.whole })
		}
		switch {
		case a.Objects != "" || a.Account != "":
		case Deep(a) || a.Document != "":
			err = w.gatherDeep(ctx, src, a, of)
		default:
			err = w.gatherChildren(ctx, src, a, of)
		}
		if err != nil {
			return err
		}
	}
	if err := w.gatherKept(ctx, src, due); err != nil {
		return err
	}
	if err := w.leaveShared(ctx, src, due); err != nil {
		return err
	}
	return w.gatherFiles(ctx, src, due)
}

// nameless reports whether no field can name a document, because its id is one that names nothing.
func nameless(a rule.Relation, d documents.Ref) bool {
	return a.Subcollection == "" && !documents.ValidID(d.ID)
}

// keptMistaken is the reason to keep what belongs to a document of such an id.
const keptMistaken = "programs write such an id by mistake, so it may belong to another"

// KeptLong is the reason to keep a document of which no query can ask what names it.
const KeptLong = "its id is too long for a query, so what belongs to it cannot be found"

// tooLong reports whether no query can ask for the documents that name an item, because its id is too long for one.
func (w With) tooLong(item documents.Ref) bool {
	named := func(a rule.Relation) bool { return a.Field != "" && a.Objects == "" }
	return !documents.Queryable(item.ID) && slices.ContainsFunc(w.With, named)
}

// gatherChildren reads the documents below items, or those that name them, of many items at once.
func (w With) gatherChildren(ctx context.Context, src cleanup.Source, a rule.Relation, due []*item) error {
	due = slices.DeleteFunc(slices.Clone(due), func(i *item) bool { return nameless(a, i.Ref()) })
	parents := make([]string, len(due))
	for n, i := range due {
		parents[n] = i.Path
	}
	found, err := src.Children(ctx, w.belonging(a, src), parents)
	if err != nil {
		return err
	}
	for _, i := range due {
		of := found[i.Path]
		for _, d := range of.Documents {
			i.children = append(i.children, child{Document: d, unless: a.Unless})
		}
		i.whole = i.whole && of.Whole
	}
	return nil
}

// at returns the documents that a path names: those that there are and, if something may be below them, the others without
// fields and times. Where it names none though a field is set, that is told.
func (t *tree) at(ctx context.Context, a rule.Relation, of rule.Item) (all []documents.Document, err error) {
	refs, ok := of.Fill(a.Document)
	for _, hole := range criteria.Holes(a.Document) {
		if _, own := of.Own(hole); own || ok {
			continue
		}
		if value, _ := of.Field(fieldOf(hole)); value != nil && value != "" {
			t.left = append(t.left, left{"what it refers to by " + fieldOf(hole), a.Nameless()})
		}
	}
	found, err := t.src.Get(ctx, refs)
	for _, ref := range refs {
		if d, there := found[ref]; there || len(a.With) > 0 {
			d.Path = ref.Path()
			all = append(all, d)
		}
	}
	return all, err
}

// gatherDeep reads what is deleted with one item after the other, as far as the commit has room. A document comes with all that
// is deleted with it, or only some of that comes, and a later commit goes on.
func (w With) gatherDeep(ctx context.Context, src cleanup.Source, a rule.Relation, due []*item) error {
	for _, i := range due {
		t := tree{With: w, src: src, room: i.Room - len(i.children)}
		filled, _ := w.ItemOf(i.Document)
		whole, err := t.add(ctx, a, filled, i.Ref(), w.Place())
		if err != nil {
			return err
		}
		i.children, i.left, i.whole = append(i.children, t.children...), append(i.left, t.left...), i.whole && whole
		i.begun = append(i.begun, t.begun...)
	}
	return nil
}

// tree collects what is deleted with one document.
type tree struct {
	With
	src      cleanup.Source
	room     int
	children []child
	begun    []child
	left     []left
}

// add adds what is deleted with a document of a place, and reports whether that is all.
func (t *tree) add(
	ctx context.Context, a rule.Relation, of rule.Item, ref documents.Ref, at rule.Place,
) (whole bool, err error) {
	if a.Subcollection == rule.Everything {
		most := max(0, t.room) + 1
		// However deep, be there documents between or not. The emulator answers no such query in a transaction.
		all := documents.Query{Collection: ref.Path() + "/" + documents.Everywhere, Select: documents.NameOnly}
		below, err := t.src.Outside().First(ctx, all, "", most)
		if err != nil {
			return false, err
		}
		in := make([]string, len(below))
		for i, d := range below {
			in[i] = d.Ref().Collection
		}
		slices.SortFunc(in, func(a, b string) int { // the deepest first
			keeps := cmp.Compare(t.keep(rule.Place(a)), t.keep(rule.Place(b)))
			return cmp.Or(keeps, strings.Count(b, "/")-strings.Count(a, "/"), strings.Compare(a, b))
		})
		for _, collection := range slices.Compact(in) {
			all, parent := rule.Relation{Subcollection: path.Base(collection)}, documents.Document{Path: path.Dir(collection)}
			if whole, err := t.addOf(ctx, all, of, parent.Ref(), at); err != nil || !whole {
				return false, err
			}
		}
		return len(below) < most, nil
	}
	return t.addOf(ctx, a, of, ref, at)
}

// addOf is [tree.add] of one collection, whatever its name.
func (t *tree) addOf(
	ctx context.Context, a rule.Relation, of rule.Item, ref documents.Ref, at rule.Place,
) (whole bool, err error) {
	repeats := at.Repeats() // below others, so only a reference names it
	found, whole, err := t.find(ctx, a, of, ref, repeats)
	if err != nil {
		return false, err
	}
	for _, d := range found {
		c := child{Document: d, unless: a.Unless, above: ref, missing: d.UpdateTime.IsZero()}
		c.claim = t.claimed(t.src, at, a.Document, of, d.Ref())
		if a.Remove {
			c.loses = func(data map[string]any) (string, any) { return removed(a, d.Database, data, ref, repeats) }
		}
		for _, b := range t.keepersLast(a.With, a.Place(at)) {
			if all, err := t.add(ctx, b, inner(d, of), d.Ref(), a.Place(at)); err != nil || !all {
				t.begun = append(t.begun, c)
				return false, err
			}
		}
		if t.room--; t.room < 0 {
			t.begun = append(t.begun, c)
			return false, nil
		}
		t.children = append(t.children, c)
	}
	return whole, nil
}

// inner returns a document that belongs to an item as an item.
func inner(d documents.Document, of rule.Item) rule.Item {
	return rule.Item{ID: d.ID(), Parent: path.Dir(d.Ref().Collection), Bound: of.Bound, Field: d.Lookup, Database: d.Database}
}

// find returns the first documents that are deleted with one, and whether these are all.
func (t *tree) find(ctx context.Context, a rule.Relation, of rule.Item, ref documents.Ref, repeats bool) (
	found []documents.Document, whole bool, err error,
) {
	if a.Document != "" {
		found, err = t.at(ctx, a, of)
		return found, true, err
	}
	q, ok := a.Query(ref, repeats, t.src.Reference)
	if !ok || nameless(a, ref) { // no query can ask for what names it, so that stays
		return nil, true, nil
	}
	limit := max(0, t.room) + 1
	if a.Remove || slices.ContainsFunc(a.With, func(b rule.Relation) bool { return b.Document != "" }) {
		q.Select = nil // else names are enough
	}
	found, err = t.src.First(ctx, q, "", limit)
	if errors.Is(err, documents.ErrTooMuch) {
		return found, false, nil
	}
	if err != nil || len(found) == limit || a.Subcollection == "" || len(a.With) == 0 {
		return found, len(found) < limit, err
	}
	all, err := t.src.Outside().Listed(ctx, q.Collection, math.MaxInt)
	for _, listed := range all { // where there is no document, others may be below
		if !slices.ContainsFunc(found, func(d documents.Document) bool { return d.Ref() == listed }) {
			found = append(found, documents.Document{Path: listed.Path(), Database: of.Database})
		}
	}
	return found, true, err
}

// removed returns a field of a document's data, and its value without what names another document in it. With repeats, only a
// reference does.
func removed(a rule.Relation, database string, data map[string]any, gone documents.Ref, repeats bool) (field string, whole any) {
	list, isList := strings.CutSuffix(a.Field, "[]")
	if !isList {
		return Changed(data, strings.TrimSuffix(a.Field, "{id}")+gone.ID, documents.DeleteField)
	}
	all := valuesAt(data, strings.Split(list, "."))
	elements, _ := all[len(all)-1].([]any)
	return Changed(data, list, slices.DeleteFunc(slices.Clone(elements), func(element any) bool {
		if _, isText := element.(string); isText && slices.Contains(gone.Texts(), element) {
			return true
		}
		_, isReference := documents.ReferenceOf(element)
		id, named := documents.Document{Database: database}.IDIn(gone.Collection, element)
		return named && (isReference || !repeats) && id == gone.ID
	}))
}

// belonging returns the lookup for documents that are deleted with others, by their paths: those below, or those that name them.
func (w With) belonging(a rule.Relation, src cleanup.Source) cleanup.Children {
	return cleanup.Children{
		Collection: a.Subcollection + a.Collection, Field: a.Field, Subcollection: a.Subcollection != "",
		Names: func(path string) []any {
			ref := documents.Document{Path: path}.Ref()
			switch reference := src.Reference(ref); {
			case !w.Strict:
				return rule.NamesOf(ref, w.Place().Repeats(), src.Reference) // where ids repeat, only references count
			case documents.Queryable(reference):
				return []any{ref.ID, reference}
			}
			return []any{ref.ID}
		},
		NameOf: func(value any) (string, bool) {
			if ref, ok := documents.RefIn(value); ok {
				return ref.Path(), true
			}
			id, ok := documents.IDOf(value)
			return w.Collection + "/" + id, ok
		},
	}
}

// change says what is written for an item, and what follows.
func (w With) change(i item, run cleanup.Run) (change cleanup.Change) {
	if i.kept != "" {
		return cleanup.Change{Invalid: i.kept}
	}
	if !i.whole && !i.Alone {
		return cleanup.Change{Again: true}
	}
	change.Writes = losses(i.children)
	for _, child := range i.children {
		if child.loses != nil || child.missing {
			continue
		}
		change.Writes = append(change.Writes, documents.Write{Op: documents.Delete, Ref: child.Ref()})
	}
	if !i.whole {
		change.Again = true
		return change
	}
	if i.Found {
		change.Writes = append(change.Writes, documents.Write{Op: documents.Delete, Ref: i.Ref()})
	}
	for _, l := range i.left {
		change.Notices = append(change.Notices, cleanup.Notice{
			Message: fmt.Sprintf("%s: deleted, but not %s: %s", i.Path, l.what, l.why),
			Fields:  map[string]any{"document": i.Path, "reason": l.why}, Kept: map[string]int{l.why: 1},
		})
	}
	for _, a := range w.With {
		w.follow(&change, a, i, run)
	}
	return change
}

// losses returns what is written to the documents that lose something: one write for each, as several relations may name it.
// One that goes as well loses nothing.
func losses(children []child) (writes []documents.Write) {
	gone := map[documents.Ref]bool{}
	for _, c := range children {
		gone[c.Ref()] = gone[c.Ref()] || c.loses == nil
	}
	left, written := map[documents.Ref]map[string]any{}, map[documents.Ref]map[string]any{}
	for _, c := range children {
		ref := c.Ref()
		if gone[ref] {
			continue
		}
		if left[ref] == nil {
			left[ref], written[ref] = maps.Clone(c.Data), map[string]any{}
			writes = append(writes, documents.Write{Op: documents.Update, Ref: ref, Data: written[ref]})
		}
		field, whole := c.loses(left[ref])
		left[ref][field], written[ref][field] = whole, whole
	}
	return writes
}

// follow adds what is deleted after the commit: objects and the account.
func (w With) follow(change *cleanup.Change, a rule.Relation, i item, run cleanup.Run) {
	folder := folderOf(a, i)
	switch {
	case a.Account != "":
		change.Then = append(change.Then, cleanup.FollowUp{Account: i.ID(), Absent: i.Ref()})
	case a.Objects != "" && a.Field == "" && (nameless(a, i.Ref()) || i.used): // others' files may be in the folder
	case a.Objects != "" && a.Field == "":
		change.Then = append(change.Then, cleanup.FollowUp{Object: cleanup.ObjectDeletion{Name: folder, Folder: true}, Absent: i.Ref()})
	case a.Objects != "":
		Objects{
			Field: a.Field, OwnerKey: a.Metadata, Home: w.Home, read: i.files[a.Key],
			Under:   objects.Folders{folder},
			Outside: a.Field + " names an object outside " + strings.TrimSuffix(a.Objects, rule.Everything),
		}.Follow(change, run.Config, i.Ref(), i.Document)
	}
}
