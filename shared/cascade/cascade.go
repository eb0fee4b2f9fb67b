// Package cascade deletes documents together with what belongs to them: for declared rules (shared/declared) and for posts of
// the Firebase application (functions/posts).
//
// cascade.go says what a commit does, objects.go which objects a field names.
package cascade

import (
	"cmp"
	"context"
	"path"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule"
)

// With says what is deleted along with documents of a collection.
type With struct {
	Collection string
	What       []rule.Along
	Archive    string // a collection for copies: of the documents, and below them of those that go along; empty: none
	// Strict says that the application writes ids as strings and objects as URLs. Then numbers, references and objects' names
	// do not count.
	Strict bool
	// Home, if set, is the folder of a document's author, or "". Of the objects that the document names, those elsewhere are kept
	// if their metadata does not name it.
	Home func(documents.Document) string
}

// reach returns what a rule can do of whose items these are what goes along.
func (w With) reach(items string) cleanup.Reach {
	r := cleanup.Reach{Items: items, Deletes: []string{items}}
	if w.Archive != "" {
		r.Writes = []string{w.Archive}
	}
	for _, a := range w.What {
		switch {
		case a.Account:
			r.Account = true
		case a.Folder != "":
			r.Objects = append(r.Objects, cleanup.Files{Folder: a.Folder, Whole: true})
		case a.Object != "":
			r.Objects = append(r.Objects, cleanup.Files{Folder: a.Under, Owner: a.Metadata})
		default:
			along := a.Collection
			if a.Subcollection != "" {
				along = items + "/*/" + a.Subcollection
			}
			r.Deletes = append(r.Deletes, along)
			if w.Archive != "" {
				r.Writes = append(r.Writes, w.Archive+"/*/"+path.Base(along))
			}
		}
	}
	return r
}

// Rule returns a rule that deletes a document, and what goes along with it, if judging says so. judging has no Change; its
// items are those of its Reach, or of the collection. One commit deletes the document with the documents that go along, so
// that nobody sees a half. Objects and the account follow. If one commit cannot take all documents that go along, earlier
// commits delete some of them first, and each judges the document again.
func Rule[S any](judging cleanup.Rule[S], with With) cleanup.AnyRule {
	return cleanup.Rule[state[S]]{
		Name: judging.Name, Reach: with.reach(cmp.Or(judging.Reach.Items, with.Collection)),
		Load: func(ctx context.Context, src cleanup.Source, subjects []cleanup.Subject) ([]state[S], error) {
			judged, err := judging.Load(ctx, src, subjects)
			states := make([]state[S], len(judged))
			for i := range judged {
				states[i] = state[S]{judged[i], item{Subject: subjects[i], whole: true}}
			}
			return states, err
		},
		Judge: func(s state[S], run cleanup.Run) cleanup.Decision { return judging.Judge(s.judged, run) },
		Gather: func(ctx context.Context, src cleanup.Source, due []*state[S]) error {
			items := make([]*item, len(due))
			for i, s := range due {
				items[i] = &s.item
			}
			return with.gather(ctx, src, items)
		},
		Change: func(s state[S], d cleanup.Decision, run cleanup.Run) cleanup.Change {
			return with.change(s.item, d, run)
		},
	}
}

// state is what the judging rule loaded for a document, and the document with what goes along.
type state[S any] struct {
	judged S
	item
}

// item is a document with documents that go along: all of them, or only the first.
type item struct {
	cleanup.Subject
	children []documents.Document
	whole    bool          // children are all
	place    documents.Ref // where its copy goes in the archive
}

// gather reads the documents that go along, and finds places in the archive.
func (w With) gather(ctx context.Context, src cleanup.Source, due []*item) error {
	for _, a := range w.What {
		if a.Subcollection == "" && a.Collection == "" {
			continue
		}
		parents := make([]string, len(due))
		for n, i := range due {
			if parents[n] = i.ID(); a.Subcollection != "" {
				parents[n] = i.Path
			}
		}
		found, err := src.Children(ctx, w.belonging(a, src), parents)
		if err != nil {
			return err
		}
		for n, i := range due {
			of := found[parents[n]]
			i.children = append(i.children, of.Documents...)
			i.whole = i.whole && of.Whole
		}
	}
	if w.Archive != "" {
		return w.findPlaces(ctx, src, due)
	}
	return nil
}

// belonging returns the lookup for documents that go along: those below a document, or those that name it.
func (w With) belonging(a rule.Along, src cleanup.Source) cleanup.Children {
	c := cleanup.Children{Collection: a.Subcollection + a.Collection, Field: a.Field, Subcollection: a.Subcollection != "",
		Whole: w.Archive != ""}
	if c.Subcollection || w.Strict {
		return c
	}
	c.Names = func(id string) []any {
		names := documents.NamesOf(id)
		if reference := src.Reference(documents.Ref{Collection: w.Collection, ID: id}); documents.Queryable(reference) {
			names = append(names, reference)
		}
		return names
	}
	c.NameOf = func(value any) (string, bool) {
		if ref, ok := documents.ReferenceOf(value); ok {
			return ref.ID, ref.Collection == w.Collection
		}
		return documents.IDOf(value)
	}
	return c
}

// findPlaces gives each document a place in the archive. That is its own id. If an earlier document has that place, the time
// at which this one was created is appended. So the place is the same in each commit for the document, whichever run makes
// it.
func (w With) findPlaces(ctx context.Context, src cleanup.Source, due []*item) error {
	refs := make([]documents.Ref, len(due))
	for n, i := range due {
		refs[n] = documents.Ref{Collection: w.Archive, ID: i.ID()}
	}
	taken, err := src.Get(ctx, refs)
	if err != nil {
		return err
	}
	for n, i := range due {
		i.place = refs[n]
		if _, there := taken[refs[n]]; there {
			i.place.ID += i.CreateTime.UTC().Format("@" + time.RFC3339Nano)
		}
	}
	return nil
}

func (w With) change(i item, d cleanup.Decision, run cleanup.Run) (change cleanup.Change) {
	if !i.whole && !i.Alone {
		return cleanup.Change{Again: d.Kind}
	}
	for _, child := range i.children {
		if w.Archive != "" {
			to := documents.Ref{Collection: i.place.Path() + "/" + path.Base(child.Ref().Collection), ID: child.ID()}
			change.Writes = append(change.Writes, documents.Write{Op: documents.Set, Ref: to, Data: child.Data})
		}
		change.Writes = append(change.Writes, documents.Write{Op: documents.Delete, Ref: child.Ref()})
	}
	if !i.whole {
		change.Again = d.Kind
		return change
	}
	if w.Archive != "" {
		change.Writes = append(change.Writes, documents.Write{Op: documents.Create, Ref: i.place, Data: i.Data})
	}
	change.Writes = append(change.Writes, documents.Write{Op: documents.Delete, Ref: i.Ref()})
	for _, a := range w.What {
		w.follow(&change, a, i, run)
	}
	return change
}

// follow adds what is deleted after the commit: objects and the account.
func (w With) follow(change *cleanup.Change, a rule.Along, i item, run cleanup.Run) {
	filled := strings.NewReplacer("{id}", i.ID())
	switch {
	case a.Account:
		change.Then = append(change.Then, cleanup.FollowUp{Account: i.ID(), Absent: i.Ref()})
	case a.Folder != "":
		folder := cleanup.ObjectDeletion{Name: filled.Replace(a.Folder), Folder: true}
		change.Then = append(change.Then, cleanup.FollowUp{Object: folder, Absent: i.Ref()})
	case a.Object != "":
		Objects{
			Field: a.Object, ByName: !w.Strict, OwnerKey: a.Metadata, Home: w.Home,
			Under: objects.Folders{filled.Replace(a.Under)}, Outside: a.Object + " names an object outside " + a.Under,
		}.Follow(change, run.Config, i.Ref(), i.Document)
	}
}
