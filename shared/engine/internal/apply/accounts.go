package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
	"github.com/firesweep/firesweep/shared/engine/runlog"
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

// person is an account that is to be deleted, and the item that it is deleted for.
type person struct {
	uid  string
	item undo.Record
	seen *accounts.Account // when somebody last looked; nil: there was none, or nobody looked
	err  error             // what became of it: nil when it is gone
}

// look returns which of some accounts may be deleted. What it finds of them is in their seen.
type look func(ctx context.Context, all []*person) ([]*person, error)

// deletePeople deletes accounts. It saves for undo what it sees at a first look, with what follows, before a last look, so that
// nothing comes between that look and the deletion: Authentication has no conditions for deletions. It returns those whose
// deletion was sent, and what is left to do. What became of each of them is in its err. An error says why none was sent.
func (a *Applier) deletePeople(
	ctx context.Context, all []*person, first, last look, follows func([]*person) runlog.Todo,
) (sent []*person, todo documents.Ref, err error) {
	if all, err = first(ctx, all); err != nil || len(all) == 0 {
		return nil, todo, err
	}
	var records []undo.Record
	places := map[string]int{} // of accounts: one that several items lead to belongs to the first
	for _, p := range all {
		if p.seen != nil && places[p.uid] == 0 {
			account := undo.Account{UID: p.uid, Data: p.seen.JSON()}
			records = append(records, p.item, undo.Record{Of: len(records) + 1, Account: &account})
			places[p.uid] = len(records)
		}
	}
	left := follows(all)
	entry, err := a.open(ctx, records, left)
	if err != nil {
		return nil, todo, err
	}
	if !left.Empty() {
		todo = entry.Todo()
	}
	if sent, err = last(ctx, all); len(sent) > 0 {
		for i, err := range a.gathered.delete(ctx, a.Accounts.Delete, uidsOf(sent)) {
			sent[i].err = err
		}
		a.settleAccounts(ctx, sent)
	}
	for _, p := range sent {
		if !stays(p.err) {
			delete(places, p.uid)
		}
	}
	a.stay(ctx, entry, slices.Sorted(maps.Values(places))) // last: nothing is to pass between the look and the deletion
	if err != nil && !left.Empty() {
		a.Log.Over(todo) // nothing was sent, so nothing follows
	}
	return sent, todo, err
}

func uidsOf(all []*person) []string {
	uids := make([]string, len(all))
	for i, p := range all {
		uids[i] = p.uid
	}
	return uids
}

// find looks up accounts, and notes what it sees of each.
func (a *Applier) find(ctx context.Context, all []*person) error {
	found, err := a.Accounts.Get(ctx, uidsOf(all))
	if err != nil {
		return err
	}
	byUID := map[string]*accounts.Account{}
	for i := range found {
		byUID[found[i].UID] = &found[i]
	}
	for _, p := range all {
		p.seen = byUID[p.uid]
	}
	return nil
}

// deleteDueAccounts deletes accounts that are due by a rule.
func (a *Applier) deleteDueAccounts(ctx context.Context, batch []decide.Action) []error {
	rule := batch[0].Effect.(decide.DeleteAccount).Rule
	d := dueAccounts{Applier: a, rule: rule, version: map[string]string{}, families: map[string]family{}}
	all := make([]*person, len(batch))
	for i, b := range batch {
		uid := b.Effect.(decide.DeleteAccount).UID
		all[i] = &person{uid: uid, item: itemOf(b), err: documents.ErrChanged} // unless it is there and due
		d.version[uid] = b.Version
	}
	sent, todo, err := a.deletePeople(ctx, all, d.dueByItself, d.stillDue, d.follows)
	if err != nil {
		return slices.Repeat([]error{err}, len(batch))
	}
	whole := d.settleFamilies(ctx, sent)
	results := make([]error, len(all))
	for i, p := range all {
		results[i] = p.err
	}
	failed := slices.ContainsFunc(sent, func(p *person) bool { return p.err != nil })
	if todo != (documents.Ref{}) && whole && !failed {
		a.Log.Over(todo)
	}
	return results
}

// dueAccounts are accounts that are deleted by a rule.
type dueAccounts struct {
	*Applier
	rule     *cleanup.AccountRule
	version  map[string]string // as the plan says, by uid
	families map[string]family // what goes with them, by uid
}

// dueByItself is the first look: which are due by their attributes. Without an undo log, nobody needs it.
func (d dueAccounts) dueByItself(ctx context.Context, all []*person) ([]*person, error) {
	if !d.Saves {
		return all, nil
	}
	if err := d.find(ctx, all); err != nil {
		return nil, fmt.Errorf("save accounts to the undo log: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(all), func(p *person) bool {
		return p.seen == nil || d.rule.Judge(*p.seen, d.Run).Kind == ""
	}), nil
}

// stillDue is the last look. Why others are kept that are due, it puts into their err.
func (d dueAccounts) stillDue(ctx context.Context, all []*person) (due []*person, err error) {
	if err := d.find(ctx, all); err != nil {
		return nil, err
	}
	var found []accounts.Account
	var there []*person
	for _, p := range all {
		if p.seen != nil {
			found, there = append(found, *p.seen), append(there, p)
		}
	}
	decisions, _, err := d.Decider.Accounts(ctx, d.rule, found)
	if err != nil {
		return nil, err
	}
	for i, p := range there {
		if decisions[i].Kind == "" || d.Approved != nil && decide.AccountVersion(found[i]) != d.version[p.uid] {
			continue
		}
		due = append(due, p)
	}
	return due, nil
}

// follows returns what is to be judged once accounts are gone, so that a later run does it if this one cannot.
func (d dueAccounts) follows(all []*person) runlog.Todo {
	if d.rule.Next == nil {
		return runlog.Todo{}
	}
	next := make([]cleanup.Change, len(all))
	for i, p := range all {
		next[i].Next = d.rule.Next(p.uid)
		d.families[p.uid] = family{of: workOf(next[i].Next[0]), all: works(next[i].Next)}
	}
	return d.todoOf(next[0].Next[0].Rule, next)
}

// settleFamilies does what follows accounts that are gone. It reports whether that is all there is to do.
func (d dueAccounts) settleFamilies(ctx context.Context, gone []*person) (whole bool) {
	var families []family
	for _, p := range gone {
		if f, follows := d.families[p.uid]; follows {
			families = append(families, f)
		}
	}
	d.Applier.settleFamilies(ctx, families)
	whole = true
	for i, f := range families {
		p := gone[i] // all have one, or none
		_, err := d.resultOf(ctx, f)
		var kept *decide.KeptError
		if errors.As(err, &kept) { // which the planner could not see yet: the account is gone all the same
			d.Skip(ctx, "what goes with "+decide.AccountTarget(p.uid), kept.Reason)
			whole, err = false, nil
		}
		if errors.Is(err, cleanup.ErrOutOfTime) {
			err = errBegun
		}
		p.err = cmp.Or(p.err, err)
	}
	return whole
}

// settleAccounts checks whether accounts whose deletion was sent and failed are gone nevertheless: the answer may have been lost.
// Of one that nobody has seen, that would tell nothing.
func (a *Applier) settleAccounts(ctx context.Context, sent []*person) {
	doubtful := slices.DeleteFunc(slices.Clone(sent), func(p *person) bool {
		return p.err == nil || p.seen == nil || errors.Is(p.err, cleanup.ErrOutOfTime)
	})
	if len(doubtful) == 0 {
		return
	}
	there, err := a.Accounts.Exist(ctx, uidsOf(doubtful))
	told := a.Writes(ctx)
	defer told.Log()
	for _, p := range doubtful {
		switch {
		case err != nil:
			p.err = errors.Join(p.err, err)
		case there[p.uid]:
			continue
		default:
			p.err = nil
		}
		told.Account(p.uid, true)
	}
}

// keptMadeAgain is why an account is kept that is another than the one that a document led to.
const keptMadeAgain = "an account that was made again since"

// deleteAccounts deletes the accounts of some follow-ups in as few calls as possible, but none that was made after at, when the
// documents that led to them were deleted, and none whose document is back. An error concerns all.
func (a *Applier) deleteAccounts(ctx context.Context, all []*ongoing, at time.Time) error {
	if err := a.Time.CheckTime(); err != nil {
		return err
	}
	people, of := make([]*person, len(all)), map[*person]*ongoing{}
	for i, f := range all {
		people[i] = &person{uid: f.Account, item: f.item()}
		of[people[i]] = f
	}
	first := func(ctx context.Context, all []*person) ([]*person, error) {
		if err := a.find(ctx, all); err != nil {
			return nil, fmt.Errorf("look at accounts before their deletion: %w", err)
		}
		return slices.DeleteFunc(slices.Clone(all), func(p *person) bool { return a.madeAgain(ctx, of[p], p.seen, at) }), nil
	}
	last := func(ctx context.Context, all []*person) ([]*person, error) {
		var then []cleanup.FollowUp
		for _, p := range all {
			if of[p].Recorded == nil { // of others a document of the application tells, which the commit has judged
				then = append(then, of[p].FollowUp)
			}
		}
		still, err := a.StillAbsent(ctx, then) // none with an error
		return slices.DeleteFunc(slices.Clone(all), func(p *person) bool {
			return err != nil || of[p].Recorded == nil && !slices.Contains(still, of[p].FollowUp)
		}), err
	}
	sent, _, err := a.deletePeople(ctx, people, first, last, func([]*person) runlog.Todo { return runlog.Todo{} })
	for _, p := range sent {
		of[p].err = p.err
	}
	a.nameMissing(ctx, sent, of)
	return err
}

// madeAgain reports, and says, whether the account of a follow-up is another than the one that its document led to.
func (a *Applier) madeAgain(ctx context.Context, f *ongoing, seen *accounts.Account, at time.Time) bool {
	if seen == nil {
		return false
	}
	if f.Recorded != nil && !f.Recorded.Since.IsZero() {
		at = f.Recorded.Since
	}
	made, _ := seen.CreatedAt()
	again := made.After(at.Add(undo.ClocksApart))
	if again {
		a.Skip(ctx, decide.NameOf(f.FollowUp), keptMadeAgain)
	}
	return again
}

// nameMissing counts and names the uids that no account had, where one was expected.
func (a *Applier) nameMissing(ctx context.Context, sent []*person, of map[*person]*ongoing) {
	named := 0
	for _, p := range sent {
		f := of[p]
		if f.NoAccount == "" || p.err != nil || p.seen != nil {
			continue
		}
		a.Keep(f.NoAccount, 1)
		if named++; named <= tell.MaxNamed {
			item := f.of.Ref.Path()
			a.Notice(ctx, item, cleanup.Notice{Message: item + ": " + f.NoAccount, Fields: map[string]any{"reason": f.NoAccount}})
		}
	}
}
