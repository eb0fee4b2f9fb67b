package decide

import (
	"context"
	"errors"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// Preview judges an item as its commit would, beside others that are due, and adds to it what that would do. It reads no more
// than a commit, and writes nothing.
func (d *Decider) Preview(ctx context.Context, item *Item, due func(documents.Ref) bool) error {
	src := d.untransacted()
	src.due = due
	_, err := d.preview(ctx, src, item)
	return err
}

// preview is [Decider.Preview] of an item with what was read before. It reports whether the commit would do anything.
func (d *Decider) preview(ctx context.Context, src *Source, item *Item) (does bool, err error) {
	outcomes, err := d.Decide(ctx, src, []*Item{item})
	if errors.Is(err, documents.ErrTooMuch) {
		item.More = true
		return false, nil
	}
	if err != nil {
		return false, err
	}
	switch o := outcomes[0]; o.Fate.Kind {
	case Done:
		item.previewed(o.Change)
		return true, nil
	case Kept, Invalid:
		item.Kept = o.Fate.Because
	default: // it was changed since it was found, or the run fails with it
	}
	return false, nil
}

// PreviewNext adds to the item of an account what is deleted once the account is: documents, and what is deleted with them.
func (d *Decider) PreviewNext(ctx context.Context, account *Item, next []cleanup.Item) error {
	src := d.untransacted()
	src.deleted = account.UID
	for _, n := range next {
		item := NewItem(account, n)
		does, err := d.preview(ctx, src, item)
		if err != nil {
			return err
		}
		if does && !item.Gone {
			account.has("delete "+report.KindOf(item.Target), 1)
		}
		for what, times := range item.With {
			account.has(what, times)
		}
		account.More = account.More || item.More
	}
	return nil
}

// previewed counts what a change of the item does to other things.
func (i *Item) previewed(c cleanup.Change) {
	i.More = len(c.Next) > 0 || c.Again
	written, deleted := map[documents.Ref]bool{i.Ref: true}, map[documents.Ref]bool{}
	note := func(all []documents.Write) {
		for _, w := range all {
			switch {
			case w.Op != documents.Delete:
				written[w.Ref] = true
			case written[w.Ref]: // the item, or what was but a note in case a follow-up fails
				delete(written, w.Ref)
			default:
				deleted[w.Ref] = true
			}
		}
	}
	note(c.Writes)
	for _, f := range c.Then {
		i.follows(f)
		if f.Recorded != nil {
			note(f.Recorded.Done)
		}
	}
	for _, notice := range c.Notices {
		for reason, times := range notice.Kept {
			i.has("keep "+reason, times)
		}
	}
	delete(written, i.Ref)
	for ref := range written {
		i.has("write "+report.KindOf(ref.Path()), 1)
	}
	for ref := range deleted {
		i.has("delete "+report.KindOf(ref.Path()), 1)
	}
}

// follows counts a follow-up in a preview.
func (i *Item) follows(f cleanup.FollowUp) {
	switch {
	case f.Task != nil:
		i.has("queue task", 1)
	case f.Account != "":
		i.has("delete account", 1)
	case f.Object.Folder:
		i.has("delete folder of files", 1)
	default:
		i.has("delete file", 1)
	}
}

// has counts things that a preview shows besides the target.
func (i *Item) has(what string, times int) {
	if i.With == nil {
		i.With = map[string]int{}
	}
	i.With[what] += times
}

// PreviewTodo adds to an item what a run would do of what an earlier one left to do.
func (d *Decider) PreviewTodo(ctx context.Context, item *Item, then, next []*Item) error {
	item.More = len(next) > 0
	d.JudgeAgain(ctx, then)
	for _, i := range then {
		kept := d.Keeps(i)
		switch {
		case i.Fate.Kind == Back:
			d.KeepNamed(ctx, d.TargetOf(*i.Then), i.Fate.Reason)
		case i.Fate.Kind == OutOfTime:
			item.More = true
		case i.Fate.Kind != Done:
			return i.Fate.Err
		case kept.Kind == Kept:
			item.Kept = kept.Because
		default:
			item.follows(*i.Then)
		}
	}
	return nil
}

// maxWhole is how many whole documents, of up to 1 MiB each, one request for a preview asks for.
const maxWhole = 30

// untransacted returns what rules read from as in a commit, though in no transaction.
func (d *Decider) untransacted() *Source {
	s := d.Source()
	s.room = new(cleanup.MaxRoom)
	s.first = func(ctx context.Context, q documents.Query, from documents.Cursor, limit int) ([]documents.Document, error) {
		most := limit
		if q.Select == nil {
			most = min(limit, maxWhole)
		}
		found, err := d.Documents.First(ctx, q, from, most)
		if err == nil && len(found) == most && most < limit {
			err = documents.ErrTooMuch
		}
		return found, err
	}
	return s
}
