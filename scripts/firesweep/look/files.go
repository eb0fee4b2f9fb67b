package look

import (
	"context"
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
	top, err := l.page(ctx, &storage.Query{Delimiter: "/"})
	top = slices.DeleteFunc(top, func(o *storage.ObjectAttrs) bool { return o.Prefix == "" })
	if len(top) >= FilePages {
		l.unseen("files: only the first %d folders were looked at", FilePages-1)
	}
	for _, one := range top[:min(len(top), FilePages-1)] {
		f := &place{path: one.Prefix}
		var page []*storage.ObjectAttrs
		if page, err = l.page(ctx, &storage.Query{Prefix: f.path}); err != nil {
			return err
		}
		for _, o := range page {
			if !strings.HasSuffix(o.Name, "/") {
				f.docs = append(f.docs, documents.Document{Path: o.Name, UpdateTime: o.Created})
			}
		}
		f.setCount(len(f.docs), len(page) == filePage)
		l.folders = append(l.folders, f)
		if err := l.ownerOf(ctx, f); err != nil {
			return err
		}
	}
	return err
}

// filePage is how many files a request lists.
const filePage = 1000

// page returns the first page of a listing.
func (l *looker) page(ctx context.Context, q *storage.Query) (page []*storage.ObjectAttrs, err error) {
	if err := q.SetAttrSelection([]string{"Name", "Created"}); err != nil {
		return nil, err
	}
	_, err = iterator.NewPager(l.Bucket.Handle().Objects(ctx, q), filePage, "").NextPage(&page)
	return page, err
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
	all, err := l.links(ctx, "", slices.Sorted(maps.Keys(ids)), l.top...)
	if len(all) == 0 {
		return err
	}
	f.owner = all[0]
	f.owner.from = f.owner.to.hole()
	f.objects = strings.ReplaceAll(pattern, "{owner}", f.owner.from)
	l.spare(ctx, f.owner)
	f.owner.odd = f.owner.odd || f.owner.people // a rule for files looks up documents alone
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
