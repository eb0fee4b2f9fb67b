package cascade

import (
	"context"
	"path"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// gatherKept asks about the documents that are deleted with it the unless of their relation and that of every rule of the list that is about
// them. What one of them keeps stays, and its parent with it.
func (w With) gatherKept(ctx context.Context, src cleanup.Source, due []*item) error {
	for _, i := range due {
		goes := map[documents.Ref]bool{i.Ref(): true} // what is deleted itself keeps nothing
		for _, c := range i.children {
			goes[c.Ref()] = c.loses == nil
		}
		for _, other := range w.Others {
			if other.Accounts == "" {
				continue
			}
			of := rule.Item{ID: i.ID(), Bound: map[string]string{"uid": i.ID()}}
			switch why, err := keptBy(ctx, src, other.Rule, of, i.Ref(), goes); {
			case err != nil:
				return err
			case why != "":
				i.kept = "the account that would be deleted with it stays, because " + why
			}
		}
		for _, c := range i.children {
			in := c.Ref().Collection
			asked := []rule.Rule{{CollectionGroup: path.Base(in), Unless: c.unless}}
			for _, other := range w.Others {
				if other.OfDocuments() && rule.Same(other.At(), in) {
					asked = append(asked, other.Rule)
				}
			}
			for _, r := range asked {
				if c.loses != nil || len(r.Unless) == 0 {
					continue
				}
				why, err := keeps(ctx, src, r, c.Ref(), goes)
				if err != nil {
					return err
				}
				if why != "" {
					i.kept = "a document of " + in + " that would be deleted along stays, because " + why
				}
			}
		}
	}
	return nil
}

// keeps returns why the unless of a rule keeps a document, "" if it does not.
func keeps(ctx context.Context, src cleanup.Source, r rule.Rule, ref documents.Ref, goes map[documents.Ref]bool) (string, error) {
	found, err := src.Get(ctx, []documents.Ref{ref})
	d, there := found[ref]
	i, mine := r.ItemOf(d)
	if err != nil || !there || !mine {
		return "", err
	}
	for _, e := range r.Exceptions() {
		if e.Holds(i.Lookup) != criteria.Unmet {
			return e.Words(), nil
		}
	}
	return keptBy(ctx, src, r, i, ref, goes)
}

// keptBy returns what keeps an item by the relations of a rule's unless, "" if nothing does.
func keptBy(ctx context.Context, src cleanup.Source, r rule.Rule, i rule.Item, ref documents.Ref, goes map[documents.Ref]bool) (
	string, error,
) {
	r.Gone = nil
	for _, u := range r.Related() {
		named, exists, err := related(ctx, src, u, i, ref, goes)
		switch {
		case err != nil:
			return "", err
		case !named:
			return u.Nameless(), nil
		case exists:
			return u.Exists(), nil
		}
	}
	return "", nil
}

// related reports whether something is related to a document that stays; named is false if nobody could tell.
func related(
	ctx context.Context, src cleanup.Source, u rule.Relation, i rule.Item, ref documents.Ref, goes map[documents.Ref]bool,
) (named, exists bool, err error) {
	switch {
	case u.Document != "":
		refs, ok := i.Fill(u.Document)
		found, err := src.Get(ctx, refs)
		for ref := range found {
			exists = exists || !goes[ref]
		}
		return ok, exists, err
	case u.Account != "":
		uid, ok := i.UID(u.Account)
		if !ok {
			return false, false, nil
		}
		found, err := src.Accounts(ctx, []string{uid})
		return true, found[uid], err
	}
	queries, ok := u.Queries(ref, src.Reference, src.Run().Now)
	for _, q := range queries {
		q.ReadOnly = true
		some, err := src.First(ctx, q, "", len(goes)+1)
		if err != nil {
			return false, false, err
		}
		for _, d := range some {
			exists = exists || !goes[d.Ref()]
		}
	}
	return ok, exists, nil
}
