package page

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/emulator/each"
	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/encode"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// maxCounted is how many objects and accounts are counted at most, because counting lists them.
const maxCounted = 20_000

// count is how many items a collection or folder has.
type count struct {
	Sort  string `json:"sort"` // "documents", "files" or "accounts"
	Name  string `json:"name"` // of the collection or folder
	Count int    `json:"count"`
	More  bool   `json:"more,omitempty"` // there are more
}

// counts answers with the numbers of items that a job can touch: documents of each root collection and of each named collection
// anywhere, objects, and accounts.
func (s *server) counts(ctx context.Context, q struct {
	Job         string
	Collections []string
}) ([]count, error) {
	all := []count{}
	err := s.on(ctx, q.Job, nil, func(p restore.Project) error {
		roots, err := p.Firestore.Collections(ctx).GetAll()
		if err != nil {
			return fmt.Errorf("list the collections: %w", err)
		}
		names := q.Collections
		for _, root := range roots {
			names = append(names, root.ID)
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if slices.Contains(collections.Names(), name) || !documents.ValidID(name) {
				continue
			}
			n, err := p.DB.Count(ctx, documents.Query{Collection: name, Group: true})
			if err != nil {
				return err
			}
			all = append(all, count{Sort: "documents", Name: name, Count: n})
		}
		if p.Bucket != nil {
			files, err := folders(ctx, p)
			if err != nil {
				return err
			}
			all = append(all, files...)
		}
		if p.Accounts != nil {
			users, err := accountsOf(ctx, p.Accounts.Reader)
			if err != nil {
				return err
			}
			all = append(all, users)
		}
		return nil
	})
	return all, err
}

// folders counts the objects of the bucket by the first part of their names.
func folders(ctx context.Context, p restore.Project) ([]count, error) {
	byFolder := map[string]int{}
	n, more := 0, false
	for o, err := range each.Of(p.Bucket.Objects(ctx, nil)) {
		if err != nil {
			return nil, fmt.Errorf("list the bucket: %w", err)
		}
		if more = n == maxCounted; more {
			break
		}
		n++
		folder, _, found := strings.Cut(o.Name, "/")
		if found {
			folder += "/"
		}
		byFolder[folder]++
	}
	var all []count
	for _, folder := range slices.Sorted(maps.Keys(byFolder)) {
		all = append(all, count{Sort: "files", Name: folder, Count: byFolder[folder], More: more})
	}
	return all, nil
}

func accountsOf(ctx context.Context, all accounts.Reader) (count, error) {
	c := count{Sort: "accounts", Name: "accounts"}
	for page, err := range all.Pages(ctx, "") {
		if err != nil {
			return c, err
		}
		c.Count += len(page.Accounts)
		if c.More = c.Count > maxCounted; c.More {
			c.Count = maxCounted
			return c, nil
		}
	}
	return c, nil
}

// maxLooked is how many documents a call may ask for.
const maxLooked = 100

// looked is a document as it is now.
type looked struct {
	Path   string       `json:"path"`
	Exists bool         `json:"exists"`
	Fields []undo.Field `json:"fields"`
}

// documents answers with documents of a job's database as they are now.
func (s *server) documents(ctx context.Context, q struct {
	Job   string
	Paths []string
}) ([]looked, error) {
	all := []looked{}
	err := s.on(ctx, q.Job, inFirestore, func(p restore.Project) error {
		if len(q.Paths) > maxLooked {
			return fmt.Errorf("%d documents are asked for: ask for %d at most", len(q.Paths), maxLooked)
		}
		found, err := p.DB.GetAll(ctx, q.Paths)
		if err != nil {
			return err
		}
		for _, path := range q.Paths {
			d, exists := found[path]
			now, err := encode.Fields(d.Data)
			if err != nil {
				return fmt.Errorf("read %s: %w", path, err)
			}
			all = append(all, looked{Path: path, Exists: exists, Fields: undo.Compared(now, now)})
		}
		return nil
	})
	return all, err
}
