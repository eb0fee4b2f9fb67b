package cascade

import (
	"context"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// gatherKept asks the unless of other rules about the documents that go along. What one of them keeps stays, and its parent with
// it.
func (w With) gatherKept(ctx context.Context, src cleanup.Source, due []*item) error {
	if len(w.Others) == 0 {
		return nil
	}
	for _, i := range due {
		goes := map[documents.Ref]bool{i.Ref(): true} // what is deleted itself keeps nothing
		for _, c := range i.children {
			goes[c.Ref()] = c.loses == nil
		}
		for _, c := range i.children {
			if c.loses != nil {
				continue
			}
			for _, other := range w.Others {
				if !rule.Same(other.At(), c.Ref().Collection) {
					continue
				}
				why, err := keeps(ctx, src, other, c.Ref(), goes)
				if err != nil {
					return err
				}
				if why != "" {
					i.kept = "a document of " + other.Source() + " that would be deleted along stays, because " + why
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
	if err != nil || !there {
		return "", err
	}
	i, mine := r.ItemOf(d)
	if !mine {
		return "", nil
	}
	for _, e := range r.Exceptions() {
		if e.Holds(i.Lookup) != criteria.Unmet {
			return e.Words(), nil
		}
	}
	r.Gone = nil
	for _, u := range r.Related() {
		var ok, exists bool
		switch {
		case u.Document != "":
			var refs []documents.Ref
			if refs, ok = i.Fill(u.Document); ok {
				var found map[documents.Ref]documents.Document
				found, err = src.Get(ctx, refs)
				for ref := range found {
					exists = exists || !goes[ref]
				}
			}
		case u.Account != "":
			var uid string
			if uid, ok = i.UID(u.Account); ok {
				var found map[string]bool
				found, err = src.Accounts(ctx, []string{uid})
				exists = found[uid]
			}
		default:
			var queries []documents.Query
			queries, ok = u.Queries(ref, false, src.Reference, src.Run().Now)
			for _, q := range queries {
				var some []documents.Document
				q.ReadOnly = true
				if some, err = src.First(ctx, q, "", 1); err != nil {
					break
				}
				exists = exists || len(some) > 0
			}
		}
		switch {
		case err != nil:
			return "", err
		case !ok:
			return u.Nameless(), nil
		case exists:
			return u.Exists(), nil
		}
	}
	return "", nil
}
