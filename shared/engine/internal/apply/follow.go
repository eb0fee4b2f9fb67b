package apply

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/tasks"
)

// maxFollowUps is how many follow-ups of one commit are under way at once.
const maxFollowUps = 8

// maxNotices is how many warnings about one item a commit logs.
const maxNotices = 20

// follow does what follows a commit: follow-ups, then items. What fails is its item's failure; where nothing but the commit's Todo
// remembers it, that stays for the next run.
func (a *Applier) follow(ctx context.Context, group []*work, c committed) {
	var all []*ongoing
	for i, o := range c.outcomes {
		if !o.Written {
			continue
		}
		for _, f := range o.Change.Then {
			all = append(all, &ongoing{FollowUp: f, of: group[i]})
		}
	}
	left := a.followUp(ctx, c.at, all)
	for i, o := range c.outcomes {
		w := group[i]
		if !o.Written {
			continue
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
		a.Wrote(o.Change.Writes)
	}
	if left == nil {
		left = a.next(ctx, group, c)
	}
	if left == nil && c.todo != (documents.Ref{}) {
		a.Log.Over(c.todo)
	}
}

// ongoing is a follow-up that is being done.
type ongoing struct {
	cleanup.FollowUp
	of  *work // whose failure its failure is
	err error
}

// item returns the record of the item whose follow-up it is.
func (f *ongoing) item() undo.Record {
	return undo.Record{Item: f.of.Ref.Path(), Action: f.of.Kind, Reason: f.of.reason}
}

// do does follow-ups side by side. What became of each is in its err. at is when the documents that led to them were deleted.
func (a *Applier) do(ctx context.Context, at time.Time, all []*ongoing) {
	var accounts, named, folders []*ongoing
	var underWay errgroup.Group
	underWay.SetLimit(maxFollowUps)
	begin := func(some []*ongoing, f func() error) {
		underWay.Go(func() error {
			if err := guard.Call(f); err != nil {
				for _, one := range some {
					one.err = cmp.Or(one.err, err)
				}
			}
			return nil
		})
	}
	for _, f := range all {
		kept := a.FollowsKept(f.FollowUp)
		switch {
		case kept != nil: // since the commit, which would have kept the item
			a.Skip(ctx, decide.NameOf(f.FollowUp), kept.Reason)
			f.err = kept
		case f.Account != "":
			accounts = append(accounts, f)
		case f.Task != nil:
			begin([]*ongoing{f}, func() error { return a.enqueue(ctx, *f.Task) })
		case f.Object.Folder:
			folders = append(folders, f)
		default:
			named = append(named, f)
		}
	}
	if len(accounts) > 0 {
		begin(accounts, func() error { return a.deleteAccounts(ctx, accounts, at) })
	}
	objects := slices.AppendSeq(slices.Collect(slices.Chunk(named, MaxObjects)), slices.Chunk(folders, maxFolders))
	for _, some := range objects {
		begin(some, func() error { a.deleteFollowing(ctx, some, at); return nil })
	}
	_ = underWay.Wait() // each error is in its follow-up
}

// followUp does the follow-ups of one commit, and commits the documents to write after them. An error says why what only a Todo
// remembers is left to do.
func (a *Applier) followUp(ctx context.Context, at time.Time, all []*ongoing) error {
	a.do(ctx, at, all)
	var writes []documents.Write
	var items []recorded // that these writes are of
	writeOf := func(f *ongoing, some []documents.Write) {
		of := recorded{writes: some}
		if !collections.IsOwn(f.of.Ref.Collection) {
			of.item = f.item()
		}
		writes, items = append(writes, some...), append(items, of)
	}
	var left, stays error
	for _, f := range all {
		switch {
		case mustStay(f.err): // it is left to do until Cloud Storage lets the object go, or somebody takes it off the list
			stays = f.err
			continue
		case f.err == nil && f.Recorded != nil:
			writeOf(f, f.Recorded.Done)
			continue
		case f.err == nil:
			continue
		case errors.Is(f.err, cleanup.ErrOutOfTime), ctx.Err() != nil:
			return cleanup.ErrOutOfTime
		case f.Recorded != nil && f.Recorded.Kept != "":
			f.of.err = cmp.Or(f.of.err, errLater)
			a.Keep(f.Recorded.Kept, 1)
			a.Notice(ctx, f.of.Ref.Path(), f.Recorded.Warn(f.err))
			writeOf(f, f.Recorded.Failed)
		case f.Recorded != nil:
			f.of.err = cmp.Or(f.of.err, f.err)
			writeOf(f, f.Recorded.Failed)
		default: // nothing but the Todo remembers it
			f.of.err = cmp.Or(f.of.err, f.err)
			left = cmp.Or(left, f.err)
		}
	}
	if left = cmp.Or(left, stays); left != nil || len(writes) == 0 {
		return left
	}
	_, err := a.commitLogged(ctx, false, func(ctx context.Context, tx *documents.Transaction) (t attempt, err error) {
		t.writes = writes
		t.records, t.bytes, err = a.recordsOf(ctx, a.In(tx, 0), items)
		return t, err
	})
	for _, f := range all {
		if err != nil {
			f.of.err = cmp.Or(f.of.err, err)
		}
	}
	return err
}

// NowHeader is the now of the run that handed a worker's task over. Cloud Tasks ignores or replaces headers that Google uses
// itself, by a list that it calls partial, so Cloud Scheduler's own header might not arrive.
const NowHeader = "Firesweep-Now"

// enqueue hands over a task, if there is time. The worker's now is this run's.
func (a *Applier) enqueue(ctx context.Context, t tasks.Task) error {
	if err := a.Time.CheckTime(); err != nil {
		return err
	}
	t.Headers = map[string]string{NowHeader: a.Report.Now.Format(time.RFC3339Nano)}
	return a.Tasks.Enqueue(ctx, t)
}
