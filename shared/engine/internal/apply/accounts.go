package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/guard"
)

// gathered deletes the accounts of several commits in one call, because one call a second is allowed. Accounts that come up
// while a call is under way wait for the next call.
type gathered struct {
	mu      sync.Mutex
	busy    bool
	waiting []*accountCall
}

// accountCall is what one commit wants deleted.
type accountCall struct {
	uids    []string
	results []error
	done    chan struct{}
}

// delete deletes accounts and returns an error for each uid.
func (g *gathered) delete(ctx context.Context, call func(context.Context, []string) []error, uids []string) []error {
	c := &accountCall{uids: uids, done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, c)
	first := !g.busy
	g.busy = true
	g.mu.Unlock()
	if first {
		go g.work(ctx, call)
	}
	<-c.done
	return c.results
}

// work makes calls until nobody waits.
func (g *gathered) work(ctx context.Context, call func(context.Context, []string) []error) {
	for {
		g.mu.Lock()
		calls := g.waiting
		g.waiting = nil
		if g.busy = len(calls) > 0; !g.busy {
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		var all []string
		for _, c := range calls {
			all = append(all, c.uids...)
		}
		var results []error
		if err := guard.Call(func() error {
			results = call(ctx, all)
			return nil
		}); err != nil {
			results = slices.Repeat([]error{err}, len(all))
		}
		for _, c := range calls {
			c.results, results = results[:len(c.uids)], results[len(c.uids):]
			close(c.done)
		}
	}
}

// maxAccounts is the size of a batch: one call looks up that many accounts.
const maxAccounts = 100

// deleteDueAccounts looks at accounts again and deletes those that are still due. It writes them to the undo log before the
// last look, so that as little time as possible passes between that look and the deletion: Authentication has no conditions for
// deletions.
func (a *Applier) deleteDueAccounts(ctx context.Context, batch []decide.Action) []error {
	results := make([]error, len(batch))
	all := func(err error) []error { return slices.Repeat([]error{err}, len(batch)) }
	rule := batch[0].Effect.(decide.DeleteAccount).Rule
	byUID := make(map[string]int, len(batch))
	uids := make([]string, len(batch))
	for i, a := range batch {
		uids[i] = a.Effect.(decide.DeleteAccount).UID
		byUID[uids[i]] = i
	}
	saved := map[string]bool{} // for undo
	if a.Saves {
		found, err := a.Accounts.Get(ctx, uids)
		if err != nil {
			return all(fmt.Errorf("save accounts to the undo log: %w", err))
		}
		found = slices.DeleteFunc(found, func(found accounts.Account) bool { return rule.Judge(found, a.Run).Kind == "" })
		items := make([]undo.Record, len(found))
		for n, a := range found {
			items[n] = itemOf(batch[byUID[a.UID]])
			saved[a.UID] = true
		}
		if err := a.saveAccounts(ctx, items, found); err != nil {
			return all(err)
		}
	}
	found, err := a.Accounts.Get(ctx, uids)
	if err != nil {
		return all(err)
	}
	decisions, _, err := a.Decider.Accounts(ctx, rule, found)
	if err != nil {
		return all(err)
	}
	for i := range results {
		results[i] = documents.ErrChanged // unless it is there and due
	}
	var due []string
	for i, d := range decisions {
		same := a.Approved == nil || decide.AccountVersion(found[i]) == batch[byUID[found[i].UID]].Effect.(decide.DeleteAccount).Version
		if d.Kind != "" && same && (saved[found[i].UID] || !a.Saves) { // one that became due since is the next run's
			due = append(due, found[i].UID)
		}
	}
	if len(due) == 0 {
		return results
	}
	for n, err := range a.gathered.delete(ctx, a.Accounts.Delete, due) {
		results[byUID[due[n]]] = err
	}
	a.settleAccounts(ctx, due, func(uid string) *error { return &results[byUID[uid]] })
	return results
}

// settleAccounts checks whether accounts whose deletion failed are gone nevertheless: the answer may have been lost.
func (a *Applier) settleAccounts(ctx context.Context, uids []string, result func(uid string) *error) {
	doubtful := slices.DeleteFunc(slices.Clone(uids), func(uid string) bool { return *result(uid) == nil })
	if len(doubtful) == 0 {
		return
	}
	there := map[string]bool{}
	found, err := a.Accounts.Get(ctx, doubtful)
	for _, a := range found {
		there[a.UID] = true
	}
	told := a.Writes(ctx)
	defer told.Log()
	for _, uid := range doubtful {
		if err == nil && there[uid] {
			continue
		}
		told.Account(uid, true)
		if failure := result(uid); err == nil {
			*failure = nil
		} else {
			*failure = errors.Join(*failure, err)
		}
	}
}
