package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/inorder"
)

// Earlier are records in which a version of this program from before the journal kept what it had yet to do.
type Earlier struct {
	Collection string
	// ID returns the id of the one record that concerns a worker's task; nil for a job, which all concern.
	ID func(task map[string]string) string
	// Read returns what is left to do, or [ErrForeign].
	Read func(record documents.Document) (then []FollowUp, next []Item, err error)
}

// ErrForeign says that a record is not one that this program wrote.
var ErrForeign = errors.New("it is not one that this program wrote: look at it and delete it")

// left are records of what interrupted runs have left to do, as they are being read.
type left struct {
	pages *pages
	plan  func(documents.Document) error
}

// earlierPage is how many of those records are held at once: each may be as large as a document.
const earlierPage = 10

// proposeReplay proposes to do what a record holds. Items that it continues are not proposed again.
func (r *run) proposeReplay(ctx context.Context, p *Planner, d documents.Document, parse func(documents.Document) (entry, error)) error {
	if e, err := parse(d); err == nil { // else its action fails with that
		for _, item := range e.next {
			p.replayed[item.Ref] = true
		}
	}
	return p.Propose(ctx, Action{
		Kind: "finish interrupted action", Target: d.Path, Reason: "an earlier run was interrupted after a commit, before its follow-ups",
		Effect: replayed{ref: d.Ref(), parse: parse},
	})
}

// beginReplay begins to read what interrupted runs have left to do, all of it at once. A worker looks for its own task's alone,
// for others of its kind may be running.
func (r *run) beginReplay(ctx context.Context, p *Planner) (all []left) {
	if len(r.job.Rules) == 0 && r.job.Task == nil {
		return nil
	}
	all = append(all, left{
		pages: beginPages(ctx, p, documents.Query{
			Collection: journalOf(r.job.Name), Where: []documents.Filter{{Field: "task", Op: "==", Value: r.taskID()}},
			Select: []string{"open", "next", "shard"},
		}),
		plan: func(d documents.Document) error { return r.planEntry(ctx, p, d) },
	})
	if r.shard() > 0 {
		return all
	}
	for _, e := range r.job.Earlier {
		records := left{plan: func(d documents.Document) error {
			return r.proposeReplay(ctx, p, d, func(d documents.Document) (entry, error) {
				then, next, err := e.Read(d)
				return entry{then: then, next: next}, err
			})
		}}
		if e.ID == nil {
			records.pages = beginPages(ctx, p, documents.Query{Collection: e.Collection, PageSize: earlierPage})
		} else {
			records.pages = beginOne(ctx, p, e.Collection+"/"+e.ID(r.task))
		}
		all = append(all, records)
	}
	return all
}

// planReplay proposes what interrupted runs have left to do, before anything else.
func planReplay(all []left) error {
	for _, records := range all {
		err := records.pages.Each(func(page documents.Page, _ struct{}) error {
			for _, d := range page.Documents {
				if err := records.plan(d); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// stopReplay ends what of it is still being read.
func stopReplay(all []left) {
	for _, records := range all {
		records.pages.Stop()
	}
}

// planEntry proposes what an entry of the journal holds, if it is the run's to do.
func (r *run) planEntry(ctx context.Context, p *Planner, d documents.Document) error {
	if !r.concerns(d) {
		return nil
	}
	if d.Data["open"] == false {
		r.journal.finished(d.Ref())
		return nil
	}
	return r.proposeReplay(ctx, p, d, func(d documents.Document) (entry, error) { return parseEntry(d, r.job.rules()) })
}

// pages are those of a query, the first of which is being read.
type pages = inorder.Flow[documents.Page, struct{}]

func beginPages(ctx context.Context, p *Planner, q documents.Query) *pages {
	return inorder.Begin(ctx, 1,
		func(ctx context.Context) iter.Seq2[documents.Page, error] { return p.Documents.Pages(ctx, q, "") },
		func(context.Context, documents.Page) (none struct{}, err error) { return none, nil })
}

// beginOne begins to read one document, as a page of its own.
func beginOne(ctx context.Context, p *Planner, path string) *pages {
	return inorder.Begin(ctx, 1,
		func(ctx context.Context) iter.Seq2[documents.Page, error] {
			return func(yield func(documents.Page, error) bool) {
				if d, found, err := p.Documents.Get(ctx, path); found || err != nil {
					yield(documents.Page{Documents: []documents.Document{d}}, err)
				}
			}
		},
		func(context.Context, documents.Page) (none struct{}, err error) { return none, nil })
}

// concerns reports whether an entry is the run's to replay. Those of other shards may be of runs that are under way. Where the job was
// in more shards once, each takes those of some.
func (r *run) concerns(entry documents.Document) bool {
	if r.part == nil {
		return true
	}
	shard, _ := entry.Data["shard"].(int64)
	return int(shard)%r.part.Shards == r.part.Number
}

// replayed does what an earlier run has left to do.
type replayed struct {
	ref   documents.Ref
	parse func(documents.Document) (entry, error)
}

// replay does what an entry of an earlier run holds, and forgets the entry.
func (r *run) replay(ctx context.Context, left replayed) error {
	ref := left.ref
	d, found, err := r.documents.Get(ctx, ref.Path())
	if err != nil {
		return err
	}
	if !found {
		return ErrChanged
	}
	e, err := left.parse(d)
	if errors.Is(err, ErrForeign) {
		err = fmt.Errorf("%s: %w", ref.Path(), err)
	}
	if err != nil {
		return err
	}
	var absent []documents.Ref
	for _, f := range e.then {
		if f.Absent != (documents.Ref{}) && !slices.Contains(absent, f.Absent) {
			absent = append(absent, f.Absent)
		}
	}
	back, err := r.readerSource().Get(ctx, absent)
	if err != nil {
		return err
	}
	self := &work{Item: Item{Ref: ref}}
	var all []pending
	for _, f := range e.then {
		if _, restored := back[f.Absent]; restored {
			reason := keptRestored
			if f.Object != (ObjectDeletion{}) {
				reason = keptFileRestored
			}
			r.keep(reason)
			r.log.InfoContext(ctx, "kept "+f.name()+": "+reason)
			continue
		}
		all = append(all, pending{FollowUp: f, of: self})
	}
	ended, err := r.followUp(ctx, ref, d.UpdateTime, all, len(e.next) > 0)
	err = cmp.Or(err, self.err)
	if err == nil || isHeld(err) {
		next := works(e.next)
		if len(next) == 1 && next[0].Rule.group() == 1 && err == nil {
			next[0].entry = ref // its next commit takes over
		}
		err = cmp.Or(r.children(ctx, self, next), err)
	}
	switch {
	case err == nil && ended:
	case err == nil:
		r.journal.finished(ref)
	case isHeld(err): // which is counted, and no failure
		return errLater
	}
	return err
}

// keptRestored is why a follow-up is left out.
const keptRestored = "its document was restored since"
