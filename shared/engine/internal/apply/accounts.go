package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
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
	results := slices.Repeat([]error{documents.ErrChanged}, len(batch)) // unless it is there and due
	all := func(err error) []error { return slices.Repeat([]error{err}, len(batch)) }
	rule := batch[0].Effect.(decide.DeleteAccount).Rule
	byUID := make(map[string]int, len(batch))
	uids := make([]string, len(batch))
	for i, a := range batch {
		uids[i] = a.Effect.(decide.DeleteAccount).UID
		byUID[uids[i]] = i
	}
	action := func(uid string) decide.Action { return batch[byUID[uid]] }
	result := func(uid string) *error { return &results[byUID[uid]] }
	saved, err := a.saveDue(ctx, rule, uids, action)
	if err != nil {
		return all(err)
	}
	due, err := a.stillDue(ctx, rule, uids, saved, action, result)
	var todo documents.Ref
	var families []family
	if len(due) > 0 {
		if todo, families, err = a.remember(ctx, rule, due); err != nil {
			due, err = nil, fmt.Errorf("remember what goes with the accounts: %w", err)
		}
	}
	if len(due) > 0 {
		for n, err := range a.gathered.delete(ctx, a.Accounts.Delete, due) {
			*result(due[n]) = err
		}
	}
	var stayed []undo.Record // noted last: nothing is to pass between the look and the deletion
	for _, uid := range uids {
		if saved[uid] && (!slices.Contains(due, uid) || errors.Is(*result(uid), cleanup.ErrOutOfTime)) {
			stayed = append(stayed, undo.Record{Stayed: decide.AccountTarget(uid)})
		}
	}
	a.saveStayed(ctx, stayed)
	switch {
	case err != nil:
		return all(err)
	case len(due) == 0:
		return results
	}
	a.saveStayed(ctx, a.settleAccounts(ctx, due, result))
	a.settleFamilies(ctx, families)
	stays := false
	for n, f := range families {
		_, err := a.resultOf(ctx, f)
		var kept *decide.KeptError
		if errors.As(err, &kept) { // which the planner could not see yet: the account is gone all the same
			a.Skip(ctx, "what goes with "+decide.AccountTarget(due[n]), kept.Reason)
			stays, err = true, nil
		}
		if errors.Is(err, cleanup.ErrOutOfTime) {
			err = errBegun
		}
		*result(due[n]) = cmp.Or(*result(due[n]), err)
	}
	if todo != (documents.Ref{}) && !stays && !slices.ContainsFunc(due, func(uid string) bool { return *result(uid) != nil }) {
		a.Log.Over(todo)
	}
	return results
}

// saveDue saves accounts for undo that are due by their attributes, and returns which.
func (a *Applier) saveDue(
	ctx context.Context, rule *cleanup.AccountRule, uids []string, action func(uid string) decide.Action,
) (saved map[string]bool, err error) {
	if !a.Saves {
		return nil, nil
	}
	found, err := a.Accounts.Get(ctx, uids)
	if err != nil {
		return nil, fmt.Errorf("save accounts to the undo log: %w", err)
	}
	found = slices.DeleteFunc(found, func(found accounts.Account) bool { return rule.Judge(found, a.Run).Kind == "" })
	saved = map[string]bool{}
	var records []undo.Record
	for _, one := range found {
		records = append(records, itemOf(action(one.UID)), accountOf(one, len(records)+1))
		saved[one.UID] = true
	}
	return saved, a.saveForUndo(ctx, records)
}

// stillDue looks at accounts once more and returns those to delete. Why others are kept that are due, it puts into their results.
func (a *Applier) stillDue(
	ctx context.Context, rule *cleanup.AccountRule, uids []string, saved map[string]bool,
	action func(uid string) decide.Action, result func(uid string) *error,
) (due []string, err error) {
	found, err := a.Accounts.Get(ctx, uids)
	if err != nil {
		return nil, err
	}
	decisions, _, err := a.Decider.Accounts(ctx, rule, found)
	if err != nil {
		return nil, err
	}
	for i, d := range decisions {
		uid := found[i].UID
		same := a.Approved == nil || decide.AccountVersion(found[i]) == action(uid).Version
		if d.Kind == "" || !same || a.Saves && !saved[uid] { // one that became due since is the next run's
			continue
		}
		if a.Approved != nil && rule.Next != nil {
			newer, err := a.Newer(ctx, a.Source(), &decide.Asked{}, cleanup.Change{Next: rule.Next(uid)})
			if err != nil {
				return nil, err
			} else if newer != nil {
				*result(uid) = newer
				continue
			}
		}
		due = append(due, uid)
	}
	return due, nil
}

// remember commits what is to be judged once accounts are gone, so that a later run does it if this one cannot. It returns the
// Todo, and the items of each account.
func (a *Applier) remember(ctx context.Context, rule *cleanup.AccountRule, uids []string) (todo documents.Ref, of []family, err error) {
	if rule.Next == nil {
		return todo, nil, nil
	}
	next := make([]cleanup.Change, len(uids))
	for i, uid := range uids {
		next[i].Next = rule.Next(uid)
		of = append(of, family{of: workOf(next[i].Next[0]), all: works(next[i].Next)})
	}
	l, err := a.commitLogged(ctx, false, func(context.Context, *documents.Transaction) (attempt, error) {
		return attempt{todo: a.todoOf(next[0].Next[0].Rule, next)}, nil
	})
	if err == nil {
		err = a.Documents.Wait(ctx, l.writes)
	}
	return l.todo, of, err
}

// settleAccounts checks whether accounts whose deletion was sent and failed are gone nevertheless: the answer may have been lost. It
// returns those that Authentication refused to delete.
func (a *Applier) settleAccounts(ctx context.Context, uids []string, result func(uid string) *error) (stayed []undo.Record) {
	doubtful := slices.DeleteFunc(slices.Clone(uids), func(uid string) bool {
		return *result(uid) == nil || errors.Is(*result(uid), cleanup.ErrOutOfTime)
	})
	if len(doubtful) == 0 {
		return nil
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
			if accounts.Refused(*result(uid)) {
				stayed = append(stayed, undo.Record{Stayed: decide.AccountTarget(uid)})
			}
			continue
		}
		told.Account(uid, true)
		if failure := result(uid); err == nil {
			*failure = nil
		} else {
			*failure = errors.Join(*failure, err)
		}
	}
	return stayed
}

// keptMadeAgain is why an account is kept that is another than the one that a document led to.
const keptMadeAgain = "an account that was made again since"

// deleteAccounts deletes the accounts of some follow-ups in as few calls as possible, but none that was made after at, when the
// documents that led to them were deleted. An error concerns all.
func (a *Applier) deleteAccounts(ctx context.Context, all []*ongoing, at time.Time) error {
	if err := a.Time.CheckTime(); err != nil {
		return err
	}
	uids := make([]string, len(all))
	for i, f := range all {
		uids[i] = f.Account
	}
	found, err := a.Accounts.Get(ctx, uids)
	if err != nil {
		return fmt.Errorf("look at accounts before their deletion: %w", err)
	}
	made := map[string]time.Time{}
	for _, one := range found {
		made[one.UID], _ = one.CreatedAt()
	}
	all = slices.DeleteFunc(slices.Clone(all), func(f *ongoing) bool {
		since := at
		if f.Recorded != nil && !f.Recorded.Since.IsZero() {
			since = f.Recorded.Since
		}
		again := made[f.Account].After(since.Add(undo.ClocksApart))
		if again {
			a.Skip(ctx, decide.NameOf(f.FollowUp), keptMadeAgain)
		}
		return again
	})
	stays := func(one accounts.Account) bool {
		return !slices.ContainsFunc(all, func(f *ongoing) bool { return f.Account == one.UID })
	}
	found = slices.DeleteFunc(found, stays)
	unsaved := map[string]accounts.Account{} // an account that several documents led to belongs to the first
	for _, one := range found {
		unsaved[one.UID] = one
	}
	var records []undo.Record
	for _, f := range all {
		records = append(records, f.item())
		if one, there := unsaved[f.Account]; there {
			records = append(records, accountOf(one, len(records)))
			delete(unsaved, f.Account)
		}
	}
	if err := a.saveForUndo(ctx, records); err != nil {
		return fmt.Errorf("save accounts to the undo log: %w", err)
	}
	var stayed []undo.Record
	if len(all) > 0 && all[0].fromTodo {
		var then, still []cleanup.FollowUp
		for _, f := range all {
			then = append(then, f.FollowUp)
		}
		still, err = a.StillAbsent(ctx, then) // none with an error
		all = slices.DeleteFunc(all, func(f *ongoing) bool { return !slices.Contains(still, f.FollowUp) })
		for _, one := range found {
			if stays(one) {
				stayed = append(stayed, undo.Record{Stayed: decide.AccountTarget(one.UID)})
			}
		}
	}
	if len(all) > 0 {
		uids = uids[:0]
		for _, f := range all {
			uids = append(uids, f.Account)
		}
		for i, err := range a.gathered.delete(ctx, a.Accounts.Delete, uids) {
			all[i].err = err
		}
		a.nameMissing(ctx, all, found)
	}
	a.saveStayed(ctx, stayed) // last: nothing is to pass between the look and the deletion
	return err
}

// nameMissing counts and names the uids that no account had, where one was expected.
func (a *Applier) nameMissing(ctx context.Context, all []*ongoing, found []accounts.Account) {
	named := 0
	for _, f := range all {
		has := func(a accounts.Account) bool { return a.UID == f.Account }
		if f.NoAccount == "" || f.err != nil || slices.ContainsFunc(found, has) {
			continue
		}
		a.Keep(f.NoAccount, 1)
		if named++; named <= tell.MaxNamed {
			item := f.of.Ref.Path()
			a.Notice(ctx, item, cleanup.Notice{Message: item + ": " + f.NoAccount, Fields: map[string]any{"reason": f.NoAccount}})
		}
	}
}
