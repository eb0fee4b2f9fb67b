package apply

import (
	"cmp"
	"context"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
)

// maxNotices is how many warnings about one item a commit logs.
const maxNotices = 20

// follow does what follows a commit. What fails is its item's failure; where nothing but the commit's Todo remembers it, that
// stays for the next run.
func (a *Applier) follow(ctx context.Context, group []*decide.Item, c *attempt) {
	var written, then []*decide.Item
	var next [][]*decide.Item
	for i, o := range c.outcomes {
		item := group[i]
		if o.Place != decide.InCommit {
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
	if left := a.doRest(ctx, written, then, next); left.Kind == decide.Done && c.opened != (documents.Ref{}) {
		a.Log.Over(c.opened)
	}
}

// doRest does what follows from some items: what is outside of Firestore, and once that is done the documents of each. It
// returns why some of it is left, so that their Todo has to stay.
func (a *Applier) doRest(ctx context.Context, of, then []*decide.Item, next [][]*decide.Item) (left decide.Fate) {
	switch left = a.doThen(ctx, then); left.Kind {
	case decide.Done:
		return a.doNext(ctx, of, next)
	case decide.OutOfTime:
		end(ctx, of, cleanup.ErrOutOfTime)
	default: // of those to which it belongs, it is the fate already
	}
	return left
}

// doThen does what follows outside of Firestore, and commits the documents to write after that. It returns why something is left
// to do that documents of the application do not record.
func (a *Applier) doThen(ctx context.Context, all []*decide.Item) (left decide.Fate) {
	a.doAll(ctx, maxFollowUps, remaining(all))
	var then []part
	write := func(item *decide.Item, writes []documents.Write) {
		if len(writes) > 0 {
			then = append(then, part{item: item.Of, writes: writes})
		}
	}
	var kept decide.Fate
	for _, item := range all {
		f, recorded := item.Fate, cmp.Or(item.Then.Recorded, &cleanup.Recorded{})
		switch f.Kind {
		case decide.OutOfTime:
			return f
		case decide.Kept: // it is left to do until Cloud Storage lets the object go, or somebody takes it off the list
			kept = f
		case decide.Failed:
			if recorded.Kept != "" {
				a.Keep(recorded.Kept, 1)
				a.Notice(ctx, item.Of.Target, recorded.Notice(f.Err))
				f = decide.Fate{Kind: decide.Later}
			}
			item.Of.Ends(f)
			write(item, recorded.Failed)
			if item.Then.Recorded == nil { // nothing but the Todo remembers it
				left = cmp.Or(left, f)
			}
		case decide.Back:
			a.KeepNamed(ctx, a.TargetOf(*item.Then), f.Reason)
			write(item, recorded.Done)
		default:
			write(item, recorded.Done)
		}
	}
	if len(then) > 0 {
		_, err := a.send(ctx, false, func(_ context.Context, tx *documents.Transaction) (*attempt, error) {
			return &attempt{src: a.In(tx, 0), parts: then}, nil
		})
		f := decide.FateOf(ctx, err)
		for _, p := range then {
			p.item.Ends(f)
		}
		left = cmp.Or(left, f)
	}
	return cmp.Or(left, kept)
}

// NowHeader is the now of the run that handed a worker's task over. Cloud Tasks ignores or replaces headers that Google uses
// itself, by a list that it calls partial, so Cloud Scheduler's own header might not arrive.
const NowHeader = "Firesweep-Now"

// enqueue hands over a task, if there is time. The worker's now is this run's.
func (a *Applier) enqueue(ctx context.Context, one []*decide.Item) {
	f := one[0].Then
	if err := a.Time.CheckTime(); err != nil {
		end(ctx, one, err)
		return
	}
	t := *f.Task
	if f.Apart > 0 {
		t.NotBefore = a.Run.Started.Add(time.Duration(a.apart.Add(1)-1) * f.Apart)
	}
	t.Headers = map[string]string{NowHeader: a.Report.Now.Format(time.RFC3339Nano)}
	end(ctx, one, a.Tasks.Enqueue(ctx, t))
}
