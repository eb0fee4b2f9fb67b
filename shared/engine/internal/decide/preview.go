package decide

import (
	"context"
	"errors"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/docsize"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// Preview is what the first commit of an action does besides to its target, with what follows that at once.
type Preview struct {
	With map[string]int // how many things, by what is done to what: see [report.Planned]
	More bool           // more follows, or it was not worked out
	Kept string         // why the target, or some of this, is kept all the same
}

// count counts one thing more.
func (p *Preview) count(verb, kind string) {
	if p.With == nil {
		p.With = map[string]int{}
	}
	p.With[verb+" "+kind]++
}

// Preview judges an item as its commit would, and returns what that would be. It reads no more than a commit, and writes nothing.
func (d *Decider) Preview(ctx context.Context, item *Item) (Preview, error) {
	outcomes, err := d.Decide(ctx, d.untransacted(), []*Item{item})
	switch {
	case errors.Is(err, documents.ErrTooMuch):
		return Preview{More: true}, nil
	case err != nil:
		return Preview{}, err
	}
	o, kept := outcomes[0], new(KeptError)
	switch {
	case o.Err == nil:
		return previewOf(item.Ref, o.Change), nil
	case errors.As(o.Err, &kept), o.Change.Invalid != "":
		return Preview{Kept: o.Err.Error()}, nil
	}
	return Preview{}, nil // it was changed since it was found, or the run fails with it
}

// previewOf counts what a change of an item does to other things.
func previewOf(item documents.Ref, c cleanup.Change) Preview {
	p := Preview{More: len(c.Next) > 0 || c.Again}
	written, deleted := map[documents.Ref]bool{item: true}, map[documents.Ref]bool{}
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
		p.follow(f)
		if f.Recorded != nil {
			note(f.Recorded.Done)
		}
	}
	delete(written, item)
	for ref := range written {
		p.count("write", report.KindOf(ref.Path()))
	}
	for ref := range deleted {
		p.count("delete", report.KindOf(ref.Path()))
	}
	return p
}

// follow counts a follow-up.
func (p *Preview) follow(f cleanup.FollowUp) {
	switch {
	case f.Task != nil:
		p.count("queue", "task")
	case f.Account != "":
		p.count("delete", "account")
	case f.Object.Folder:
		p.count("delete", "folder of files")
	default:
		p.count("delete", "file")
	}
}

// PreviewTodo returns what a run would do of what an earlier one left to do.
func (d *Decider) PreviewTodo(ctx context.Context, then, next []*Item) (Preview, error) {
	p := Preview{More: len(next) > 0}
	then, err := d.StillAbsent(ctx, then)
	for _, i := range then {
		if kept := d.FollowsKept(*i.Then); kept != nil {
			p.Kept = kept.Error()
			continue
		}
		p.follow(*i.Then)
	}
	return p, err
}

// wholeAtOnce is how many whole documents, of up to 1 MiB each, one request for a preview asks for.
const wholeAtOnce = 10

// untransacted returns what rules read from as in a commit, though in no transaction.
func (d *Decider) untransacted() *Source {
	s := d.Source()
	s.left = new(cleanup.MaxRoom)
	s.first = d.few
	return s
}

// few reads the first documents that a query finds, and no more bytes of them than a commit would.
func (d *Decider) few(ctx context.Context, q documents.Query, from documents.Cursor, limit int) ([]documents.Document, error) {
	if q.Select != nil {
		return d.Documents.First(ctx, q, from, limit)
	}
	if len(q.OrderBy) > 0 { // where no cursor may stand
		found, err := d.Documents.First(ctx, q, from, min(limit, wholeAtOnce))
		if err == nil && len(found) == wholeAtOnce && limit > wholeAtOnce {
			err = documents.ErrTooMuch
		}
		return found, err
	}
	var all []documents.Document
	size := 0
	q.PageSize = min(limit, wholeAtOnce)
	for page, err := range d.Documents.Pages(ctx, q, from) {
		if err != nil {
			return nil, err
		}
		for _, doc := range page.Documents {
			if size += docsize.Of(doc.Path, doc.Data); size > maxReadBytes && len(all) > 0 {
				return all, documents.ErrTooMuch
			}
			if all = append(all, doc); len(all) == limit {
				return all, nil
			}
		}
	}
	return all, nil
}
