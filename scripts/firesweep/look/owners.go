package look

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule/pattern"
)

// Numbers of owners.
const (
	leastOwners = 5 // fewer prove nothing
	mostOwners  = 100
)

// owner says to which documents the files of a folder belong, or what lies below them.
type owner struct {
	in     []string        // collections that have documents of these ids
	looked int             // at so many ids
	gone   map[string]bool // those of these whose documents are in none of them
	odd    bool            // one of them perhaps never had a document
}

// certain reports whether some is gone and, for all that is known, was there: where many are not, perhaps nobody ever wrote them.
func (o *owner) certain() bool {
	return o != nil && o.looked >= leastOwners && len(o.gone) > 0 && 4*len(o.gone) <= o.looked && !o.odd
}

// newOwner returns the owner of what belongs to some ids, of which those do not exist. Who has an account perhaps has no document
// yet.
func (l *looker) newOwner(ctx context.Context, in []string, looked int, gone []string) *owner {
	o := &owner{in: in, looked: looked, gone: map[string]bool{}, odd: l.haveAccounts(ctx, gone)}
	for _, id := range gone {
		o.gone[id] = true
	}
	return o
}

// haveAccounts reports whether one of these ids is, or may be, that of an account.
func (l *looker) haveAccounts(ctx context.Context, ids []string) bool {
	if l.Accounts == nil || len(ids) == 0 {
		return false
	}
	there, err := l.Accounts.Exist(ctx, ids)
	if err != nil {
		l.unseen("accounts: %s; so no rule is proposed for what may be somebody's", err)
	}
	return err != nil || slices.ContainsFunc(ids, func(id string) bool { return there[id] })
}

func idsOf(docs []documents.Document) (ids []string) {
	for _, d := range docs {
		ids = append(ids, d.ID())
	}
	return ids
}

// parents finds out which documents do not exist that those of a collection lie below.
func (l *looker) parents(ctx context.Context, c *place) {
	var gone []string
	for _, d := range c.docs {
		if id := parentOf(d); slices.Contains(c.above.missing, id) && !slices.Contains(gone, id) {
			gone = append(gone, id)
		}
	}
	c.owner = l.newOwner(ctx, []string{c.above.path}, c.above.names, gone)
	c.owner.odd = c.owner.odd || 4*len(c.above.missing) > c.above.names
}

func parentOf(d documents.Document) string { return path.Base(path.Dir(path.Dir(d.Path))) }

// allFiles looks at the folders at the top of the bucket, and at the first files of each.
func (l *looker) allFiles(ctx context.Context) error {
	if l.Bucket == nil {
		return nil
	}
	top, err := l.Bucket.First(ctx, "", true, filePage)
	top = slices.DeleteFunc(top, func(o objects.Object) bool { return !strings.HasSuffix(o.Name, "/") })
	if len(top) >= FilePages {
		l.unseen("files: only the first %d folders were looked at", FilePages-1)
	}
	for _, one := range top[:min(len(top), FilePages-1)] {
		f := &place{path: one.Name}
		page, err := l.Bucket.First(ctx, f.path, false, filePage)
		if err != nil {
			return err
		}
		for _, o := range page {
			if !strings.HasSuffix(o.Name, "/") {
				f.docs = append(f.docs, documents.Document{Path: o.Name, UpdateTime: o.Created})
			}
		}
		l.folders = append(l.folders, f)
		if err := l.ownerOf(ctx, f); err != nil {
			return err
		}
	}
	return err
}

// ownerOf finds the collections at the top to whose documents a folder's files belong, by the ids in their names: one has most of
// them, and each that has any may be the one to which these files belong.
func (l *looker) ownerOf(ctx context.Context, f *place) error {
	objects := f.path + "{owner}.*"
	if slices.ContainsFunc(f.docs, func(d documents.Document) bool { return strings.Contains(d.Path[len(f.path):], "/") }) {
		objects = f.path + "{owner}/**"
	}
	var ids []string
	for _, d := range f.docs {
		id := idIn(objects, d.Path)
		if id == "" { // at several depths, the id is not at one place
			return nil
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	ids = spread(slices.Compact(ids), mostOwners)
	left, most := ids, false // in none of the collections so far; one of them has most
	var owners []*place
	for _, in := range l.top {
		gone, known, err := l.gone(ctx, in, ids)
		if err != nil || !known { // nobody knows whether they belong to its documents
			return err
		}
		if len(gone) == len(ids) {
			continue
		}
		most = most || 2*len(gone) < len(ids)
		owners = append(owners, in)
		left = slices.DeleteFunc(slices.Clone(left), func(id string) bool { return !slices.Contains(gone, id) })
	}
	if !most {
		return nil
	}
	there := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(left, id) })
	odd := func(id string) bool {
		return !slices.ContainsFunc(there, func(other string) bool { return alike(id, other) })
	}
	var paths []string
	for _, in := range owners {
		paths = append(paths, in.path)
	}
	f.owner = l.newOwner(ctx, paths, len(ids), left)
	f.owner.odd = f.owner.odd || slices.ContainsFunc(left, odd)
	f.objects = objects
	if len(owners) == 1 {
		f.objects = strings.ReplaceAll(objects, "{owner}", owners[0].hole())
	}
	return nil
}

// idIn returns what stands for the hole of a pattern in an object's name; "" if nothing that could be an id.
func idIn(objects, name string) string {
	bound, _ := pattern.Binds(objects)(name)
	for _, id := range bound {
		if documents.ValidID(id) {
			return id
		}
	}
	return ""
}

var numbered = regexp.MustCompile(`^([A-Za-z]*).*[0-9]`)

// alike reports whether two ids are made in the same way: both are generated and have the same length, or they begin with the
// same letters and have a number. A word such as system is like nothing.
func alike(a, b string) bool {
	const generated = 16 // characters, and more
	one, other := numbered.FindStringSubmatch(a), numbered.FindStringSubmatch(b)
	return len(a) == len(b) && len(a) >= generated || one != nil && other != nil && one[1] == other[1]
}

// gone returns those of some ids that do not exist; known is false if they were not looked up.
func (l *looker) gone(ctx context.Context, in *place, ids []string) (gone []string, known bool, err error) {
	switch there := idsOf(in.docs); {
	case in.complete:
		return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(there, id) }), true, nil
	case !l.affords(len(ids)+len(ids)/30+1, "some of the documents to which files may belong"):
		return nil, false, nil
	}
	gone, err = l.DB.Missing(ctx, in.path, ids)
	return gone, true, err
}
