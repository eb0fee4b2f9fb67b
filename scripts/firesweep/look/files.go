package look

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/storage"
	"google.golang.org/api/iterator"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
)

const (
	filesPerPage = 1000
	mostFolders  = FilePages - 1
)

// Folder is a folder at the top of the bucket.
type Folder struct {
	Name    string     `json:"folder"` // with a slash at its end
	Files   int        `json:"files"`
	AtLeast bool       `json:"atLeast,omitempty"` // there may be more
	Bytes   int64      `json:"bytes"`             // of these
	Oldest  *time.Time `json:"oldest,omitempty"`
	Newest  *time.Time `json:"newest,omitempty"`
	Objects string     `json:"objects,omitempty"` // the pattern of their names, if they name their owners
	Owner   *Link      `json:"owner,omitempty"`

	files []*storage.ObjectAttrs
}

// files looks at the folders at the top of the bucket, and at the first files of each.
func (l *looker) files(ctx context.Context) error {
	if l.Bucket == nil {
		return nil
	}
	top, more, err := l.page(ctx, &storage.Query{Delimiter: "/"}, "")
	if err != nil {
		return err
	}
	top = slices.DeleteFunc(top, func(o *storage.ObjectAttrs) bool { return o.Prefix == "" })
	if len(top) > mostFolders || more != "" {
		l.unseen("files: there are more than %d folders; the first ones were looked at", min(len(top), mostFolders))
		top = top[:min(len(top), mostFolders)]
	}
	for _, folder := range top {
		f := &Folder{Name: folder.Prefix}
		token := ""
		for range (FilePages - 1) / len(top) {
			page, next, err := l.page(ctx, &storage.Query{Prefix: f.Name}, token)
			if err != nil {
				return err
			}
			f.files = append(f.files, page...)
			if token = next; token == "" {
				break
			}
		}
		f.AtLeast = token != ""
		f.files = slices.DeleteFunc(f.files, func(o *storage.ObjectAttrs) bool { return strings.HasSuffix(o.Name, "/") })
		f.Files = len(f.files)
		for _, o := range f.files {
			f.Bytes += o.Size
			if f.Oldest == nil || o.Created.Before(*f.Oldest) {
				f.Oldest = &o.Created
			}
			if f.Newest == nil || o.Created.After(*f.Newest) {
				f.Newest = &o.Created
			}
		}
		if err := l.owner(ctx, f); err != nil {
			return err
		}
		l.found.Folders = append(l.found.Folders, f)
	}
	return nil
}

// page returns a page of a listing, and the token of the next.
func (l *looker) page(ctx context.Context, q *storage.Query, token string) (page []*storage.ObjectAttrs, next string, err error) {
	if err := q.SetAttrSelection([]string{"Name", "Size", "Created"}); err != nil {
		return nil, "", err
	}
	next, err = iterator.NewPager(l.Bucket.Handle().Objects(ctx, q), filesPerPage, token).NextPage(&page)
	if errors.Is(err, storage.ErrBucketNotExist) {
		err = errors.New("the bucket does not exist: say which one, in STORAGE_BUCKET")
	}
	return page, next, err
}

// owner finds out whether the files of a folder name their owners: in the folder that they lie in, or by their own name.
func (l *looker) owner(ctx context.Context, f *Folder) error {
	deeper := 0
	for _, o := range f.files {
		if strings.Contains(o.Name[len(f.Name):], "/") {
			deeper++
		}
	}
	if deeper > 0 && deeper < f.Files {
		return nil // at several depths, the owner is not at one place
	}
	owners := map[string]bool{}
	pattern := map[bool]string{true: f.Name + "{owner}/**", false: f.Name + "{owner}.*"}[deeper > 0]
	for _, o := range f.files {
		owners[ownerOf(pattern, o.Name)] = true
	}
	delete(owners, "")
	for _, target := range l.ownersOf(f.Name) {
		k, err := l.link(ctx, "{owner}", slices.Sorted(maps.Keys(owners)), []string{target})
		if err != nil {
			return err
		}
		if k == nil {
			continue
		}
		k.From = "{" + holeFor(target) + "}"
		f.Objects, f.Owner = strings.ReplaceAll(pattern, "{owner}", k.From), k
		alive, _, err := l.existing(ctx, Account, slices.Sorted(maps.Keys(k.gone)))
		k.Alive = len(alive)
		return err
	}
	return nil
}

// ownersOf returns the collections to which files of a folder may belong: first those that its name names, then those of people.
func (l *looker) ownersOf(folder string) (all []string) {
	for _, c := range l.found.Collections {
		if has(path.Base(folder), singular(strings.ToLower(c.Path))) {
			all = append(all, c.Path)
		}
	}
	all = append(all, l.owners()...)
	for _, c := range l.found.Collections {
		if !strings.Contains(c.Path, "/") && !slices.Contains(all, c.Path) {
			all = append(all, c.Path)
		}
	}
	const most = 8
	return all[:min(len(all), most)]
}

// ownerOf returns what stands for the hole of a pattern in an object's name; "" if nothing that could be an id.
func ownerOf(pattern, name string) string {
	bound, _ := (rule.Rule{Objects: pattern}).Binds()(name)
	for _, owner := range bound {
		if owner = strings.TrimSpace(owner); documents.ValidID(owner) {
			return owner
		}
	}
	return ""
}

// Accounts are accounts of Firebase Authentication.
type Accounts struct {
	Listed  int  `json:"listed"`
	AtLeast bool `json:"atLeast,omitempty"` // there may be more
	Guests  int  `json:"guests"`            // from an anonymous sign-in and nothing else

	lastActive map[string]time.Time // of guests, by uid
	owners     []string             // collections whose documents have the uids of accounts
	there      map[string]bool      // guests of the sample who have a document there
	looked     map[string]bool      // guests of the sample
}

// accounts lists the first accounts.
func (l *looker) accounts(ctx context.Context) error {
	if l.Accounts == nil {
		return nil
	}
	a := &Accounts{lastActive: map[string]time.Time{}}
	pages := 0
	for page, err := range l.Accounts.Pages(ctx, "") {
		if err != nil {
			return err
		}
		for _, account := range page.Accounts {
			a.Listed++
			if !account.Anonymous() {
				continue
			}
			a.Guests++
			if at, ok := account.LastActive(); ok {
				a.lastActive[account.UID] = at
			}
		}
		if pages++; pages == AccountPages {
			a.AtLeast = page.Next != ""
			break
		}
	}
	l.found.Accounts = a
	return nil
}

// guests looks for the documents of guests, some of them if they are many.
func (l *looker) guests(ctx context.Context) error {
	a := l.found.Accounts
	if a == nil || a.Guests == 0 {
		return nil
	}
	a.owners, a.looked, a.there = l.owners(), map[string]bool{}, map[string]bool{}
	some := slices.Sorted(maps.Keys(a.lastActive))
	if len(a.owners) > 0 {
		some = spread(some, mostLinked)
	}
	for _, owners := range a.owners {
		there, all, err := l.existing(ctx, owners, some)
		if err != nil {
			return err
		}
		if !all {
			return nil // nothing is known of any guest then, so nothing is proposed
		}
		maps.Copy(a.there, there)
	}
	for _, uid := range some {
		a.looked[uid] = true
	}
	return nil
}
