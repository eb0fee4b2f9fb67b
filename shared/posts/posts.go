// Package posts deletes a post of the Firebase application with all that hangs on it: its comments and reactions
// (top-level collections, field postId) and its media (mediaItems[].url). Two jobs do: cleanupOrphanedMedia and
// checkGhostCircles.
package posts

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/leftovers"
	"github.com/firesweep/firesweep/shared/media"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Children are the collections whose documents belong to a post by their field postId.
var Children = []string{"comments", "reactions"}

// maxChildren is how many children of each kind go in one transaction, at most.
const maxChildren = 200

// Judge decides about a post within the transaction that deletes it, with what it reads there: nil to delete it,
// [sweep.ErrChanged] or an error of its own to keep it.
type Judge func(tx *documents.Transaction, post documents.Document) error

// Delete deletes a post if the judge still says so. The post, its comments and its reactions go in one commit, which a
// write by anybody else to any of them undoes, so that nobody sees half of it and nothing is lost to a race; its media
// follow, remembered in that commit (package leftovers). Of a post with 200 comments or reactions or more, or with
// fewer that are too large for one commit, those go first, some at a time, and each commit judges the post once more. It
// returns [sweep.ErrChanged] if there is no such post.
func Delete(ctx context.Context, w *sweep.Writers, path string, judge Judge) error {
	id := path[strings.LastIndexByte(path, '/')+1:]
	limit := maxChildren
	for {
		s, err := deleteSome(ctx, w, path, id, judge, limit)
		if documents.Refused(err) && limit > 1 {
			limit /= 2
			continue
		}
		if err != nil {
			return err
		}
		if err := w.Documents.Wait(ctx, s.writes); err != nil {
			return err
		}
		if s.whole {
			keepMedia(ctx, w, path, s.kept)
			if len(s.files) == 0 {
				return nil
			}
			return leftovers.Finish(ctx, w, id)
		}
		if err := w.CheckTime(); err != nil {
			return err
		}
	}
}

// maxNamed is how many of a post's media that are kept the log names; all are counted.
const maxNamed = 20

// keepMedia counts media that are not deleted, and names their post: their URLs are what a user wrote, and in no log.
func keepMedia(ctx context.Context, w *sweep.Writers, post string, reasons []string) {
	for i, reason := range reasons {
		w.Keep(reason, 1)
		if i < maxNamed {
			w.Log.WarnContext(ctx, post+": deleted, but not its file: "+reason, slog.String("target", post), slog.String("reason", reason))
		}
	}
}

// step is what one commit does.
type step struct {
	whole  bool               // the post is deleted, and not only children of it
	files  []leftovers.Object // remembered in it
	kept   []string           // why further files are not deleted
	writes int
}

// deleteSome deletes, in one transaction, a post with its children or, if there may be more of those than limit, so many
// of each kind.
func deleteSome(ctx context.Context, w *sweep.Writers, path, id string, judge Judge, limit int) (s step, err error) {
	err = w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		post, found, err := tx.Get(path)
		switch {
		case err != nil:
			return err
		case !found && s.whole:
			return nil // an earlier attempt deleted it, and its answer was lost
		case !found:
			return sweep.ErrChanged
		}
		if err := judge(tx, post); err != nil {
			return err
		}
		s = step{whole: true}
		var gone []string
		for _, collection := range Children {
			children, err := First(tx, collection, "postId", id, limit)
			if err != nil {
				return err
			}
			for _, c := range children {
				gone = append(gone, c.Path)
			}
			if len(children) == limit {
				s.whole = false
			}
		}
		if s.whole {
			s.files, s.kept = Media(post, w.Config.Bucket, w.Config.Emulators.Storage)
			if err := leftovers.Remember(tx, w, id, s.files); err != nil {
				return err
			}
			gone = append(gone, path)
		}
		for _, p := range gone {
			if err := tx.Delete(p); err != nil {
				return err
			}
		}
		s.writes = len(gone)
		return nil
	})
	return s, err
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
			files = append(files, leftovers.Object{Name: name, PostID: post.ID(), Absent: post.Path})
		}
	}
	return files, kept
}
