package apply

import (
	"cmp"
	"context"
	"errors"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// maxAccounts is the size of a batch of accounts of a plan, which one call deletes. There may be one such call a second.
const maxAccounts = 300

// deleteAccounts deletes accounts that are due by a rule, and does what follows them. Authentication has no conditions for
// deletions, so the rule judges each right before its deletion.
func (a *Applier) deleteAccounts(ctx context.Context, all []*decide.Item) {
	if a.Saves {
		if err := a.find(ctx, all); err != nil {
			end(ctx, all, err)
			return
		}
	}
	how := outside{look: a.judgeAccounts, send: a.sendAccounts}
	if all[0].Account.Next != nil {
		how.follows = a.todoAfter
	}
	if entry, deleted := a.deleteOutside(ctx, all, how); how.follows != nil && len(deleted) > 0 && a.doAfter(ctx, deleted) {
		a.Log.Over(entry.Todo())
	}
}

// todoAfter is by what a later run does what follows accounts that are deleted, if this one cannot.
func (a *Applier) todoAfter(deleted []*decide.Item) runlog.Todo {
	todo := runlog.Todo{Task: a.WorkersTask()}
	for _, item := range deleted {
		for _, one := range item.Account.Next(item.UID) {
			todo.Next = append(todo.Next, runlog.Item{Rule: one.Rule.Named(), Ref: one.Ref, UID: item.UID})
		}
	}
	return todo
}

// judgeAccounts judges accounts by their rule, as they are now. They must be as they were in the plan that somebody approved.
func (a *Applier) judgeAccounts(ctx context.Context, all []*decide.Item) {
	if err := a.find(ctx, all); err != nil {
		end(ctx, all, err)
		return
	}
	changed := decide.FateOf(ctx, documents.ErrChanged)
	for _, item := range all {
		if item.Seen == nil {
			item.Ends(changed)
		}
	}
	there := remaining(all)
	found := make([]accounts.Account, len(there))
	for i, item := range there {
		found[i] = *item.Seen
	}
	decisions, _, err := a.Decider.Accounts(ctx, all[0].Account, found)
	if err != nil {
		end(ctx, all, err)
		return
	}
	for i, item := range there {
		if decisions[i].Kind == "" || a.Approved != nil && decide.AccountVersion(found[i]) != item.Version {
			item.Ends(changed)
		}
	}
}

// deleteFollowingAccounts deletes accounts to which documents led.
func (a *Applier) deleteFollowingAccounts(ctx context.Context, all []*decide.Item) {
	err := a.Time.CheckTime()
	if err == nil {
		err = a.find(ctx, all)
	}
	if err != nil {
		end(ctx, all, err)
		return
	}
	for _, item := range all {
		switch {
		case madeAgain(item):
			item.Ends(decide.Fate{Kind: decide.Back, Reason: "an account that was made again since"})
		case item.Seen != nil && !a.mayDo(item):
			item.Ends(decide.FateOf(ctx, cleanup.ErrOutOfTime))
		}
	}
	look := func(ctx context.Context, all []*decide.Item) {
		if a.LookAgain(ctx, all); len(remaining(all)) > 0 {
			end(ctx, remaining(all), a.Heed(ctx, a.Documents.GetAll))
		}
	}
	a.deleteOutside(ctx, all, outside{look: look, send: a.sendAccounts})
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

// sendAccounts deletes accounts, logs which are gone, and checks whether those whose deletion failed are gone nevertheless: the
// answer may have been lost. Of one that nobody has seen, that would tell nothing.
func (a *Applier) sendAccounts(ctx context.Context, due []*decide.Item) {
	for i, err := range a.Accounts.Delete(ctx, uidsOf(due)) {
		due[i].Ends(decide.FateOf(ctx, err))
	}
	told := a.Writes(ctx)
	defer told.Log()
	var doubtful []*decide.Item
	for _, item := range due {
		switch {
		case item.Fate.Err != nil && item.Seen != nil:
			doubtful = append(doubtful, item)
		case item.Fate.Kind == decide.Done && accounts.ValidUID(item.UID):
			told.Account(item.UID, item.Wrote(report.AccountTarget(item.UID), true), false)
		}
	}
	if len(doubtful) == 0 {
		return
	}
	there, err := a.Accounts.Exist(ctx, uidsOf(doubtful))
	for _, item := range doubtful {
		switch {
		case err != nil:
			item.Fate.Err = errors.Join(item.Fate.Err, err)
		case there[item.UID]:
			item.There = true
			continue
		default:
			item.Fate = decide.Fate{}
		}
		told.Account(item.UID, item.Wrote(report.AccountTarget(item.UID), false), true)
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

// doAfter does what follows accounts that were deleted. It reports whether that is all there is to do.
func (a *Applier) doAfter(ctx context.Context, deleted []*decide.Item) (whole bool) {
	next := make([][]*decide.Item, len(deleted))
	for i, item := range deleted {
		next[i] = itemsOf(item, item.Account.Next(item.UID))
	}
	whole = a.doNext(ctx, deleted, next).Kind == decide.Done
	for _, item := range deleted {
		switch item.Fate.Kind {
		case decide.Kept: // which the planner could not see yet: the account is gone all the same
			a.KeepNamed(ctx, "what goes with "+report.AccountTarget(item.UID), item.Fate.Reason)
			item.Fate = decide.Fate{}
		case decide.OutOfTime:
			item.Begun = true
		default:
		}
		whole = whole && item.Fate.Kind == decide.Done
	}
	return whole
}
