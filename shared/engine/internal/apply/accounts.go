package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/guard"
)

// gathered deletes the accounts of several commits in one call, because one call a second is allowed. Accounts that come up
// while a call is under way wait for the next call.
type gathered struct {
	mu      sync.Mutex
	waiting []*decide.Item
	calling sync.Mutex
}

// delete deletes accounts. What became of each is in its Err.
func (g *gathered) delete(ctx context.Context, call func(context.Context, []string) []error, some []*decide.Item) {
	g.mu.Lock()
	g.waiting = append(g.waiting, some...)
	g.mu.Unlock()
	g.calling.Lock()
	defer g.calling.Unlock()
	g.mu.Lock()
	all := g.waiting
	g.waiting = nil
	g.mu.Unlock()
	if len(all) == 0 { // an earlier call took them along
		return
	}
	if err := guard.Call(func() error {
		for i, err := range call(ctx, uidsOf(all)) {
			all[i].Err = err
		}
		return nil
	}); err != nil {
		fail(all, err)
	}
}

// maxAccounts is the size of a batch of accounts of a plan: one call looks up that many.
const maxAccounts = 100

// deleteAccounts deletes accounts that are due by a rule, or that follow from documents. It saves for undo what it sees at a
// first look, with what follows, before a last look, so that nothing comes between that look and the deletion: Authentication has
// no conditions for deletions.
func (a *Applier) deleteAccounts(ctx context.Context, all []*decide.Item) {
	due, err := a.firstLook(ctx, all)
	if err != nil {
		fail(all, err)
	}
	if len(due) == 0 {
		return
	}
	var records []undo.Record
	places := map[string]int{} // of accounts: one that several items lead to belongs to the first
	for _, item := range due {
		if item.Seen != nil && places[item.UID] == 0 {
			account := undo.Account{UID: item.UID, Data: item.Seen.JSON()}
			records = append(records, item.Record(), undo.Record{Of: len(records) + 1, Account: &account})
			places[item.UID] = len(records)
		}
	}
	todo := a.todoAfter(due)
	entry, err := a.open(ctx, records, todo)
	if err != nil {
		fail(all, err)
		return
	}
	sent, err := a.lastLook(ctx, due)
	if len(sent) > 0 {
		a.gathered.delete(ctx, a.Accounts.Delete, sent)
		a.settleAccounts(ctx, sent)
	}
	for _, item := range sent {
		if !certainlyThere(item.Err) {
			delete(places, item.UID)
		}
	}
	a.stay(ctx, entry, slices.Sorted(maps.Values(places))) // last: nothing is to pass between the look and the deletion
	if err != nil {
		fail(all, err)
	}
	a.nameMissing(ctx, sent)
	if !todo.Empty() && a.doAfter(ctx, sent) {
		a.Log.Over(entry.Todo())
	}
}

func uidsOf(all []*decide.Item) []string {
	uids := make([]string, len(all))
	for i, item := range all {
		uids[i] = item.UID
	}
	return uids
}

// find looks up accounts, and notes what it sees of each.
func (a *Applier) find(ctx context.Context, all []*decide.Item) error {
	found, err := a.Accounts.Get(ctx, uidsOf(all))
	if err != nil {
		return err
	}
	byUID := map[string]*accounts.Account{}
	for i := range found {
		byUID[found[i].UID] = &found[i]
	}
	for _, item := range all {
		item.Seen = byUID[item.UID]
	}
	return nil
}

// keptMadeAgain is why an account is kept that is another than the one that a document led to.
const keptMadeAgain = "an account that was made again since"

// firstLook returns those of some accounts that are due by their attributes, or that are the ones that their documents led to.
// Without an undo log, nobody needs it of those that a rule judges. These count as changed unless they are sent.
func (a *Applier) firstLook(ctx context.Context, all []*decide.Item) (due []*decide.Item, err error) {
	rule := all[0].Account
	if rule == nil {
		if err := a.Time.CheckTime(); err != nil {
			return nil, err
		}
	} else if fail(all, documents.ErrChanged); !a.Saves {
		return all, nil
	}
	if err := a.find(ctx, all); err != nil {
		return nil, fmt.Errorf("look at accounts before their deletion: %w", err)
	}
	for _, item := range all {
		switch {
		case rule != nil && (item.Seen == nil || rule.Judge(*item.Seen, a.Run).Kind == ""):
		case rule == nil && madeAgain(item):
			a.KeepNamed(ctx, a.TargetOf(*item.Then), keptMadeAgain)
		default:
			due = append(due, item)
		}
	}
	return due, nil
}

// lastLook returns those of some accounts that are still due: which their rule judges so, and that are as they were in the plan
// that somebody approved; or whose document is still absent, unless a document of the application tells of them, which the commit
// has judged.
func (a *Applier) lastLook(ctx context.Context, all []*decide.Item) (due []*decide.Item, err error) {
	if all[0].Account != nil {
		return a.stillDue(ctx, all)
	}
	var followed []*decide.Item
	for _, item := range all {
		if item.Then.Recorded == nil {
			followed = append(followed, item)
		} else {
			due = append(due, item)
		}
	}
	still, err := a.StillAbsent(ctx, followed)
	if err != nil {
		return nil, err
	}
	return append(due, still...), nil
}

func (a *Applier) stillDue(ctx context.Context, all []*decide.Item) (due []*decide.Item, err error) {
	if err := a.find(ctx, all); err != nil {
		return nil, err
	}
	there := slices.DeleteFunc(slices.Clone(all), func(item *decide.Item) bool { return item.Seen == nil })
	found := make([]accounts.Account, len(there))
	for i, item := range there {
		found[i] = *item.Seen
	}
	decisions, _, err := a.Decider.Accounts(ctx, all[0].Account, found)
	for i, item := range there {
		if err == nil && decisions[i].Kind != "" && (a.Approved == nil || decide.AccountVersion(found[i]) == item.Version) {
			due = append(due, item)
		}
	}
	return due, err
}

// todoAfter returns the Todo by which a later run judges what follows accounts that are gone, if this one cannot.
func (a *Applier) todoAfter(all []*decide.Item) (todo runlog.Todo) {
	rule := all[0].Account
	if rule == nil || rule.Next == nil {
		return todo
	}
	changes := make([]cleanup.Change, len(all))
	for i, item := range all {
		changes[i].Next = rule.Next(item.UID)
	}
	return a.todoOf(nil, changes)
}

// doAfter does what follows accounts whose deletion was sent. It reports whether that is all there is to do.
func (a *Applier) doAfter(ctx context.Context, sent []*decide.Item) (whole bool) {
	next := make([][]*decide.Item, len(sent))
	for i, item := range sent {
		next[i] = itemsOf(item, item.Account.Next(item.UID))
	}
	whole = a.doNext(ctx, sent, next) == nil
	for _, item := range sent {
		var kept *decide.KeptError
		if errors.As(item.Err, &kept) { // which the planner could not see yet: the account is gone all the same
			a.KeepNamed(ctx, "what goes with "+report.AccountTarget(item.UID), kept.Reason)
			item.Err = nil
		}
		item.Begun = item.Begun || errors.Is(item.Err, cleanup.ErrOutOfTime)
		whole = whole && item.Err == nil
	}
	return whole
}

// settleAccounts logs which accounts are gone. It checks whether those whose deletion was sent and failed are gone nevertheless: the
// answer may have been lost. Of one that nobody has seen, that would tell nothing.
func (a *Applier) settleAccounts(ctx context.Context, sent []*decide.Item) {
	told := a.Writes(ctx)
	defer told.Log()
	for _, item := range sent {
		if item.Err == nil && accounts.ValidUID(item.UID) {
			told.Account(item.UID, false)
		}
	}
	doubtful := slices.DeleteFunc(slices.Clone(sent), func(item *decide.Item) bool {
		return item.Err == nil || item.Seen == nil || errors.Is(item.Err, cleanup.ErrOutOfTime)
	})
	if len(doubtful) == 0 {
		return
	}
	there, err := a.Accounts.Exist(ctx, uidsOf(doubtful))
	for _, item := range doubtful {
		switch {
		case err != nil:
			item.Err = errors.Join(item.Err, err)
		case there[item.UID]:
			continue
		default:
			item.Err = nil
		}
		told.Account(item.UID, true)
	}
}

// madeAgain reports whether an account is another than the one that its document led to.
func madeAgain(item *decide.Item) bool {
	if item.Seen == nil {
		return false
	}
	at := item.At
	if r := item.Then.Recorded; r != nil {
		at = cmp.Or(r.Since, at)
	}
	made, _ := item.Seen.CreatedAt()
	return made.After(at.Add(undo.ClocksApart))
}

// nameMissing counts and names the uids that no account had, where one was expected.
func (a *Applier) nameMissing(ctx context.Context, sent []*decide.Item) {
	named := 0
	for _, item := range sent {
		if item.Then == nil || item.Then.NoAccount == "" || item.Err != nil || item.Seen != nil {
			continue
		}
		reason, of := item.Then.NoAccount, item.Of.Target
		a.Keep(reason, 1)
		if named++; named <= tell.MaxNamed {
			a.Notice(ctx, of, cleanup.Notice{Message: of + ": " + reason, Fields: map[string]any{"reason": reason}})
		}
	}
}
