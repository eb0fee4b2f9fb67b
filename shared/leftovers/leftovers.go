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
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/media"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Object is an object to delete, or a folder of them.
type Object struct {
	Name string
	// Folder says that Name ends with a slash and that every object goes whose name begins with it.
	Folder bool
	// PostID, where set, is the post that the object must belong to: one whose metadata names another post is kept,
	// because a post must not be able to name somebody else's file (docs/spec.md).
	PostID string
	// Absent, where set, is the path of the document that led to the object. Should somebody have restored it by the time
	// a later run gets to what an interrupted one left, the object is kept.
	Absent string
}

func collection(job string) string { return "cleanupJobs/" + job + "/leftovers" }

// Remember writes the objects down under an id, in the transaction that deletes the document which leads to them. It
// does nothing if there are none. The id must tell the document from all others of the job, whatever their collection:
// what is remembered under it replaces what was.
func Remember(tx *documents.Transaction, w *sweep.Writers, id string, objects []Object) error {
	groups, err := grouped(objects)
	if err != nil || len(groups) == 0 {
		return err
	}
	return tx.Set(collection(w.Job)+"/"+id, map[string]any{"objects": groups, "at": documents.ServerTimestamp})
}

// maxName is the longest name an object can have, in bytes: there is none of a longer name.
const maxName = 1024

// grouped returns the objects as they are stored: each name once, and what they have in common once. So they never take
// more room than they did as URLs in their document, which fitted into one.
func grouped(objects []Object) ([]any, error) {
	var groups []any
	names := map[Object][]any{} // by what they have in common
	seen := map[Object]bool{}
	var order []Object
	for _, o := range objects {
		if !valid(o) {
			return nil, fmt.Errorf("remember %+v: not an object's name, or not a folder's", o)
		}
		if seen[o] || len(o.Name) > maxName {
			continue
		}
		seen[o] = true
		common := o
		common.Name = ""
		if names[common] == nil {
			order = append(order, common)
		}
		names[common] = append(names[common], o.Name)
	}
	for _, common := range order {
		groups = append(groups, map[string]any{
			"names": names[common], "folder": common.Folder, "postId": common.PostID, "absent": common.Absent,
		})
	}
	return groups, nil
}

// valid keeps a folder from being half of a name, or the whole bucket.
func valid(o Object) bool {
	return o.Name != "" && (!o.Folder || strings.Trim(o.Name, "/") != "" && strings.HasSuffix(o.Name, "/"))
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
				Effect: sweep.Steps(func(ctx context.Context, w *sweep.Writers) error { return finish(ctx, w, id, true) }),
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Finish deletes the objects remembered under an id and forgets them. It does nothing if none are. It is for the run that
// remembered them, as soon as it has.
func Finish(ctx context.Context, w *sweep.Writers, id string) error { return finish(ctx, w, id, false) }

// finish deletes the objects remembered under an id. late says that an earlier run remembered them. One object that
// fails does not stop the others, but the record stays for the next run.
func finish(ctx context.Context, w *sweep.Writers, id string, late bool) error {
	d, found, err := w.Documents.Get(ctx, collection(w.Job)+"/"+id)
	if err != nil || !found {
		return err
	}
	objects, at, err := parse(d)
	if err != nil {
		return err
	}
	restored := map[string]bool{"": false} // by path
	var held keptByStorage
	var failed error
	for _, o := range objects {
		if err := w.CheckTime(); err != nil {
			return err
		}
		back, known := restored[o.Absent]
		if late && !known {
			if _, back, err = w.Documents.Get(ctx, o.Absent); err != nil {
				return err
			}
			restored[o.Absent] = back
		}
		if back {
			keepObject(ctx, w, o.Name, keptRestored)
			continue
		}
		err := deleteRemembered(ctx, w, o, at, &held)
		switch {
		case err == nil:
		case errors.Is(err, sweep.ErrOutOfTime), ctx.Err() != nil:
			return err
		case failed == nil:
			failed = err
		}
	}
	if failed != nil {
		held.count(w)
		return failed
	}
	if n := len(held); n > 0 {
		// The record stays, for somebody will release them.
		if late {
			held[:n-1].count(w)
			return held[n-1] // nothing was finished: the engine counts the last
		}
		held.count(w)
		return nil
	}
	err = w.Documents.Delete(ctx, []documents.Deletion{{Path: d.Path, LastUpdateTime: d.UpdateTime}})[0]
	if errors.Is(err, documents.ErrChanged) {
		return nil // forgotten by somebody else, or already the record of something newer, for which the next run is there
	}
	return err
}

func parse(d documents.Document) (objects []Object, at time.Time, err error) {
	at, ok := d.Time("at")
	groups, isList := d.Data["objects"].([]any)
	ok = ok && isList
	for _, group := range groups {
		g, _ := group.(map[string]any)
		names, isList := g["names"].([]any)
		folder, isBool := g["folder"].(bool)
		postID, isText := g["postId"].(string)
		absent, isPath := g["absent"].(string)
		ok = ok && isList && isBool && isText && isPath
		for _, name := range names {
			text, _ := name.(string)
			o := Object{Name: text, Folder: folder, PostID: postID, Absent: absent}
			ok = ok && valid(o)
			objects = append(objects, o)
		}
	}
	if !ok {
		return nil, at, fmt.Errorf("%s is not one that this program wrote: look at it and delete it", d.Path)
	}
	return objects, at, nil
}

// Reasons to keep an object.
const (
	keptOfAnotherPost = "a file that belongs to another post"
	keptUploadedAnew  = "a file uploaded anew since"
	keptRestored      = "a file whose document was restored since"
)

func keepObject(ctx context.Context, w *sweep.Writers, name, reason string) {
	w.Keep(reason, 1)
	w.Log.InfoContext(ctx, "kept object "+name+": "+reason)
}

// keptByStorage are the refusals of Cloud Storage to let objects go.
type keptByStorage []*media.HeldError

func (k keptByStorage) count(w *sweep.Writers) {
	for _, held := range k {
		w.Keep(held.Reason, 1)
	}
}

// deleteRemembered deletes an object, or those of a folder, if by their attributes of this moment they are to go. What Cloud
// Storage does not let go is added to held.
func deleteRemembered(ctx context.Context, w *sweep.Writers, o Object, at time.Time, held *keptByStorage) error {
	if !o.Folder {
		object, found, err := w.Objects.Get(ctx, o.Name)
		if err != nil || !found {
			return err
		}
		return deleteListed(ctx, w, object, o.PostID, at, held)
	}
	var failed error
	for page, err := range w.Objects.Pages(ctx, o.Name, "") {
		if err != nil {
			return err
		}
		for _, object := range page {
			if err := w.CheckTime(); err != nil {
				return err
			}
			if err := deleteListed(ctx, w, object, o.PostID, at, held); err != nil && failed == nil {
				failed = err
			}
		}
	}
	return failed
}

// deleteListed deletes an object if it is still as it was listed and by that is to go. If it is not, it looks again.
func deleteListed(ctx context.Context, w *sweep.Writers, object media.Object, postID string, at time.Time, held *keptByStorage) error {
	const attempts = 3 // somebody would have to change it again and again
	for range attempts {
		if reason := keep(object, postID, at); reason != "" {
			keepObject(ctx, w, object.Name, reason)
			return nil
		}
		err := w.Objects.Delete(ctx, media.Deletion{
			Name: object.Name, Generation: object.Generation, Metageneration: object.Metageneration,
		})
		var h *media.HeldError
		if errors.As(err, &h) {
			*held = append(*held, h)
			w.Log.InfoContext(ctx, "kept object "+object.Name+": "+h.Reason)
			return nil
		}
		if !errors.Is(err, media.ErrChanged) {
			return err
		}
		latest, found, err := w.Objects.Get(ctx, object.Name)
		if err != nil || !found {
			return err
		}
		object = latest
	}
	return fmt.Errorf("delete object %s: it changed %d times meanwhile", object.Name, attempts)
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
