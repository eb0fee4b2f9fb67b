package cascade

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// gatherKept asks about what is deleted with items the unless of its relation and that of every rule of the list that is about
// it. What one of them keeps stays, and its item with it, also where what keeps it would be deleted with the item.
func (w With) gatherKept(ctx context.Context, src cleanup.Source, due []*item) error {
	for _, i := range due {
		above, refs := map[documents.Ref]documents.Ref{}, []documents.Ref{}
		asked := map[documents.Ref][]rule.Rule{}
		along := slices.Concat(i.children, i.begun)
		if w.ByAccount != nil {
			along = append(along, child{Document: i.Document, unless: w.ByAccount.Unless})
		}
		for _, c := range along {
			ref := c.Ref()
			if c.loses != nil {
				continue
			}
			above[ref] = c.above
			if asked[ref] = w.rulesAbout(ref, c.unless); len(asked[ref]) > 0 {
				refs = append(refs, ref)
			}
		}
		var all []*Question
		what := map[*Question]string{}
		ask := func(kept string, r rule.Rule, of rule.Item, ref documents.Ref) {
			r.Gone = nil
			for _, u := range r.Related() {
				q, ok := Ask(src, u, of, ref)
				if !ok {
					i.kept = kept + u.Nameless()
					continue
				}
				q.owners = ownersOf(ref, i.Ref(), above)
				all, what[q] = append(all, q), kept
			}
		}
		for _, other := range w.Others {
			if other.Accounts != "" {
				of := rule.Item{ID: i.ID(), Bound: map[string]string{"uid": i.ID()}}
				ask("the account that would be deleted with it stays, because ", other.Rule, of, i.Ref())
			}
		}
		there, err := src.Get(ctx, refs)
		if err != nil {
			return err
		}
		for _, ref := range refs {
			d, exists := there[ref]
			kept := "a document of " + ref.Collection + " that would be deleted along stays, because "
			for _, r := range asked[ref] {
				of, mine := r.ItemOf(d)
				if !exists || !mine {
					continue
				}
				for _, e := range r.Exceptions() {
					if e.Holds(of.Lookup) != criteria.Unmet {
						i.kept = kept + e.Words()
					}
				}
				ask(kept, r, of, ref)
			}
		}
		if err := Answer(ctx, src, all); err != nil {
			return err
		}
		for _, q := range all {
			if q.Found {
				i.kept = what[q] + cmp.Or(q.Odd, q.Of.Exists())
			}
		}
	}
	return nil
}

// ownersOf returns the documents to which one belongs that is deleted with an item: the item, and what led from there to it.
// What is kept while these exist is deleted with them.
func ownersOf(ref, item documents.Ref, above map[documents.Ref]documents.Ref) map[documents.Ref]bool {
	owners := map[documents.Ref]bool{item: true}
	for at := path.Dir(ref.Collection); strings.HasPrefix(at, item.Path()+"/"); at = path.Dir(path.Dir(at)) {
		owners[documents.Document{Path: at}.Ref()] = true
	}
	for at := above[ref]; at.ID != "" && !owners[at]; at = above[at] {
		owners[at] = true
	}
	return owners
}

// keepersLast returns relations to documents of a place with those behind that lead to what may keep others, so that it is still
// there when a later commit deletes these.
func (w With) keepersLast(with []rule.Relation, of rule.Place) []rule.Relation {
	with = slices.Clone(with)
	slices.SortStableFunc(with, func(a, b rule.Relation) int {
		return cmp.Compare(w.keep(a.Place(of)), w.keep(b.Place(of)))
	})
	return with
}

// keep returns 1 if documents of a place may keep others that are deleted with an item, and else 0.
func (w With) keep(in rule.Place) int {
	for _, u := range w.LooksAlong() {
		if u.Place(u.Of).Same(in) {
			return 1
		}
	}
	return 0
}

// keeps says why something that follows an item that is deleted stays by now, which its commit asked as well: a rule of the list
// keeps the account, or another document refers to the file.
func (w With) keeps(ctx context.Context, src cleanup.Source, f cleanup.FollowUp) (why string, err error) {
	if f.Account != "" {
		i := &item{Subject: cleanup.Subject{Document: documents.Document{Path: f.Absent.Path()}}}
		err = w.gatherKept(ctx, src, []*item{i})
		return i.kept, err
	}
	o, there := objects.Object{Name: f.Object.Name}, f.Object.Folder
	if w.Strict || len(w.named()) == 0 {
		return "", nil
	}
	var exact []any
	if !there {
		if o, there, err = src.Object(ctx, f.Object.Name); err != nil || !there {
			return "", err
		}
		cfg := src.Run().Config
		for _, one := range (objects.Texts{Bucket: cfg.Bucket, EmulatorHost: cfg.Emulators.Storage}).References(o) {
			exact = append(exact, one)
		}
	}
	used, err := w.used(ctx, src, o, exact, func(documents.Ref) bool { return false })
	if used {
		why = keptUsed(w.Place())
	}
	return why, err
}

// rulesAbout returns the rules whose unless is asked about a document that is deleted with an item, besides that of its relation.
func (w With) rulesAbout(ref documents.Ref, unless []rule.Relation) (all []rule.Rule) {
	if len(unless) > 0 {
		all = append(all, rule.Rule{CollectionGroup: path.Base(ref.Collection), Unless: unless})
	}
	for _, other := range w.Others {
		if other.OfDocuments() && len(other.Unless) > 0 && other.Place().Same(rule.Place(ref.Collection)) {
			all = append(all, other.Rule)
		}
	}
	return all
}
