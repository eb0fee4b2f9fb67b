package declared

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/sweep"
)

// child is a document that goes along, and the collection that it has in an archive.
type child struct {
	documents.Document
	collection string
}

// sweepRule is what the engine does with the documents. A document goes in one commit with those that go along, so that nobody sees
// half of it; objects and its account follow. Of one with more of them than a commit takes, some go first.
func (c cleanup) sweepRule() sweep.Rule[item] {
	r := sweep.Rule[item]{Name: "document", Load: c.load, Judge: c.judge}
	if c.Plain() {
		return r
	}
	r.Gather, r.Change = c.gather, c.change
	return r
}

// gather reads what goes along, and looks for a free place in the archive.
func (c cleanup) gather(ctx context.Context, src sweep.Source, due []*item) error {
	for _, i := range due {
		i.whole = true
	}
	for _, a := range c.With {
		if a.Subcollection == "" && a.Collection == "" {
			continue
		}
		asked, parents := c.belonging(a, src), make([]string, len(due))
		for n, i := range due {
			if parents[n] = i.ID(); a.Subcollection != "" {
				parents[n] = i.Path
			}
		}
		found, err := src.Children(ctx, asked, parents)
		if err != nil {
			return err
		}
		for n, i := range due {
			of := found[parents[n]]
			for _, d := range of.Documents {
				i.children = append(i.children, child{Document: d, collection: asked.Collection[strings.LastIndexByte(asked.Collection, '/')+1:]})
			}
			i.whole = i.whole && of.Whole
		}
	}
	if c.Archive != "" {
		return c.findPlaces(ctx, src, due)
	}
	return nil
}

// belonging says which documents go along: those below a document, or those that name it.
func (c cleanup) belonging(a rule.Along, src sweep.Source) sweep.Children {
	if a.Subcollection != "" {
		return sweep.Children{Collection: a.Subcollection, Subcollection: true, Whole: c.Archive != ""}
	}
	return sweep.Children{
		Collection: a.Collection, Field: a.Field, Whole: c.Archive != "",
		Names: func(id string) []any {
			names := documents.NamesOf(id)
			if reference := src.Reference(documents.Ref{Collection: c.Collection, ID: id}); documents.Queryable(reference) {
				names = append(names, reference)
			}
			return names
		},
		NameOf: func(value any) (string, bool) {
			if ref, ok := documents.ReferenceOf(value); ok {
				return ref.ID, ref.Collection == c.Collection
			}
			return documents.IDOf(value)
		},
	}
}

// findPlaces gives each document a place in the archive: its own id or, where an earlier one of that id lies there, one with the time
// at which it was created. That is the same in each commit of the document, whichever run makes it.
func (c cleanup) findPlaces(ctx context.Context, src sweep.Source, due []*item) error {
	refs := make([]documents.Ref, len(due))
	for n, i := range due {
		refs[n] = documents.Ref{Collection: c.Archive, ID: i.ID()}
	}
	taken, err := src.Get(ctx, refs)
	if err != nil {
		return err
	}
	for n, i := range due {
		i.archive = refs[n]
		if _, there := taken[refs[n]]; there {
			i.archive.ID += i.CreateTime.UTC().Format("@" + time.RFC3339Nano)
		}
	}
	return nil
}

func (c cleanup) change(i item, d sweep.Decision, run sweep.Run) (change sweep.Change) {
	if !c.Deletes() {
		return sweep.Update(i.Ref(), c.fieldsToSet(run))
	}
	if !i.whole && !i.Alone {
		return sweep.Change{Again: d.Kind, Apart: true}
	}
	for _, of := range i.children {
		if c.Archive != "" {
			to := documents.Ref{Collection: i.archive.Path() + "/" + of.collection, ID: of.ID()}
			change.Writes = append(change.Writes, documents.Write{Op: documents.Set, Ref: to, Data: of.Data})
		}
		change.Writes = append(change.Writes, documents.Write{Op: documents.Delete, Ref: of.Ref()})
	}
	if !i.whole {
		change.Again = d.Kind
		return change
	}
	if c.Archive != "" {
		change.Writes = append(change.Writes, documents.Write{Op: documents.Create, Ref: i.archive, Data: i.Data})
	}
	change.Writes = append(change.Writes, documents.Write{Op: documents.Delete, Ref: i.Ref()})
	for _, a := range c.With {
		c.follow(&change, a, i, run)
	}
	return change
}

func (c cleanup) fieldsToSet(run sweep.Run) map[string]any {
	fields := make(map[string]any, len(c.Set))
	for field, value := range c.Set {
		if fields[field] = value; value == rule.Now {
			fields[field] = run.Now
		}
	}
	return fields
}

// follow adds what follows the commit: objects and the account.
func (c cleanup) follow(change *sweep.Change, a rule.Along, i item, run sweep.Run) {
	switch {
	case a.Account:
		change.Then = append(change.Then, sweep.FollowUp{Account: i.ID(), Absent: i.Ref()})
	case a.Folder != "":
		folder := strings.ReplaceAll(a.Folder, "{id}", i.ID())
		change.Then = append(change.Then, sweep.FollowUp{Object: sweep.ObjectDeletion{Name: folder, Folder: true}, Absent: i.Ref()})
	case a.Object != "":
		names, kept := objectsNamed(i.Document, a, run.Config)
		for _, name := range names {
			o := sweep.ObjectDeletion{Name: name}
			if a.Metadata != "" {
				o.OwnerKey, o.Owner = a.Metadata, i.ID()
			}
			change.Then = append(change.Then, sweep.FollowUp{Object: o, Absent: i.Ref()})
		}
		change.Kept = append(change.Kept, kept...)
		for _, reason := range kept { // a URL is what a user wrote, and in no log
			change.Notices = append(change.Notices, sweep.Notice{
				Message: fmt.Sprintf("%s: deleted, but not its object: %s", i.Path, reason), Fields: map[string]any{"reason": reason},
			})
		}
	}
}
