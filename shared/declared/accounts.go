package declared

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// accountsOf makes a job of a rule about accounts.
type accountsOf struct{ rule.Rule }

// plan goes through all accounts, page by page. Its checkpoint is a page's token. No documentation says how long
// Authentication accepts a token. If it does not accept it any more, the run begins at the beginning.
func (c accountsOf) plan(ctx context.Context, p *cleanup.Planner) error {
	token, looked, told := p.Checkpoint, lookups{}, false
	for page, err := range p.Accounts.Pages(ctx, token) {
		if errors.Is(err, accounts.ErrToken) {
			return fmt.Errorf("%w: %w", documents.ErrCursor, err)
		}
		if err != nil {
			return err
		}
		found, err := p.ConsiderAccounts(ctx, page.Accounts)
		if err == nil {
			err = looked.considered(ctx, p, found)
		}
		if err == nil && !told && (found.Due > 0 || len(p.LastWarnings) > 0) {
			var items []criteria.Lookup
			for _, a := range page.Accounts {
				items = append(items, criteria.FieldsOfAccount(a))
			}
			more := unheard(c.Rule, "account", items, token == "" && page.Next == "")
			if told, err = true, unfound(ctx, p, c.Rule, found.Due > 0, more...); err == nil {
				err = c.tell(ctx, p, page.Accounts)
			}
		}
		if err != nil {
			return err
		}
		p.Count(cleanup.Count{Collection: "accounts", Looked: len(page.Accounts), Due: found.Due, Percent: c.DuePercent()})
		if found.Left { // the next run begins with this page, which then lists only what was not deleted
			p.Continue(func([]documents.Ref) string { return token })
			return nil
		}
		token = page.Next
		if err := p.SaveCheckpoint(token); err != nil {
			return err
		}
	}
	return nil
}

// tell tells what stays below documents that are deleted with accounts.
func (c accountsOf) tell(ctx context.Context, p *cleanup.Planner, all []accounts.Account) error {
	for _, w := range c.With {
		var due []string
		for _, a := range all {
			if ref, ok := documentOf(w, a.UID); ok && c.judge(a, p.Run).Kind != "" {
				due = append(due, ref.Path())
			}
		}
		if err := stays(ctx, p, w.Key+"."+rule.WithRole, c.following(w), due); err != nil {
			return err
		}
	}
	return nil
}

func (c accountsOf) accountRule() *cleanup.AccountRule {
	r := &cleanup.AccountRule{Limit: c.Limit, Keepers: c.keepers(), Judge: c.judge}
	if along := c.along(); len(along) > 0 {
		r.Whole = len(c.Others) > 0 || slices.ContainsFunc(c.Along(), func(a rule.Placed) bool { return len(a.Unless) > 0 })
		r.Next = func(uid string) (items []cleanup.Item) {
			for i, w := range c.With {
				ref, _ := documentOf(w, uid)
				items = append(items, cleanup.Item{Rule: along[i], Ref: ref})
			}
			return items
		}
	}
	return r
}

// keepers are the documents that keep an account.
func (c accountsOf) keepers() (all []cleanup.Keeper) {
	for _, related := range c.Related() {
		of, _ := documentOf(related, "x")
		all = append(all, cleanup.Keeper{Collection: of.Collection, Reason: related.Exists(), ID: func(uid string) string {
			ref, _ := documentOf(related, uid)
			return ref.ID
		}})
	}
	return all
}

// along returns the rules about the documents that are deleted with accounts: each is, with what belongs to it, once its account
// is gone, unless what would have kept the account has come since.
func (c accountsOf) along() (all []cleanup.AnyRule) {
	account := rule.Relation{Account: "{id}"}
	for _, w := range c.With {
		of := ofDocuments(c.following(w))
		of.missing, of.byAccount = len(w.With) > 0, &w
		of.Unless = append(of.Unless, account)
		all = append(all, of.ruleOf("document of "+of.Collection, func(i item, run cleanup.Run) cleanup.Decision {
			d := of.judge(i, run)
			if of.missing && !i.Found {
				d = cleanup.Do(of.Kind(), "")
				if i.exists != "" {
					d = cleanup.Keep(i.exists)
				}
			}
			if i.exists == account.Exists() { // last, so it goes before what else exists
				return cleanup.Decision{}
			}
			if d.Kind != "" {
				d.Reason = "its account is deleted"
			}
			for n, related := range c.Related() {
				if i.exists == of.Unless[n].Exists() {
					d.Reason = related.Exists()
				}
			}
			return d
		}))
	}
	return all
}

// following returns the rule about documents that are deleted with accounts, of any age: what keeps an account keeps them.
func (c accountsOf) following(w rule.Relation) rule.Rule {
	r := rule.Rule{Collection: string(w.Place("")), Age: rule.Ages{}, With: slices.Clone(w.With), Others: c.Others}
	for _, u := range c.Related() {
		r.Unless = append(r.Unless, rule.Relation{Document: strings.ReplaceAll(u.Document, "{uid}", "{id}")})
	}
	return r
}

// judge decides about an account by its own attributes. The decision leaves out what unless says.
func (c accountsOf) judge(a accounts.Account, run cleanup.Run) cleanup.Decision {
	if !c.concerns(a) {
		return cleanup.Keep("not " + c.Accounts)
	}
	i := rule.Item{ID: a.UID, Field: criteria.FieldsOfAccount(a), Times: map[string]time.Time{}}
	if at, known := a.CreatedAt(); known {
		i.Times[criteria.CreationTime] = at
	}
	if at, known := a.LastActive(); known {
		i.Times[criteria.LastActive] = at
	}
	d := judgeOwn(c.Rule, i, run.Now)
	if d.Kind == "" {
		return d
	}
	if c.Accounts != rule.All && len(c.Where) == 0 {
		d.Reason = c.Accounts + ", " + d.Reason
	}
	if !accounts.Deletable(a.UID) {
		return cleanup.Invalid("its uid is longer than 128 bytes, so only the Firebase console can delete it")
	}
	for _, related := range c.Gone {
		ref, _ := documentOf(related, a.UID)
		d.Reason += ", " + ref.String() + " does not exist"
	}
	for _, related := range append(c.Related(), c.With...) {
		if _, ok := documentOf(related, a.UID); !ok {
			return cleanup.Invalid("its uid makes " + related.Document + " an invalid path")
		}
	}
	return d
}

// documentOf returns the document that is related to an account; ok is false if the uid makes no valid id.
func documentOf(r rule.Relation, uid string) (ref documents.Ref, ok bool) {
	refs, ok := rule.Item{ID: uid, Bound: map[string]string{"uid": uid}}.Fill(r.Document)
	if !ok || !documents.ValidID(refs[0].ID) {
		return ref, false
	}
	return refs[0], true
}

// concerns reports whether the rule is about an account.
func (c accountsOf) concerns(a accounts.Account) bool {
	switch c.Accounts {
	case rule.Anonymous:
		return a.Anonymous()
	case rule.Unverified:
		return a.Unverified()
	case rule.Disabled:
		return a.Disabled
	case rule.All:
		return true
	}
	return false
}
