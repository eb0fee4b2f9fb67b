package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/tasks"
)

// maxFollowUps is how many follow-ups of one commit are under way at once.
const maxFollowUps = 8

// maxNotices is how many warnings about one item a commit logs.
const maxNotices = 20

// follow does the follow-ups of a commit, and says what is left to do of them. A follow-up that fails is its item's failure; where
// nothing but the commit's Todo remembers it, that stays for the next run, and the error says why.
func (a *Applier) follow(ctx context.Context, group []*work, c committed) error {
	var all []ongoing
	remembers := false
	for i, o := range c.outcomes {
		if !o.Written {
			continue
		}
		remembers = remembers || o.Change.Remember
		for _, f := range o.Change.Then {
			all = append(all, ongoing{FollowUp: f, of: group[i]})
		}
	}
	left := a.followUp(ctx, a.Approved.Before(c.at), all)
	for i, o := range c.outcomes {
		w := group[i]
		if !o.Written {
			continue
		}
		if left == nil && len(o.Change.Next) > 0 {
			left = a.children(ctx, w, works(o.Change.Next))
			w.err = cmp.Or(w.err, left)
		}
		if errors.Is(left, cleanup.ErrOutOfTime) {
			w.err = cmp.Or(w.err, cleanup.ErrOutOfTime)
		}
		for _, reason := range o.Change.Kept {
			a.Keep(reason, 1)
		}
		for _, n := range o.Change.Notices[:min(len(o.Change.Notices), maxNotices)] {
			a.Notice(ctx, w.Ref.Path(), n)
		}
		a.Tally(o.Change.Tally)
	}
	if left == nil && !remembers && c.todo != (documents.Ref{}) {
		a.Log.Over(c.todo)
	}
	return left
}

// ongoing is a follow-up that is being done.
type ongoing struct {
	cleanup.FollowUp
	of *work // whose failure its failure is
	// again says that it is asked once more, right before, whether the document that led here is still absent.
	again bool
	err   error
}

// followUp does the follow-ups of one commit, and commits the documents to write after them. An error says why what only a Todo
// remembers is left to do.
func (a *Applier) followUp(ctx context.Context, at time.Time, all []ongoing) error {
	var underWay errgroup.Group
	underWay.SetLimit(maxFollowUps)
	var accounts []int
	for i := range all {
		f := &all[i]
		if f.Account != "" {
			accounts = append(accounts, i)
			continue
		}
		underWay.Go(func() error {
			defer guard.Recover(&f.err)
			f.err = a.followOne(ctx, *f, at)
			return nil
		})
	}
	accounts = slices.DeleteFunc(accounts, func(i int) bool {
		if pinned := a.FollowsPinned(all[i].FollowUp); pinned != nil { // since the commit, which would have kept the item
			a.Keep(pinned.Reason, 1)
			all[i].err = pinned
		}
		return all[i].err != nil
	})
	a.deleteAccounts(ctx, all, accounts)
	_ = underWay.Wait() // each error is in its follow-up
	var writes []documents.Write
	var items []undo.Record // that these writes are of
	var left, held error
	for _, f := range all {
		if item := f.of.Ref.Path(); !collections.IsRecord(item) {
			items = append(items, undo.Record{Item: item, Action: f.of.Kind, Reason: f.of.reason})
		}
		switch {
		case isHeld(f.err): // it is left to do until Cloud Storage lets the object go, or somebody releases it
			held = f.err
			continue
		case f.err == nil && f.Recorded != nil:
			writes = append(writes, f.Recorded.Done...)
			continue
		case f.err == nil:
			continue
		case errors.Is(f.err, cleanup.ErrOutOfTime), ctx.Err() != nil:
			return cleanup.ErrOutOfTime
		case f.Recorded != nil && f.Recorded.Kept != "":
			f.of.err = cmp.Or(f.of.err, errLater)
			a.Keep(f.Recorded.Kept, 1)
			a.Notice(ctx, f.of.Ref.Path(), f.Recorded.Warn(f.err))
			writes = append(writes, f.Recorded.Failed...)
		case f.Recorded != nil:
			f.of.err = cmp.Or(f.of.err, f.err)
			writes = append(writes, f.Recorded.Failed...)
		default: // nothing but the Todo remembers it
			f.of.err = cmp.Or(f.of.err, f.err)
			left = cmp.Or(left, f.err)
		}
	}
	if left = cmp.Or(left, held); left != nil || len(writes) == 0 {
		return left
	}
	_, err := a.commitLogged(ctx, false, func(ctx context.Context, tx *documents.Transaction) (t attempt, err error) {
		t.writes = writes
		t.records, err = a.recordsOf(ctx, a.In(tx, 0), slices.Clone(items), writes, nil)
		return t, err
	})
	for _, f := range all {
		if err != nil {
			f.of.err = cmp.Or(f.of.err, err)
		}
	}
	return err
}

// followOne deletes an object or hands over a task.
func (a *Applier) followOne(ctx context.Context, f ongoing, at time.Time) error {
	if err := a.Time.CheckTime(); err != nil {
		return err
	}
	if f.Task != nil {
		return a.enqueue(ctx, *f.Task)
	}
	return a.deleteObject(ctx, f.Object, at)
}

// NowHeader is the now of the run that handed a worker's task over. Cloud Tasks ignores or replaces headers that Google uses
// itself, by a list that it calls partial, so Cloud Scheduler's own header might not arrive.
const NowHeader = "Firesweep-Now"

// enqueue hands over a task. The worker's now is this run's.
func (a *Applier) enqueue(ctx context.Context, t tasks.Task) error {
	t.Headers = map[string]string{NowHeader: a.Report.Now.Format(time.RFC3339Nano)}
	return a.Tasks.Enqueue(ctx, t)
}

// deleteAccounts deletes the accounts among some follow-ups in as few calls as possible.
func (a *Applier) deleteAccounts(ctx context.Context, all []ongoing, which []int) {
	if len(which) == 0 {
		return
	}
	uids, items := make([]string, len(which)), make([]undo.Record, len(which))
	for n, i := range which {
		uids[n] = all[i].Account
		items[n] = undo.Record{Item: all[i].of.Ref.Path(), Action: all[i].of.Kind, Reason: all[i].of.reason}
	}
	var results []error
	var found []accounts.Account
	var unknown error // which accounts there are
	err := a.Time.CheckTime()
	expected := slices.ContainsFunc(which, func(i int) bool { return all[i].NoAccount != "" })
	if err == nil && (a.Saves || expected) {
		found, unknown = a.Accounts.Get(ctx, uids)
	}
	if err == nil && a.Saves {
		if err = unknown; err == nil {
			err = a.saveAccounts(ctx, items, found)
		}
		if err != nil {
			err = fmt.Errorf("save accounts to the undo log: %w", err)
		}
	}
	if err == nil {
		which, err = a.stillDue(ctx, all, which)
	}
	if err == nil && len(which) > 0 {
		uids = uids[:0]
		for _, i := range which {
			uids = append(uids, all[i].Account)
		}
		func() {
			defer guard.Recover(&err)
			results = a.gathered.delete(ctx, a.Accounts.Delete, uids)
		}()
	}
	for n, i := range which {
		if all[i].err = err; err == nil {
			all[i].err = results[n]
		}
	}
	if unknown == nil {
		a.nameMissing(ctx, all, which, found)
	}
}

// nameMissing counts and names the uids that no account had, where one was expected.
func (a *Applier) nameMissing(ctx context.Context, all []ongoing, which []int, found []accounts.Account) {
	named := 0
	for _, i := range which {
		f := all[i]
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

// stillDue returns which accounts go, where that must be asked again: those whose document is still absent.
func (a *Applier) stillDue(ctx context.Context, all []ongoing, which []int) (still []int, err error) {
	if !all[which[0]].again {
		return which, nil
	}
	absent := make([]documents.Ref, len(which))
	for n, i := range which {
		absent[n] = all[i].Absent
	}
	back, err := a.Source().Get(ctx, absent)
	if err != nil {
		return which, err
	}
	for _, i := range which {
		if _, restored := back[all[i].Absent]; restored {
			a.KeepRestored(ctx, all[i].FollowUp)
		} else {
			still = append(still, i)
		}
	}
	return still, nil
}

// handOver hands over the tasks that go before an item's commit.
func (a *Applier) handOver(ctx context.Context, w *work, before []tasks.Task) error {
	for _, t := range before {
		if err := a.Time.CheckTime(); err != nil {
			return err
		}
		if w.Handed[decide.TaskKey(t)] {
			continue
		}
		if err := a.enqueue(ctx, t); err != nil {
			return err
		}
		if w.Handed == nil {
			w.Handed = map[string]bool{}
		}
		w.Handed[decide.TaskKey(t)] = true
	}
	return nil
}

// valid keeps a folder from being half of a name, or the whole bucket.
func valid(o cleanup.ObjectDeletion) bool {
	return o.Name != "" && (!o.Folder || strings.Trim(o.Name, "/") != "" && strings.HasSuffix(o.Name, "/"))
}

// deleteObject deletes an object, or the objects of a folder, if their present attributes allow it. at is when the document
// that led to them was deleted.
func (a *Applier) deleteObject(ctx context.Context, o cleanup.ObjectDeletion, at time.Time) error {
	if !valid(o) {
		return fmt.Errorf("%q is not the name of an object or a folder: this is a bug in the job", o.Name)
	}
	if !o.Folder {
		object, found, err := a.Objects.Get(ctx, o.Name)
		if err != nil || !found {
			return err
		}
		return a.deleteFound(ctx, object, o, at)
	}
	var failed error
	for page, err := range a.Objects.Pages(ctx, o.Name, objects.Names{}) {
		if err != nil {
			return err
		}
		for _, object := range page {
			if err := a.Time.CheckTime(); err != nil {
				return err
			}
			if err := a.deleteFound(ctx, object, o, at); err != nil && (failed == nil || isHeld(failed)) {
				failed = err
			}
		}
	}
	return failed
}

// isHeld reports whether something stays because Cloud Storage refuses to delete it, or because it is pinned.
func isHeld(err error) bool {
	var held *objects.HeldError
	var pinned *decide.KeptError
	return errors.As(err, &held) || errors.As(err, &pinned)
}

// skipObject counts and names an object that is kept.
func (a *Applier) skipObject(ctx context.Context, name, reason string) {
	a.Keep(reason, 1)
	a.Logger.InfoContext(ctx, "kept object "+name+": "+reason)
}

// maxLooks is how often an object is looked at that changes before it is deleted: somebody would have to change it again and
// again.
const maxLooks = 3

// deleteFound deletes an object if its attributes allow it and it is still as it was found. If it has changed, it looks again.
func (a *Applier) deleteFound(ctx context.Context, object objects.Object, o cleanup.ObjectDeletion, at time.Time) error {
	for range maxLooks {
		if reason := decide.KeepsObject(o, object, at); reason != "" {
			a.skipObject(ctx, object.Name, reason)
			return nil
		}
		if pinned := a.KeptBy(a.ObjectTarget(object.Name)); pinned != nil { // since the commit, which would have kept the item
			a.skipObject(ctx, object.Name, pinned.Reason)
			return pinned
		}
		err := a.Objects.Delete(ctx, objects.Deletion{
			Name: object.Name, Generation: object.Generation, Metageneration: object.Metageneration,
		})
		var held *objects.HeldError
		if errors.As(err, &held) {
			a.skipObject(ctx, object.Name, held.Reason)
		}
		if !errors.Is(err, documents.ErrChanged) {
			return err
		}
		latest, found, err := a.Objects.Get(ctx, object.Name)
		if err != nil || !found {
			return err
		}
		object = latest
	}
	return fmt.Errorf("delete object %s: it changed %d times meanwhile", object.Name, maxLooks)
}
