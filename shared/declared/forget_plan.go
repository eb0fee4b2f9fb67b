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

// plan proposes all that is the user's, the account last. It saves no checkpoint: what is done is not found again.
func (f *forgetting) plan(ctx context.Context, p *cleanup.Planner) error {
	account, err := f.find(ctx, p)
	if err != nil {
		return err
	}
	seen := map[documents.Ref]bool{} // by a part that deletes: no other touches it
	var kept []string
	goesAlong := false // or stays with its document
	for _, part := range f.parts {
		*part.keepers = keepers{}
		err := part.each(ctx, p, func(found []documents.Document) error {
			found = slices.DeleteFunc(found, func(d documents.Document) bool {
				goesAlong = goesAlong || part.takesAccount() && part.mine(d)
				return seen[d.Ref()] || part.keepsBelow(ctx, p, d, kept)
			})
			loaded, err := p.LoadAhead(ctx, part.sweep, found)
			if err != nil {
				return err
			}
			planned := p.Planned()
			return p.ConsiderLoaded(ctx, part.sweep, found, loaded, func(d documents.Document) error {
				if seen[d.Ref()] = part.Deletes(); p.Planned() == planned {
					kept = append(kept, d.Path)
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
	considered, err := p.ConsiderAccounts(ctx, f.account, account)
	if err != nil {
		return err
	}
	*f.looked = keepers{}
	for collection, l := range considered.Lookups {
		if l.Asked > 0 {
			f.looked.lookedUp(rule.Relation{Document: collection + "/x"}, l.Missing < l.Asked, false)
		}
	}
	return f.looked.report(ctx, p)
}

// find returns the user's account, if there is one. If not, it must not be a tenant's, of which nothing would tell.
func (f *forgetting) find(ctx context.Context, p *cleanup.Planner) ([]accounts.Account, error) {
	found, err := p.Accounts.Get(ctx, []string{f.uid})
	if err != nil || len(found) > 0 {
		return found, err
	}
	switch may, err := p.Accounts.Tenants(ctx); {
	case err != nil:
		return nil, fmt.Errorf("there is no account %s, and it is unknown whether it is a tenant's (Identity Platform): %w", f.uid, err)
	case may:
		return nil, fmt.Errorf("the project itself has no account %s, and it allows tenants (Identity Platform), whose accounts are not found "+
			"here: delete a tenant's user by hand, or, if no tenant has accounts, switch multi-tenancy off", f.uid)
	}
	return nil, nil
}

// keepsBelow reports whether a document that takes along what is below it stays because something of that is kept.
func (p *part) keepsBelow(ctx context.Context, plan *cleanup.Planner, d documents.Document, kept []string) bool {
	below := p.takesBelow() && slices.ContainsFunc(kept, func(path string) bool { return strings.HasPrefix(path, d.Path+"/") })
	if below {
		reason := p.Source() + ": a document below it is kept"
		plan.KeepJudged(ctx, d.Path, cleanup.Decision{Reason: reason, Notice: &cleanup.Notice{Message: d.Path + " is kept: " + reason}})
	}
	return below
}

// each calls consider with the documents that name the user, of which it has looked at others too where no index tells them apart.
func (p *part) each(ctx context.Context, plan *cleanup.Planner, consider func([]documents.Document) error) error {
	q, exact, err := p.naming(plan.Documents.Ref("users/" + p.forgets))
	if err != nil {
		return err
	}
	from, read := documents.Cursor(""), 0
	for more := true; more && err == nil; {
		if err := plan.CheckTime(); err != nil {
			return err
		}
		var found []documents.Document
		found, more, err = plan.FirstToJudge(ctx, p.sweep, q, from, min(PageSize, p.Judges()+1-read))
		if err != nil {
			return err
		}
		plan.Scanned(len(found))
		if read += len(found); read > p.Judges() || more && len(q.From) > 0 {
			return fmt.Errorf("%s: more than %d documents of %s must be read to find those of one user: raise maxReads, or write the uid "+
				"into a field and name that", p.name, read-1, p.Source())
		}
		if more {
			if from, err = q.After(found[len(found)-1]); err != nil {
				return err
			}
		}
		if !exact {
			found = slices.DeleteFunc(found, func(d documents.Document) bool { return !p.mine(d) })
		}
		if len(found) > 0 {
			err = consider(found)
		}
	}
	return err
}

// naming returns the query for documents that name the user. reference refers to the user's document. exact says that it returns no
// others. Firestore has no index of ids in many collections, so there it goes through all.
func (p *part) naming(reference any) (q documents.Query, exact bool, err error) {
	if q = p.Query(time.Time{}); !p.Deletes() { // without an age, the time does not matter
		q.Select = nil // what is there is compared with what is set
	}
	uid, hole := p.forgets, strings.Trim(p.account, "{}")
	list, isList := strings.CutSuffix(hole, "[]")
	keys, isMap := strings.CutSuffix(hole, ".*")
	of := append(documents.NamesOf(uid), reference)
	switch place := strings.Replace(p.Collection, p.account, uid, 1); {
	case place != p.Collection && !strings.Contains(strings.Replace(p.Collection, p.account, "", 1), "{"):
		q.Collection, q.Group = place, false
		return q, true, nil
	case place != p.Collection, hole == "id" && p.IsGroup():
		return q, false, nil
	case hole == "id":
		q.OrderBy, q.From, q.Until = documents.NameOnly, []any{uid}, []any{uid + "!"}
		if p.copies {
			q.Until = []any{uid + "A"} // after @, with which the id of a second copy goes on
		}
		return q, false, nil
	case isMap && (strings.ContainsAny(uid, ".~*/[]`") || !documents.Queryable(uid)):
		return q, false, fmt.Errorf("%s: %s: no query can ask for this uid as a key of a map", p.name, p.account)
	case isMap:
		q.OrderBy, q.From = []string{keys + "." + uid}, []any{nil}
	case isList:
		q.Where = []documents.Filter{{Field: list, Op: "array-contains-any", Value: of}}
	default:
		q.Where = []documents.Filter{{Field: hole, Op: "in", Value: of}}
	}
	return q, true, nil
}
