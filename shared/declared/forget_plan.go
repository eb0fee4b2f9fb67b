package declared

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
)

// plan proposes all that is the user's, the account last. It begins at the beginning, for what is done is not found again.
func (f *forgetting) plan(ctx context.Context, p *cleanup.Planner) error {
	account, err := f.find(ctx, p)
	if err != nil {
		return err
	}
	seen := map[documents.Ref]bool{} // by a part that deletes: no other touches it
	kept := map[string]bool{}        // by path, whether it is the user's alone
	goesAlong := false               // or stays with its document
	for _, part := range f.parts {
		if part.follows && len(account) > 0 && f.account.Judge(account[0], p.Run).Kind == "" {
			continue // the account is kept, and says why
		}
		*part.keepers = keepers{}
		err := part.each(ctx, p, func(found []documents.Document) error {
			found = slices.DeleteFunc(found, func(d documents.Document) bool {
				goesAlong = goesAlong || part.DeletesAccounts() && part.mine(d)
				return seen[d.Ref()] || part.leaves(d) || part.keepsAlong(ctx, p, d, kept)
			})
			consider, err := p.LoadAhead(ctx, part.sweep, found)
			if err != nil {
				return err
			}
			planned := p.Planned()
			return consider(ctx, func(d documents.Document) error {
				if seen[d.Ref()] = part.Deletes(); p.Planned() == planned {
					kept[d.Path] = part.mine(d)
				}
				planned = p.Planned()
				return nil
			})
		})
		if err == nil {
			err = part.keepers.report(ctx, p)
		}
		if err != nil {
			return err
		}
	}
	if goesAlong {
		return nil
	}
	considered, err := p.ConsiderAccounts(ctx, account)
	if err != nil {
		return err
	}
	return new(keepers).considered(ctx, p, considered)
}

// find returns the user's account, if there is one. If not, it must not be a tenant's, which is not found.
func (f *forgetting) find(ctx context.Context, p *cleanup.Planner) ([]accounts.Account, error) {
	found, err := p.Accounts.Get(ctx, []string{f.uid})
	if err != nil || len(found) > 0 {
		return found, err
	}
	return nil, p.NoTenants(ctx)
}

// keepsAlong reports whether a document stays because something that it would take along is kept.
func (p *part) keepsAlong(ctx context.Context, plan *cleanup.Planner, d documents.Document, kept map[string]bool) bool {
	for path, mine := range kept {
		below := p.takesBelow() && strings.HasPrefix(path, d.Path+"/")
		names := func(w rule.Relation) bool {
			return w.Collection != "" && strings.HasPrefix(path, w.Collection+"/") && !w.Remove
		}
		if below || mine && slices.ContainsFunc(p.With, names) {
			plan.KeepJudged(ctx, d.Path, p.named(d, cleanup.Keep("a document that goes along with it is kept")))
			return true
		}
	}
	return false
}

// each calls consider with the documents that name the user, page by page.
func (p *part) each(ctx context.Context, plan *cleanup.Planner, consider func([]documents.Document) error) error {
	q, exact, err := p.naming(plan.Documents)
	if err != nil {
		return err
	}
	read := 0
	page := func(found []documents.Document) error {
		if read += len(found); read > p.Judges() {
			return fmt.Errorf("%s: more than %d documents of %s must be read to find those of one user: raise maxReads, or write the uid "+
				"into a field and name that", p.name, p.Judges(), p.Source())
		}
		if !exact {
			found = slices.DeleteFunc(found, func(d documents.Document) bool { return !p.mine(d) })
		}
		return consider(found)
	}
	if len(q.OrderBy) == 0 {
		return plan.EachPage(ctx, q, "", page)
	}
	found, err := plan.Documents.First(ctx, q, "", p.Judges()+1) // at once: no cursor stands behind a map or a list
	plan.Scanned(len(found))
	for some := range slices.Chunk(found, documents.DefaultPageSize) {
		if err == nil {
			err = page(some)
		}
	}
	return err
}

// naming returns the query for documents that name the user. exact says that it returns no others. Firestore has no index of ids in
// many collections, so there it goes through all.
func (p *part) naming(in documents.Reader) (q documents.Query, exact bool, err error) {
	q = p.Query(time.Time{}) // without an age, the time does not matter
	uid, hole := p.forgets, strings.Trim(p.account, "{}")
	switch before, after, bound := strings.Cut(p.Collection, p.account); {
	case bound && !strings.Contains(before+after, "{"):
		q.Collection, q.Group = before+uid+after, false
	case bound, hole == "id" && p.IsGroup():
		return q, false, nil
	case hole == "id":
		end := "!"
		if p.copies != "" {
			end = "A" // after @, with which the id of a second copy goes on
		}
		id, self := documents.NameOnly[0], p.Collection+"/"+uid
		q.Where = []documents.Filter{{Field: id, Op: ">=", Value: in.Ref(self)}, {Field: id, Op: "<", Value: in.Ref(self + end)}}
		return q, false, nil
	default:
		names := rule.Relation{Field: strings.Replace(hole, ".*", ".{id}", 1)}
		reference := func(ref documents.Ref) any { return in.Ref(ref.Path()) }
		asked, ok := names.Queries(documents.Ref{Collection: "users", ID: uid}, false, reference, time.Time{})
		if !ok {
			return q, false, fmt.Errorf("%s: %s: no query can ask for this uid as a key of a map", p.name, p.account)
		}
		q.Where, q.OrderBy = asked[0].Where, asked[0].OrderBy
	}
	return q, true, nil
}
