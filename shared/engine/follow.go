package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
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
func (r *run) follow(ctx context.Context, group []*work, c committed) error {
	var all []ongoing
	remembers := false
	for i, o := range c.outcomes {
		if !o.written {
			continue
		}
		remembers = remembers || o.change.Remember
		for _, f := range o.change.Then {
			all = append(all, ongoing{FollowUp: f, of: group[i]})
		}
	}
	left := r.followUp(ctx, c.at, all)
	for i, o := range c.outcomes {
		w := group[i]
		if !o.written {
			continue
		}
		if left == nil && len(o.change.Next) > 0 {
			left = r.children(ctx, w, works(o.change.Next))
			w.err = cmp.Or(w.err, left)
		}
		if errors.Is(left, ErrOutOfTime) {
			w.err = cmp.Or(w.err, ErrOutOfTime)
		}
		for _, reason := range o.change.Kept {
			r.keep(reason)
		}
		for _, n := range o.change.Notices[:min(len(o.change.Notices), maxNotices)] {
			r.notice(ctx, w.Ref.Path(), n)
		}
		r.tally(o.change.Tally)
	}
	if left == nil && !remembers && c.todo != (documents.Ref{}) {
		r.runlog.Over(c.todo)
	}
	return left
}

// tally adds to the run's figures.
func (r *run) tally(figures map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, n := range figures {
		r.figures[name] += n
	}
}

// ongoing is a follow-up that is being done.
type ongoing struct {
	FollowUp
	of *work // whose failure its failure is
	// again says that it is asked once more, right before, whether the document that led here is still absent.
	again bool
	err   error
}

// followUp does the follow-ups of one commit, and commits the documents to write after them. An error says why what only a Todo
// remembers is left to do.
func (r *run) followUp(ctx context.Context, at time.Time, all []ongoing) error {
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
			f.err = r.followOne(ctx, *f, at)
			return nil
		})
	}
	accounts = slices.DeleteFunc(accounts, func(i int) bool {
		if pinned := r.followsPinned(all[i].FollowUp); pinned != nil { // since the commit, which would have kept the item
			r.keep(pinned.reason)
			all[i].err = pinned
		}
		return all[i].err != nil
	})
	r.deleteAccounts(ctx, all, accounts)
	_ = underWay.Wait() // each error is in its follow-up
	var writes []documents.Write
	var items []undo.Record // that these writes are of
	var left, held error
	for _, f := range all {
		if item := f.of.Ref.Path(); !collections.IsRecord(item) {
			items = append(items, undo.Record{Item: item, Action: f.of.kind, Reason: f.of.reason})
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
		case errors.Is(f.err, ErrOutOfTime), ctx.Err() != nil:
			return ErrOutOfTime
		case f.Recorded != nil && f.Recorded.Kept != "":
			f.of.err = cmp.Or(f.of.err, errLater)
			r.keep(f.Recorded.Kept)
			r.notice(ctx, f.of.Ref.Path(), f.Recorded.Warn(f.err))
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
	_, err := r.commitLogged(ctx, false, func(ctx context.Context, tx *documents.Transaction) (a attempt, err error) {
		a.writes = writes
		a.records, err = r.recordsOf(ctx, r.transactionSource(tx, 0), slices.Clone(items), writes, nil)
		return a, err
	})
	for _, f := range all {
		if err != nil {
			f.of.err = cmp.Or(f.of.err, err)
		}
	}
	return err
}

// notice logs a warning about one item.
func (r *run) notice(ctx context.Context, target string, n Notice) {
	attributes := []any{slog.String("target", target)}
	for _, name := range slices.Sorted(maps.Keys(n.Fields)) {
		attributes = append(attributes, slog.Any(name, n.Fields[name]))
	}
	level := slog.LevelWarn
	if n.Error {
		level = slog.LevelError
	}
	r.log.Log(ctx, level, n.Message, attributes...)
}

// name returns the target of a follow-up.
func (f FollowUp) name() string {
	switch {
	case f.Task != nil:
		return "task " + taskKey(*f.Task)
	case f.Account != "":
		return accountTarget(f.Account)
	default:
		return "object " + f.Object.Name
	}
}

func taskKey(t tasks.Task) string { return strings.Join(t.Key, "/") }

// followOne deletes an object or hands over a task.
func (r *run) followOne(ctx context.Context, f ongoing, at time.Time) error {
	if err := r.checkTime(); err != nil {
		return err
	}
	if f.Task != nil {
		return r.enqueue(ctx, *f.Task)
	}
	return r.deleteObject(ctx, f.Object, at)
}

// enqueue hands over a task. The worker's now is this run's.
func (r *run) enqueue(ctx context.Context, t tasks.Task) error {
	t.Headers = map[string]string{nowHeader: r.report.Now.Format(time.RFC3339Nano)}
	return r.tasks.Enqueue(ctx, t)
}

// deleteAccounts deletes the accounts among some follow-ups in as few calls as possible.
func (r *run) deleteAccounts(ctx context.Context, all []ongoing, which []int) {
	if len(which) == 0 {
		return
	}
	uids, items := make([]string, len(which)), make([]undo.Record, len(which))
	for n, i := range which {
		uids[n] = all[i].Account
		items[n] = undo.Record{Item: all[i].of.Ref.Path(), Action: all[i].of.kind, Reason: all[i].of.reason}
	}
	var results []error
	var found []accounts.Account
	var unknown error // which accounts there are
	err := r.checkTime()
	expected := slices.ContainsFunc(which, func(i int) bool { return all[i].NoAccount != "" })
	if err == nil && (r.savesForUndo() || expected) {
		found, unknown = r.accounts.Get(ctx, uids)
	}
	if err == nil && r.savesForUndo() {
		if err = unknown; err == nil {
			err = r.saveAccounts(ctx, items, found)
		}
		if err != nil {
			err = fmt.Errorf("save accounts to the undo log: %w", err)
		}
	}
	if err == nil {
		which, err = r.stillDue(ctx, all, which)
	}
	if err == nil && len(which) > 0 {
		uids = uids[:0]
		for _, i := range which {
			uids = append(uids, all[i].Account)
		}
		func() {
			defer guard.Recover(&err)
			results = r.gathered.delete(ctx, r.accounts.Delete, uids)
		}()
	}
	for n, i := range which {
		if all[i].err = err; err == nil {
			all[i].err = results[n]
		}
	}
	if unknown == nil {
		r.nameMissing(ctx, all, which, found)
	}
}

// nameMissing counts and names the uids that no account had, where one was expected.
func (r *run) nameMissing(ctx context.Context, all []ongoing, which []int, found []accounts.Account) {
	named := 0
	for _, i := range which {
		f := all[i]
		has := func(a accounts.Account) bool { return a.UID == f.Account }
		if f.NoAccount == "" || f.err != nil || slices.ContainsFunc(found, has) {
			continue
		}
		r.keep(f.NoAccount)
		if named++; named <= maxInvalidLogged {
			item := f.of.Ref.Path()
			r.notice(ctx, item, Notice{Message: item + ": " + f.NoAccount, Fields: map[string]any{"reason": f.NoAccount}})
		}
	}
}

// stillDue returns which accounts go, where that must be asked again: those whose document is still absent.
func (r *run) stillDue(ctx context.Context, all []ongoing, which []int) (still []int, err error) {
	if !all[which[0]].again {
		return which, nil
	}
	absent := make([]documents.Ref, len(which))
	for n, i := range which {
		absent[n] = all[i].Absent
	}
	back, err := r.readerSource().Get(ctx, absent)
	if err != nil {
		return which, err
	}
	for _, i := range which {
		if _, restored := back[all[i].Absent]; restored {
			r.keepRestored(ctx, all[i].FollowUp)
		} else {
			still = append(still, i)
		}
	}
	return still, nil
}

// handOver hands over the tasks that go before an item's commit.
func (r *run) handOver(ctx context.Context, w *work, before []tasks.Task) error {
	for _, t := range before {
		if err := r.checkTime(); err != nil {
			return err
		}
		if w.handed[taskKey(t)] {
			continue
		}
		if err := r.enqueue(ctx, t); err != nil {
			return err
		}
		if w.handed == nil {
			w.handed = map[string]bool{}
		}
		w.handed[taskKey(t)] = true
	}
	return nil
}

// Reasons to keep an object that a deleted document led to.
const (
	keptUploadedAnew = "a file that was uploaded again since"
	keptFileRestored = "a file whose document was restored since"
)

// valid keeps a folder from being half of a name, or the whole bucket.
func (o ObjectDeletion) valid() bool {
	return o.Name != "" && (!o.Folder || strings.Trim(o.Name, "/") != "" && strings.HasSuffix(o.Name, "/"))
}

// deleteObject deletes an object, or the objects of a folder, if their present attributes allow it. at is when the document
// that led to them was deleted.
func (r *run) deleteObject(ctx context.Context, o ObjectDeletion, at time.Time) error {
	if !o.valid() {
		return fmt.Errorf("%q is not the name of an object or a folder: this is a bug in the job", o.Name)
	}
	if !o.Folder {
		object, found, err := r.objects.Get(ctx, o.Name)
		if err != nil || !found {
			return err
		}
		return r.deleteFound(ctx, object, o, at)
	}
	var failed error
	for page, err := range r.objects.Pages(ctx, o.Name, objects.Names{}) {
		if err != nil {
			return err
		}
		for _, object := range page {
			if err := r.checkTime(); err != nil {
				return err
			}
			if err := r.deleteFound(ctx, object, o, at); err != nil && (failed == nil || isHeld(failed)) {
				failed = err
			}
		}
	}
	return failed
}

// isHeld reports whether something stays because Cloud Storage refuses to delete it, or because it is pinned.
func isHeld(err error) bool {
	var held *objects.HeldError
	var pinned *pinnedError
	return errors.As(err, &held) || errors.As(err, &pinned)
}

// keepObject counts and names an object that is kept.
func (r *run) keepObject(ctx context.Context, name, reason string) {
	r.keep(reason)
	r.log.InfoContext(ctx, "kept object "+name+": "+reason)
}

// maxLooks is how often an object is looked at that changes before it is deleted: somebody would have to change it again and
// again.
const maxLooks = 3

// deleteFound deletes an object if its attributes allow it and it is still as it was found. If it has changed, it looks again.
func (r *run) deleteFound(ctx context.Context, object objects.Object, o ObjectDeletion, at time.Time) error {
	for range maxLooks {
		if reason := o.keep(object, at); reason != "" {
			r.keepObject(ctx, object.Name, reason)
			return nil
		}
		if pinned := r.keptBy(r.objectTarget(object.Name)); pinned != nil { // since the commit, which would have kept the item
			r.keepObject(ctx, object.Name, pinned.reason)
			return pinned
		}
		err := r.objects.Delete(ctx, objects.Deletion{
			Name: object.Name, Generation: object.Generation, Metageneration: object.Metageneration,
		})
		var held *objects.HeldError
		if errors.As(err, &held) {
			r.keepObject(ctx, object.Name, held.Reason)
		}
		if !errors.Is(err, ErrChanged) {
			return err
		}
		latest, found, err := r.objects.Get(ctx, object.Name)
		if err != nil || !found {
			return err
		}
		object = latest
	}
	return fmt.Errorf("delete object %s: it changed %d times meanwhile", object.Name, maxLooks)
}

// keep returns why an object is kept, "" if it is not.
func (o ObjectDeletion) keep(object objects.Object, at time.Time) string {
	owner, named := object.Metadata[o.OwnerKey]
	switch {
	case o.OwnerKey != "" && named && owner != o.Owner:
		return "a file that belongs to another " + strings.TrimSuffix(o.OwnerKey, "Id")
	case o.Marked && !named:
		return "a file without " + o.OwnerKey + " outside the folder of its document's author"
	case object.Created.After(at):
		return keptUploadedAnew
	default:
		return ""
	}
}
