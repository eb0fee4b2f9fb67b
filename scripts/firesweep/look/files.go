package look

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cloud.google.com/go/storage"
	"google.golang.org/api/iterator"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
)

// allFiles looks at the folders at the top of the bucket, and at the first files of each.
func (l *looker) allFiles(ctx context.Context) error {
	if l.Bucket == nil {
		return nil
	}
	top, more, err := l.page(ctx, &storage.Query{Delimiter: "/"})
	if err != nil {
		return err
	}
	top = slices.DeleteFunc(top, func(o *storage.ObjectAttrs) bool { return o.Prefix == "" })
	if len(top) > FilePages-1 || more {
		l.unseen("files: only the first %d folders were looked at", FilePages-1)
	}
	for _, one := range top[:min(len(top), FilePages-1)] {
		f := &place{path: one.Prefix}
		page, more, err := l.page(ctx, &storage.Query{Prefix: f.path})
		if err != nil {
			return err
		}
		for _, o := range page {
			if !strings.HasSuffix(o.Name, "/") {
				f.docs = append(f.docs, documents.Document{Path: o.Name, UpdateTime: o.Created})
			}
		}
		switch n := len(f.docs); {
		case more:
			f.count = fmt.Sprintf("%d files or more", n)
		case n == 1:
			f.count = "1 file"
		default:
			f.count = fmt.Sprintf("%d files", n)
		}
		l.folders = append(l.folders, f)
		if err := l.ownerOf(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// page returns the first page of a listing, and whether there is more.
func (l *looker) page(ctx context.Context, q *storage.Query) (page []*storage.ObjectAttrs, more bool, err error) {
	if err := q.SetAttrSelection([]string{"Name", "Created"}); err != nil {
		return nil, false, err
	}
	next, err := iterator.NewPager(l.Bucket.Handle().Objects(ctx, q), 1000, "").NextPage(&page)
	if errors.Is(err, storage.ErrBucketNotExist) {
		err = errors.New("the bucket does not exist: say which one, in STORAGE_BUCKET")
	}
	return page, next != "", err
}

// ownerOf finds out whether the folders in a folder, or its files, have the ids of documents of a collection at the top.
func (l *looker) ownerOf(ctx context.Context, f *place) error {
	pattern := f.path + "{owner}.*"
	if slices.ContainsFunc(f.docs, func(d documents.Document) bool { return strings.Contains(d.Path[len(f.path):], "/") }) {
		pattern = f.path + "{owner}/**"
	}
	ids := map[string]bool{}
	for _, d := range f.docs {
		id := idIn(pattern, d.Path)
		if ids[id] = true; id == "" { // at several depths, the id is not at one place
			return nil
		}
	}
	for _, c := range l.collections {
		if c.isBelow() {
			continue
		}
		k, err := l.link(ctx, "{"+c.hole()+"}", slices.Sorted(maps.Keys(ids)), c.path)
		if err != nil {
			return err
		}
		if k != nil && k.looked >= leastLinked && (f.owner == nil || len(k.gone) < len(f.owner.gone)) {
			f.owner, f.objects = k, strings.ReplaceAll(pattern, "{owner}", k.from)
		}
	}
	if f.owner != nil { // whoever has an account may have no document yet
		alive := l.accounts(ctx, slices.Sorted(maps.Keys(f.owner.gone)))
		f.owner.odd = f.owner.odd || l.blind || len(alive) > 0
	}
	return nil
}

// idIn returns what stands for the hole of a pattern in an object's name; "" if nothing that could be an id.
func idIn(pattern, name string) string {
	bound, _ := (rule.Rule{Objects: pattern}).Binds()(name)
	for _, id := range bound {
		if documents.ValidID(id) {
			return id
		}
	}
	return ""
}
