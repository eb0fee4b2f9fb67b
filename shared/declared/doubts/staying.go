package doubts

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/pattern"
)

// asked is of how many items it is looked up whether documents elsewhere have their ids.
const asked = 5

// twins says of a collection whose documents have the ids of what the rule deletes that these would stay, unless the rule says
// anything of it. They belong to the rule's documents only if each of them has one of those.
func (l *looking) twins(ctx context.Context, in seen, own target) {
	says := func(of rule.Relation) bool { return top(of) == string(in.at) }
	alike := func(d documents.Document) bool {
		_, is, maybe := own.means(d.ID(), false)
		return is || maybe
	}
	if in.at.IsGroup() || l.left() < asked+mostOf ||
		!slices.ContainsFunc(in.sample, alike) || slices.ContainsFunc(slices.Concat(l.Related(), l.With), says) {
		return
	}
	var theirs []documents.Ref
	for _, id := range own.values[:min(asked, len(own.values))] {
		theirs = append(theirs, documents.Ref{Collection: string(in.at), ID: id.(string)})
	}
	var ids []string
	for _, d := range in.sample {
		ids = append(ids, d.ID())
	}
	if there, n, ok := l.exist(ctx, theirs); ok && 2*len(there) > n && l.have(ctx, ids, own) {
		l.wouldStay("documents of "+string(in.at), len(there), n, fmt.Sprintf(`add {"document": "%s/HOLE"} to "with"`, in.at))
	}
}

// have reports whether all documents are there, or deleted, that have those of some ids which are like the rule's: so what has
// the ids may belong to them.
func (l *looking) have(ctx context.Context, ids []string, own target) bool {
	var mine []documents.Ref
	for _, id := range ids {
		if _, is, maybe := own.means(id, false); maybe && !is && l.OfDocuments() && len(mine) < mostOf {
			mine = append(mine, documents.Ref{Collection: l.Source(), ID: id})
		}
	}
	there, n, ok := l.exist(ctx, mine)
	return ok && len(there) == n
}

// wouldStay says what has the ids of so many things of n that the rule deletes, and what to write, where HOLE stands for the id.
func (l *looking) wouldStay(what string, there, n int, write string) {
	of, hole := "accounts", "{uid}"
	if l.OfDocuments() {
		of, hole = "documents of "+l.Source(), "{id}"
	}
	write = strings.ReplaceAll(write, "HOLE", hole)
	l.say("%s have the ids of %d of %d %s that were looked at, and would stay: to delete them, too, %s", what, there, n, of, write)
}

// listed returns the first names that a listing of the bucket has.
func (l *looking) listed(ctx context.Context, prefix string) []string {
	if l.list == nil {
		return nil
	}
	names, err := l.list(ctx, prefix)
	l.failed = cmp.Or(l.failed, err)
	return names
}

// deletesBelow reports whether a rule about files is about some of a folder.
func (l *looking) deletesBelow(folder string) bool {
	return slices.ContainsFunc(l.beside, func(r rule.Rule) bool { return strings.HasPrefix(r.Objects, folder) })
}

// named is twins of the folders at the top of the bucket: of their files, or of the folders in them.
func (l *looking) named(ctx context.Context, own target) {
	folders, ids := l.listed(ctx, ""), own.values[:min(leastOf, len(own.values))]
	for _, folder := range folders[:min(asking, len(folders))] {
		says := func(w rule.Relation) bool { return strings.HasPrefix(w.Objects, folder) }
		if !strings.HasSuffix(folder, "/") || slices.ContainsFunc(l.With, says) || l.deletesBelow(folder) {
			continue
		}
		there, inFolders := 0, false
		for _, id := range ids {
			names := l.listed(ctx, folder+id.(string))
			if at := slices.IndexFunc(names, func(name string) bool { return idOf(name, folder) == id }); at >= 0 {
				there, inFolders = there+1, strings.Contains(names[at][len(folder):], "/")
			}
		}
		if 2*there <= len(ids) {
			continue
		}
		all := l.listed(ctx, folder)
		for i, name := range all {
			all[i] = idOf(name, folder)
		}
		objects := folder + "HOLE" + map[bool]string{true: "/**", false: ".*"}[inFolders]
		write := fmt.Sprintf(`add {"objects": %q} to "with"`, objects)
		if !inFolders || !l.OfDocuments() {
			write = fmt.Sprintf(`write a rule about files, {"objects": %q, "gone": [{"document": "%s/HOLE"}]}`, objects,
				cmp.Or(l.Source(), "users"))
		}
		if l.have(ctx, all, own) {
			l.wouldStay("files below "+folder, there, len(ids), write)
		}
	}
}

// copies says of files that are deleted because a field refers to them that their resized copies would stay.
func (l *looking) copies(ctx context.Context) {
	for _, w := range l.With {
		folder := pattern.Folder(w.Objects)
		if w.Field == "" || folder == "" || l.deletesBelow(folder) {
			continue
		}
		names := l.listed(ctx, folder)
		at := slices.IndexFunc(names, func(name string) bool {
			of := objects.OriginalOf(name)
			return of != name && slices.Contains(names, of)
		})
		if at >= 0 {
			l.say(`%s: resized copies, such as %s, would stay: to delete them, too, write a rule about files, {"objects": %q, `+
				`"gone": [%s]}`, w.Key, names[at], w.Objects, byField(l.at, w.Field))
		}
	}
}

// idOf returns the id that a file of a folder has in its name, or of which its folder is.
func idOf(name, folder string) string {
	name, _, isBelow := strings.Cut(strings.TrimPrefix(name, folder), "/")
	if !isBelow {
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	return name
}

// file matches a text that is a URL of Cloud Storage, or a file's name as applications write it, and its folder at the top.
var file = regexp.MustCompile(`^(?:gs://[^/]+/|https?://[^/]+/v0/b/[^/]+/o/|https://storage\.(?:cloud\.google|googleapis)` +
	`\.com/[^/]+/)` +
	`([^/?#]+/)[^/?#]` +
	`|^/?([\w-]+/)[^:?#\n]*\.(?i:jpe?g|png|gif|webp|heic|svg|pdf|mp[34]|m4[av]|mov|webm|wav|ogg|aac|zip|csv)$`)

// fileFolder returns the folder of the file to which a value refers; "" if it is none, or in no folder.
func fileFolder(value any) string {
	text, _ := value.(string)
	found := file.FindStringSubmatch(strings.NewReplacer("%2F", "/", "%2f", "/").Replace(text))
	return strings.Join(found[min(1, len(found)):], "")
}

// files names the fields of documents that are deleted that refer to files which would stay: in a folder to which nothing else
// refers, each document to its own, and no rule deletes them.
func (l *looking) files(shared map[string]bool) {
	type in struct{ field, folder string }
	for _, w := range append([]rule.Relation{{}}, l.With...) {
		values, from := map[in][]string{}, l.along[w.Key]
		if w.Key == "" {
			from = l.sample
		} else if w.Subcollection == "" {
			continue
		}
		for _, d := range from {
			for field, value := range documents.Leaves(d.Data) {
				file, _ := value.(string)
				folder := fileFolder(value)
				if folder != "" && !shared[folder] && !strings.HasSuffix(field, ".{id}") && !l.deletes(d, w, field, file) {
					values[in{field, folder}] = append(values[in{field, folder}], file)
				}
			}
		}
		for _, at := range slices.SortedFunc(maps.Keys(values), func(a, b in) int { return strings.Compare(a.field, b.field) }) {
			all := slices.Sorted(slices.Values(values[at]))
			if len(all) != len(slices.Compact(slices.Clone(all))) || len(all) < min(2, len(from)) {
				continue
			}
			of, write := l.Source(), fmt.Sprintf(`add {"objects": "%s**", "field": %q} to "with"`, at.folder, at.field)
			if w.Key != "" {
				of = w.Subcollection
				write = "write a rule about files with " + byField(rule.Anywhere(of), at.field) + ` in "gone"`
			}
			l.say("%s of documents of %s refers to files below %s, and these would stay: to delete them, too, %s", at.field, of,
				at.folder, write)
		}
	}
}

// deletes reports whether this rule or another deletes a file to which a field of a document refers, of the rule's collection or
// below.
func (l *looking) deletes(d documents.Document, below rule.Relation, field, file string) bool {
	id := d.ID()
	if below.Key != "" {
		id = path.Base(path.Dir(path.Dir(d.Path)))
	}
	isIn := func(folder string) bool {
		if folder == "" {
			return true
		}
		names, _ := objects.Mentioned(file, folder)
		return len(names) > 0
	}
	along := func(w rule.Relation) bool {
		return w.Objects != "" && (w.Field == "" && isIn(folderOf(w, id)) || w.Field == field && below.Key == "")
	}
	other := func(r rule.Rule) bool { return r.Objects != "" && isIn(pattern.Folder(r.Objects)) }
	return slices.ContainsFunc(l.With, along) || slices.ContainsFunc(l.beside, other)
}
