package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// AccountRule says which accounts of Authentication are deleted. The engine judges each account twice with the same functions:
// while planning, and right before the deletion.
type AccountRule struct {
	// Judge decides about an account by its attributes in Authentication; it is pure.
	Judge func(a accounts.Account, run Run) Decision
	// Keepers are documents. An account that is due is kept while one of them exists.
	Keepers []Keeper
	Limit   int // how many a run deletes at most; 0: any number
}

// Keeper says which document keeps an account.
type Keeper struct {
	Collection string
	ID         func(uid string) string // it must be valid for accounts that are due
	Reason     string                  // why the account is kept
}

// deleteAccount deletes an account if it is still due at a second look.
type deleteAccount struct {
	uid  string
	rule *AccountRule
}

// maxAccounts is the size of a batch: one call looks up that many accounts.
const maxAccounts = 100

func accountTarget(uid string) string { return "account " + uid }

// Considered says what happened to accounts that were considered.
type Considered struct {
	Due     int                // proposed, or left for a later run because of the rule's limit
	Left    bool               // some were left
	Lookups map[string]Lookups // of the keepers, by collection
}

// ConsiderAccounts judges accounts and proposes those that are due, as far as the rule's limit allows.
func (p *Planner) ConsiderAccounts(ctx context.Context, rule *AccountRule, found []accounts.Account) (c Considered, err error) {
	p.Scanned(len(found))
	decisions, lookups, err := p.run.judgeAccounts(ctx, rule, found)
	if err != nil {
		return c, err
	}
	c.Lookups = lookups
	for i, d := range decisions {
		target, before := accountTarget(found[i].UID), p.planned
		switch {
		case d.Invalid:
			p.KeepInvalid(ctx, target, d.Reason, 1)
			continue
		case d.Kind == "":
			p.Keep(d.Reason, 1)
			continue
		case rule.Limit > 0 && p.Planned() >= rule.Limit && p.run.keptBy(target) == nil:
			c.Due++
			c.Left = true
			continue
		}
		if err := p.Propose(ctx, Action{Kind: d.Kind, Target: target, Reason: d.Reason, Effect: deleteAccount{found[i].UID, rule}}); err != nil {
			return c, err
		}
		c.Due += p.planned - before // not what is pinned
	}
	return c, nil
}

// judgeAccounts decides about accounts by their attributes and, if they are due, by the documents that may keep them.
func (r *run) judgeAccounts(ctx context.Context, rule *AccountRule, found []accounts.Account) ([]Decision, map[string]Lookups, error) {
	decisions, lookups := make([]Decision, len(found)), map[string]Lookups{}
	for i, a := range found {
		decisions[i] = rule.Judge(a, r.known())
	}
	for _, k := range rule.Keepers {
		byID := map[string]int{} // of accounts that are due
		var ids []string
		for i, a := range found {
			if decisions[i].Kind != "" {
				id := k.ID(a.UID)
				byID[id], ids = i, append(ids, id)
			}
		}
		missing, err := r.documents.Missing(ctx, k.Collection, ids)
		if err != nil {
			return nil, nil, err
		}
		for _, id := range missing {
			delete(byID, id)
		}
		for _, i := range byID {
			decisions[i] = Keep(k.Reason)
		}
		l := lookups[k.Collection]
		lookups[k.Collection] = Lookups{Asked: l.Asked + len(ids), Missing: l.Missing + len(missing)}
	}
	return decisions, lookups, nil
}

// deleteDueAccounts looks at accounts again and deletes those that are still due. It writes them to the undo log before the
// last look, so that as little time as possible passes between that look and the deletion: Authentication has no conditions for
// deletions.
func (r *run) deleteDueAccounts(ctx context.Context, batch []Action) []error {
	results := make([]error, len(batch))
	all := func(err error) []error { return slices.Repeat([]error{err}, len(batch)) }
	rule := batch[0].Effect.(deleteAccount).rule
	byUID := make(map[string]int, len(batch))
	uids := make([]string, len(batch))
	for i, a := range batch {
		uids[i] = a.Effect.(deleteAccount).uid
		byUID[uids[i]] = i
	}
	saved := map[string]bool{} // for undo
	if r.savesForUndo() {
		found, err := r.accounts.Get(ctx, uids)
		if err != nil {
			return all(fmt.Errorf("save accounts to the undo log: %w", err))
		}
		found = slices.DeleteFunc(found, func(a accounts.Account) bool { return rule.Judge(a, r.known()).Kind == "" })
		items := make([]undo.Record, len(found))
		for n, a := range found {
			items[n] = itemOf(batch[byUID[a.UID]])
			saved[a.UID] = true
		}
		if err := r.saveAccounts(ctx, items, found); err != nil {
			return all(err)
		}
	}
	found, err := r.accounts.Get(ctx, uids)
	if err != nil {
		return all(err)
	}
	decisions, _, err := r.judgeAccounts(ctx, rule, found)
	if err != nil {
		return all(err)
	}
	for i := range results {
		results[i] = ErrChanged // unless it is there and due
	}
	var due []string
	for i, d := range decisions {
		if d.Kind != "" && (saved[found[i].UID] || !r.savesForUndo()) { // one that became due since is the next run's
			due = append(due, found[i].UID)
		}
	}
	if len(due) == 0 {
		return results
	}
	for n, err := range r.gathered.delete(ctx, r.accounts.Delete, due) {
		results[byUID[due[n]]] = err
	}
	r.settleAccounts(ctx, due, func(uid string) *error { return &results[byUID[uid]] })
	return results
}

// settleAccounts checks whether accounts whose deletion failed are gone nevertheless: the answer may have been lost.
func (r *run) settleAccounts(ctx context.Context, uids []string, result func(uid string) *error) {
	doubtful := slices.DeleteFunc(slices.Clone(uids), func(uid string) bool { return *result(uid) == nil })
	if len(doubtful) == 0 {
		return
	}
	there := map[string]bool{}
	found, err := r.accounts.Get(ctx, doubtful)
	for _, a := range found {
		there[a.UID] = true
	}
	told := r.collect(ctx)
	defer told.log()
	for _, uid := range doubtful {
		if err == nil && there[uid] {
			continue
		}
		told.add(written{Op: "delete account", Path: uid, Unsure: true})
		if failure := result(uid); err == nil {
			*failure = nil
		} else {
			*failure = errors.Join(*failure, err)
		}
	}
}
