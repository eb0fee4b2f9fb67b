// Package posts deletes a post of the Firebase application with all that hangs on it: its comments and reactions
// (top-level collections, field postId) and its media (mediaItems[].url). Two jobs do: cleanupOrphanedMedia and
// checkGhostCircles (seed 0, sections 1-4 and 3).
package posts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/leftovers"
	"github.com/firesweep/firesweep/shared/media"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Children are the collections whose documents belong to a post by their field postId.
var Children = []string{"comments", "reactions"}

// maxChildren is how many children of each kind go in one transaction with their post. Of more, the rest goes before.
const maxChildren = 200

var errTooMany = errors.New("too many children for one transaction")

// Judge decides about a post within the transaction that deletes it, with what it reads there: nil to delete it,
// [sweep.ErrChanged] to keep it.
type Judge func(tx *documents.Transaction, post documents.Document) error

// Delete deletes a post if the judge still says so. The post, its comments and its reactions go in one commit, which a
// write by anybody else to any of them undoes, so that nobody sees half of it and nothing is lost to a race; its media
// follow, remembered in that commit (package leftovers). Of a post with more than 200 comments or reactions, those go
// first, each page after the post has been judged once more.
func Delete(ctx context.Context, w *sweep.Writers, path string, judge Judge) error {
	id := path[strings.LastIndexByte(path, '/')+1:]
	for {
		kept, err := deleteAtOnce(ctx, w, path, id, judge)
		switch {
		case err == nil:
			for _, reason := range kept {
				w.Keep(reason, 1)
			}
			return leftovers.Finish(ctx, w, id)
		case !errors.Is(err, errTooMany):
			return err
		}
		if err := w.CheckTime(); err != nil {
			return err
		}
		for _, collection := range Children {
			if err := deletePage(ctx, w, collection, id); err != nil {
				return err
			}
		}
	}
}

// deleteAtOnce deletes a post and its children in one transaction, or returns [errTooMany]. kept are the reasons why some
// of its media are not deleted.
func deleteAtOnce(ctx context.Context, w *sweep.Writers, path, id string, judge Judge) (kept []string, err error) {
	err = w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		kept = nil
		post, found, err := tx.Get(path)
		if err != nil {
			return err
		}
		if !found {
			return sweep.ErrChanged
		}
		if err := judge(tx, post); err != nil {
			return err
		}
		gone := []string{path}
		for _, collection := range Children {
			children, err := tx.Query(childrenOf(collection, id), maxChildren+1)
			if err != nil {
				return err
			}
			if len(children) > maxChildren {
				return errTooMany
			}
			for _, c := range children {
				gone = append(gone, c.Path)
			}
		}
		var files []leftovers.Object
		files, kept = Media(post, w.Config.Bucket, w.Config.Emulators.Storage)
		if err := leftovers.Remember(tx, w, id, files); err != nil {
			return err
		}
		for _, p := range gone {
			if err := tx.Delete(p); err != nil {
				return err
			}
		}
		return nil
	})
	return kept, err
}

func childrenOf(collection, postID string) documents.Query {
	return documents.Query{
		Collection: collection, Where: []documents.Filter{{Field: "postId", Op: "==", Value: postID}},
		Select: []string{"postId"}, PageSize: documents.MaxBatch,
	}
}

// deletePage deletes some of a post's children. One that somebody changes meanwhile is met again by the transaction.
func deletePage(ctx context.Context, w *sweep.Writers, collection, postID string) error {
	for page, err := range w.Documents.Pages(ctx, childrenOf(collection, postID), "") {
		if err != nil {
			return err
		}
		deletions := make([]documents.Deletion, len(page.Documents))
		for i, d := range page.Documents {
			deletions[i] = documents.Deletion{Path: d.Path, LastUpdateTime: d.UpdateTime}
		}
		for _, err := range w.Documents.Delete(ctx, deletions) {
			if err != nil && !errors.Is(err, sweep.ErrChanged) {
				return err
			}
		}
		break
	}
	return nil
}

// Media returns the objects that a post's mediaItems name and that may be deleted with it, and why others are kept: a URL
// is user input, so only objects of our bucket under posts/ count, and whether one belongs to another post is asked
// when it is deleted. emulatorHost is Storage's, "" in production.
func Media(post documents.Document, bucket, emulatorHost string) (files []leftovers.Object, kept []string) {
	value, set := post.Data["mediaItems"]
	if !set || value == nil {
		return nil, nil
	}
	items, ok := value.([]any)
	if !ok {
		return nil, []string{"mediaItems is not a list: its files are kept"}
	}
	for _, item := range items {
		m, _ := item.(map[string]any)
		url, ok := m["url"].(string)
		if !ok {
			kept = append(kept, "a media item without a url")
			continue
		}
		name, err := media.ObjectName(url, bucket, emulatorHost)
		switch {
		case err != nil:
			kept = append(kept, fmt.Sprintf("a media item with %s", err))
		case !strings.HasPrefix(name, "posts/"):
			kept = append(kept, "a media item with a file outside posts/")
		default:
			files = append(files, leftovers.Object{Name: name, PostID: post.ID()})
		}
	}
	return files, kept
}
