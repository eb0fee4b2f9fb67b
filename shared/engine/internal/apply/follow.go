package apply

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/objects"
)

// maxNotices is how many warnings about one item a commit logs.
const maxNotices = 20

// follow does what follows a commit. What fails is its item's failure; where nothing but the commit's Todo remembers it, that stays
// for the next run.
func (a *Applier) follow(ctx context.Context, group []*decide.Item, c *commit) {
	var written, then []*decide.Item
	var next [][]*decide.Item
	for i, o := range c.outcomes {
		item := group[i]
		if !o.Written {
			continue
		}
		if item.Action == "" {
			item.Action, item.Reason = o.Decision.Kind, o.Decision.Reason
		}
		item.Again = o.Change.Again
		for n, notice := range o.Change.Notices {
			for reason, things := range notice.Kept {
				a.Keep(reason, things)
			}
			if n < maxNotices {
				a.Notice(ctx, item.Target, notice)
			}
		}
		for _, f := range o.Change.Then {
			then = append(then, &decide.Item{Then: &f, UID: f.Account, Of: item, At: c.at})
		}
		written, next = append(written, item), append(next, itemsOf(item, o.Change.Next))
	}
	if left := a.doRest(ctx, written, then, next); left == nil && c.opened != (documents.Ref{}) {
		a.Log.Over(c.opened)
	}
}

// doRest does what follows from some items: what is outside of Firestore, and once that is done the documents of each. An error says
// why some of it is left, so that their Todo has to stay.
func (a *Applier) doRest(ctx context.Context, of, then []*decide.Item, next [][]*decide.Item) (left error) {
	if left = a.doThen(ctx, then); left == nil {
		return a.doNext(ctx, of, next)
	}
	if errors.Is(left, cleanup.ErrOutOfTime) {
		for _, item := range of {
			item.Err = cmp.Or(item.Err, cleanup.ErrOutOfTime)
		}
	}
	return left
}

// doThen does what follows outside of Firestore, but for what the job keeps since the commit, which would have kept the item. It
// commits the documents to write after that. An error says why something is left to do that documents of the application do not
// record.
func (a *Applier) doThen(ctx context.Context, all []*decide.Item) (left error) {
	var due []*decide.Item
	for _, item := range all {
		if kept := a.Keeps(item); kept != nil {
			a.KeepNamed(ctx, a.TargetOf(*item.Then), kept.Reason)
			item.Err = kept
			continue
		}
		due = append(due, item)
	}
	a.doAll(ctx, maxFollowUps, due)
	var then commit
	var of []*decide.Item // whose writes these are
	write := func(item *decide.Item, writes []documents.Write) {
		of, then.writes = append(of, item.Of), append(then.writes, writes...)
		then.outcomes = append(then.outcomes, decide.Outcome{Written: true, Change: cleanup.Change{Writes: writes}})
	}
	var stays error
	for _, item := range all {
		recorded := item.Then.Recorded
		switch {
		case item.Err == nil && recorded != nil:
			write(item, recorded.Done)
		case item.Err == nil:
		case mustStay(item.Err): // it is left to do until Cloud Storage lets the object go, or somebody takes it off the list
			stays = item.Err
		case errors.Is(item.Err, cleanup.ErrOutOfTime), ctx.Err() != nil:
			return cleanup.ErrOutOfTime
		case recorded != nil && recorded.Kept != "":
			item.Of.Err = cmp.Or(item.Of.Err, errLater)
			a.Keep(recorded.Kept, 1)
			a.Notice(ctx, item.Of.Target, recorded.Warn(item.Err))
			write(item, recorded.Failed)
		case recorded != nil:
			item.Of.Err = cmp.Or(item.Of.Err, item.Err)
			write(item, recorded.Failed)
		default: // nothing but the Todo remembers it
			item.Of.Err = cmp.Or(item.Of.Err, item.Err)
			left = cmp.Or(left, item.Err)
		}
	}
	if len(then.writes) > 0 {
		_, err := a.send(ctx, false, of, func(_ context.Context, tx *documents.Transaction) (*decide.Source, *commit, error) {
			c := then
			return a.In(tx, 0), &c, nil
		})
		for _, item := range of {
			if err != nil {
				item.Err = cmp.Or(item.Err, err)
			}
		}
		left = cmp.Or(left, err)
	}
	return cmp.Or(left, stays)
}

// NowHeader is the now of the run that handed a worker's task over. Cloud Tasks ignores or replaces headers that Google uses
// itself, by a list that it calls partial, so Cloud Scheduler's own header might not arrive.
const NowHeader = "Firesweep-Now"

// enqueue hands over a task, if there is time. The worker's now is this run's.
func (a *Applier) enqueue(ctx context.Context, one []*decide.Item) {
	f := one[0].Then
	if one[0].Err = a.Time.CheckTime(); one[0].Err != nil {
		return
	}
	t := *f.Task
	if f.Apart > 0 {
		t.NotBefore = a.Run.Started.Add(time.Duration(a.apart.Add(1)-1) * f.Apart)
	}
	t.Headers = map[string]string{NowHeader: a.Report.Now.Format(time.RFC3339Nano)}
	one[0].Err = a.Tasks.Enqueue(ctx, t)
}

// mustStay reports whether something stays because Cloud Storage refuses to delete it, or because the job keeps it.
func mustStay(err error) bool {
	var held *objects.HeldError
	var kept *decide.KeptError
	return errors.As(err, &held) || errors.As(err, &kept)
}
