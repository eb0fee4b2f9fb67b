// Package leftovers remembers the objects that a deleted document led to until they are deleted too. A document can be
// judged and deleted in one transaction, an object cannot take part in it: deleted before, it would be lost if the
// document turned out to be kept; deleted after, it would be forgotten by a crash in between. So the transaction that
// deletes the document writes down its objects in cleanupJobs/{job}/leftovers, and every run begins with what it finds
// there.
package leftovers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/media"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Object is an object to delete.
type Object struct {
	Name string
	// PostID, where set, is the post that the object must belong to: one whose metadata names another post is kept,
	// because a post must not be able to name somebody else's file (SPEC, "cleanupOrphanedMedia").
	PostID string
}

func collection(job string) string { return "cleanupJobs/" + job + "/leftovers" }

// Remember writes the objects down under an id, in the transaction that deletes the document which leads to them. It
// does nothing if there are none.
func Remember(tx *documents.Transaction, w *sweep.Writers, id string, objects []Object) error {
	if len(objects) == 0 {
		return nil
	}
	list := make([]any, len(objects))
	for i, o := range objects {
		list[i] = map[string]any{"name": o.Name, "postId": o.PostID}
	}
	return tx.Set(collection(w.Job)+"/"+id, map[string]any{"objects": list, "at": documents.ServerTimestamp})
}

// Plan proposes to finish what interrupted runs have left. Jobs that use this package call it first; they do not save a
// position before it returns.
func Plan(ctx context.Context, p *sweep.Planner) error {
	for page, err := range p.Documents.Pages(ctx, documents.Query{Collection: collection(p.Job), Select: []string{"at"}}, "") {
		if err != nil {
			return err
		}
		for _, d := range page.Documents {
			id := d.ID()
			err := p.Propose(ctx, sweep.Action{
				Kind: "delete leftover files", Target: d.Path, Reason: "their document was deleted by a run that did not get to them",
				Effect: sweep.Steps(func(ctx context.Context, w *sweep.Writers) error { return Finish(ctx, w, id) }),
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Finish deletes the objects remembered under an id and forgets them. It does nothing if none are.
func Finish(ctx context.Context, w *sweep.Writers, id string) error {
	d, found, err := w.Documents.Get(ctx, collection(w.Job)+"/"+id)
	if err != nil || !found {
		return err
	}
	objects, at, err := parse(d)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := w.CheckTime(); err != nil {
			return err
		}
		if err := deleteObject(ctx, w, o, at); err != nil {
			return err
		}
	}
	// An error means that the record stays, and the next run finds its objects gone.
	return w.Documents.Delete(ctx, []documents.Deletion{{Path: d.Path, LastUpdateTime: d.UpdateTime}})[0]
}

func parse(d documents.Document) (objects []Object, at time.Time, err error) {
	list, ok := d.Data["objects"].([]any)
	at, okAt := d.Time("at")
	if !ok || !okAt {
		return nil, at, fmt.Errorf("%s is not one that this program wrote: look at it and delete it", d.Path)
	}
	for _, item := range list {
		m, _ := item.(map[string]any)
		name, ok := m["name"].(string)
		postID, okPost := m["postId"].(string)
		if !ok || !okPost || name == "" {
			return nil, at, fmt.Errorf("%s is not one that this program wrote: look at it and delete it", d.Path)
		}
		objects = append(objects, Object{Name: name, PostID: postID})
	}
	return objects, at, nil
}

// Reasons to keep an object.
const (
	keptOfAnotherPost = "a file that belongs to another post"
	keptUploadedAnew  = "a file uploaded anew since"
)

// deleteObject deletes an object if, by its attributes of this moment, it is to go.
func deleteObject(ctx context.Context, w *sweep.Writers, o Object, at time.Time) error {
	const attempts = 3 // somebody would have to change it again and again
	var err error
	for range attempts {
		object, found, errGet := w.Objects.Get(ctx, o.Name)
		if errGet != nil || !found {
			return errGet
		}
		if reason := keep(object, o.PostID, at); reason != "" {
			w.Keep(reason, 1)
			w.Log.InfoContext(ctx, "kept object "+o.Name+": "+reason)
			return nil
		}
		err = w.Objects.Delete(ctx, media.Deletion{Name: o.Name, Generation: object.Generation, Metageneration: object.Metageneration})
		if !errors.Is(err, media.ErrChanged) {
			return err
		}
	}
	return err
}

// keep returns why an object is kept, "" if it is not. postID is the post that led to it, at when that was deleted.
func keep(o media.Object, postID string, at time.Time) string {
	owner, named := o.Metadata["postId"]
	switch {
	case postID != "" && named && owner != postID:
		return keptOfAnotherPost
	case o.Created.After(at):
		return keptUploadedAnew
	default:
		return ""
	}
}
