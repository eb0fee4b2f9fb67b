package cascade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/flow"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
	"github.com/firesweep/firesweep/shared/rule/pattern"
)

// thing is a document, a file or a folder, and how documents of a place refer to it.
type thing struct {
	in     rule.Place
	fields []string                      // by which they do, as the rule writes them
	exact  []any                         // what is asked for with the commit: how most applications write it
	keys   []string                      // in mentions
	refers func(documents.Document) bool // whether one does
}

// referrers are the documents that refer to a thing.
type referrers struct {
	stay  bool            // one that stays does, or nobody can tell
	going []documents.Ref // those that the commit deletes
}

// mentions are what documents mean by the fields of a place, in whatever spelling and shape, and which documents these are. It is
// read once a run: no query finds what has something before it, or is in a map. If there is no room, what others may refer to
// stays; the references of shared/declared, which decide what is due, then stop the run.
type mentions struct {
	mu   sync.Mutex
	run  string
	of   map[rule.Place]map[string][]documents.Ref
	left int // how many more there is room for
}

const (
	bytesOfMention = 150 // is about what one needs; a quarter of the process's memory is for all of them
	mostReferrers  = 100 // is how many documents are looked at that a query finds
	readAtOnce     = 30  // of those that were read before
	anything       = ""  // is in place of the names that a text may mean if there are more than anybody can tell
)

// referring returns who refers to a thing, of the documents that there are.
func (w With) referring(
	ctx context.Context, src cleanup.Source, t thing, goes func(documents.Ref) bool,
) (r referrers, err error) {
	refs, all, err := t.found(ctx, src)
	if err != nil || !all {
		return referrers{stay: true}, err
	}
	read, all, err := w.mentioning(ctx, src, t)
	if err != nil || !all {
		return referrers{stay: true}, err
	}
	stays := func(ref documents.Ref) bool { return !goes(ref) }
	for some := range slices.Chunk(slices.Concat(refs, read), readAtOnce) {
		there, err := src.Get(ctx, some)
		if err != nil {
			return r, err
		}
		w.mentions.forget(src.Run().ID, t, some, there)
		for ref, d := range there {
			if t.refers(d) {
				r.going = append(r.going, ref)
			}
		}
		if slices.ContainsFunc(r.going, stays) {
			return referrers{stay: true}, nil
		}
	}
	return r, nil
}

// found asks which documents refer to a thing as most applications write it: with the commit, so that none is overlooked that was
// written since the others were read. all is false if there may be more.
func (t thing) found(ctx context.Context, src cleanup.Source) (refs []documents.Ref, all bool, err error) {
	exact := slices.DeleteFunc(t.exact, func(v any) bool { return !documents.Queryable(v) })
	for _, field := range t.fields {
		name, of, isList := strings.Cut(field, "[]")
		if of != "" || strings.HasSuffix(name, ".*") || len(exact) == 0 {
			continue // no query finds it there
		}
		q := t.in.Query(documents.NameOnly...)
		q.ReadOnly = true
		one := documents.Filter{Field: name, Op: "in", Value: exact[:min(len(exact), criteria.MaxAlternatives/2)]}
		list := one
		list.Op = "array-contains-any"
		switch {
		case !t.in.IsGroup(): // in one document a list, in another one value
			q.Any = [][]documents.Filter{{one}, {list}}
		case isList:
			q.Where = []documents.Filter{list}
		default:
			q.Where = []documents.Filter{one}
		}
		found, err := src.First(ctx, q, "", mostReferrers)
		switch {
		case errors.Is(err, documents.ErrTooMuch), err == nil && len(found) == mostReferrers:
			return nil, false, nil
		case err != nil:
			return nil, false, err
		}
		for _, d := range found {
			refs = append(refs, d.Ref())
		}
	}
	return refs, true, nil
}

// mentioning returns the documents that mean a thing, of those that the run has read. all is false if there was no room for them.
func (w With) mentioning(ctx context.Context, src cleanup.Source, t thing) (refs []documents.Ref, all bool, err error) {
	m := w.mentions
	m.mu.Lock()
	defer m.mu.Unlock()
	if run := src.Run().ID; m.run != run {
		m.run, m.of, m.left = run, map[rule.Place]map[string][]documents.Ref{}, int(config.MemoryLimit()/4/bytesOfMention)
	}
	if m.of[t.in] == nil {
		if m.of[t.in], err = w.readMentions(ctx, src, t.in); err != nil {
			return nil, false, err
		}
	}
	for _, key := range append(t.keys, anything) {
		refs = append(refs, m.of[t.in][key]...)
	}
	return refs, m.left > 0, nil
}

// readMentions reads what documents of a place mean, as far as there is room.
func (w With) readMentions(ctx context.Context, src cleanup.Source, in rule.Place) (map[string][]documents.Ref, error) {
	var fields []string
	for _, a := range w.Along() {
		if a.Of == in {
			fields = append(append(fields, w.FieldHoles(a.Document)...), a.Field)
		}
	}
	by := map[string][]documents.Ref{}
	for page, err := range src.Outside().Pages(ctx, in.Query(rule.Selected(fields...)...), "") {
		if err != nil {
			return nil, err
		}
		for _, d := range page.Documents {
			for key := range w.meant(in, d.Data) {
				by[key] = append(by[key], d.Ref())
				w.mentions.left--
			}
			if w.mentions.left <= 0 {
				return by, nil
			}
		}
	}
	return by, nil
}

// forget leaves out documents that are there no more, unless another run of this process has begun to read for itself.
func (m *mentions) forget(run string, t thing, read []documents.Ref, there map[documents.Ref]documents.Document) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.run != run {
		return
	}
	for _, key := range t.keys {
		m.of[t.in][key] = slices.DeleteFunc(m.of[t.in][key], func(ref documents.Ref) bool {
			_, exists := there[ref]
			return !exists && slices.Contains(read, ref)
		})
	}
}

// meant returns what fields of a document of a place may mean: files by their spelling, the folders of these, and documents.
func (w With) meant(in rule.Place, data map[string]any) map[string]bool {
	all := map[string]bool{}
	for _, value := range documents.Leaves(data) {
		for _, key := range keysOf(value) {
			all[key] = true
		}
		text, isText := value.(string)
		if !isText || in != w.Place() {
			continue
		}
		for _, a := range w.With {
			if a.Objects == "" {
				continue
			}
			folder := pattern.Folder(a.Objects)
			names, sure := objects.Mentioned(text, cmp.Or(folder, "/"))
			if folder == "" {
				names = append(names, objects.Spelling(strings.Trim(text, " /")))
			}
			if !sure {
				all[anything] = true
			}
			for _, name := range names {
				all[name] = true
				for i := range len(name) {
					if name[i] == '/' {
						all[name[:i+1]] = true
					}
				}
			}
		}
	}
	return all
}

// ofID begins what stands for documents of an id: no path begins so, and no spelling of a name.
const ofID = "id "

// keysOf returns the documents that a value may mean: by their path where it is a reference or a path, and else by an id, which
// may be among others, in quotes, encoded, or at the end of a URL.
func keysOf(value any) (keys []string) {
	if ref, ok := documents.RefIn(value); ok {
		return []string{"at " + ref.Path()}
	}
	switch v := value.(type) {
	case int64:
		return []string{ofID + strconv.FormatInt(v, 10)}
	case float64:
		return []string{ofID + strconv.FormatFloat(v, 'f', -1, 64)}
	case string:
		text := strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) {
				return -1 // which nobody sees
			}
			return r
		}, v)
		if decoded, err := url.PathUnescape(text); err == nil {
			text = decoded
		}
		keys = []string{ofID + v}
		between := func(r rune) bool { return strings.ContainsRune(" \t\r\n,;|:\"'`<>()[]{}", r) }
		for _, part := range append(strings.FieldsFunc(text, between), text) {
			part, _, _ = strings.Cut(strings.TrimSpace(part), "?")
			part, _, _ = strings.Cut(strings.Trim(part, "/"), "#")
			keys = append(keys, ofID+part[strings.LastIndexByte(part, '/')+1:])
		}
	}
	return keys
}

// fieldOf returns the field of a hole, whatever it stands for of what the field holds.
func fieldOf(hole string) string {
	name, _, _ := strings.Cut(strings.TrimSuffix(hole, ".*"), "[]")
	return name
}

// claimed returns the document to which a path leads, which others of a place may refer to as an item does, by this path or by
// another one of with; nil if the path alone says that it belongs to the item.
func (w With) claimed(src cleanup.Source, in rule.Place, path string, of rule.Item, to documents.Ref) *thing {
	own := func(hole string) bool { _, own := of.Own(hole); return own }
	holes := slices.DeleteFunc(criteria.Holes(path), own)
	if len(holes) == 0 {
		return nil
	}
	t := &thing{in: in, fields: holes[:1], keys: []string{"at " + to.Path()}}
	paths := map[string]string{path: fieldOf(holes[0])} // with the field that leads there
	if strings.HasSuffix(path, "/{"+holes[0]+"}") {
		t.exact, t.keys = rule.NamesOf(to, false, src.Reference), append(t.keys, ofID+to.ID)
		collection := strings.TrimSuffix(path, "{"+holes[0]+"}")
		for _, a := range w.Along() {
			id, same := strings.CutPrefix(a.Document, collection)
			others := slices.DeleteFunc(criteria.Holes(id), own)
			if a.Of == in && same && !strings.Contains(id, "/") && len(others) > 0 && paths[a.Document] == "" {
				t.fields, paths[a.Document] = append(t.fields, others[0]), fieldOf(others[0])
			}
		}
	} else {
		value, _ := of.Field(fieldOf(holes[0]))
		for _, one := range documents.Leaves(value) {
			t.exact, t.keys = append(t.exact, one), append(t.keys, keysOf(one)...)
		}
	}
	t.refers = func(d documents.Document) bool {
		other, _ := w.ItemOf(d)
		if in != w.Place() {
			other = inner(d, of)
		}
		means := false // what leads elsewhere may mean it all the same
		for path, name := range paths {
			refs, leads := other.Fill(path)
			if leads && slices.Contains(refs, to) {
				return true
			}
			for _, one := range documents.Leaves(d.Value(name)) {
				plain := ofID + fmt.Sprint(one) // which leads where it leads
				means = means || slices.ContainsFunc(keysOf(one), func(key string) bool {
					return slices.Contains(t.keys, key) && (!leads || key != plain)
				})
			}
		}
		return means
	}
	return t
}

// keptUsed is the reason to keep what is deleted with an item because another document of a place refers to it.
func keptUsed(in rule.Place) string { return "another document of " + in.String() + " refers to it" }

// going returns which documents a commit deletes or, in a preview, the run.
func going(src cleanup.Source, due []*item) func(documents.Ref) bool {
	goes := map[documents.Ref]bool{}
	for _, i := range due {
		if i.kept != "" || !i.whole && !i.Alone {
			continue
		}
		goes[i.Ref()] = i.whole
		for _, c := range i.children {
			goes[c.Ref()] = goes[c.Ref()] || c.loses == nil
		}
	}
	return func(ref documents.Ref) bool { return goes[ref] || src.Due(ref) }
}

// leaveShared takes out of what is deleted with items the documents to which others refer that stay, with what belongs to these.
// One that a later commit deletes deletes what this one leaves.
func (w With) leaveShared(ctx context.Context, src cleanup.Source, due []*item) (err error) {
	goes := going(src, due)
	for _, i := range due {
		for n := range i.children {
			c := &i.children[n]
			if c.claim == nil {
				continue
			}
			if c.referrers, err = w.referring(ctx, src, *c.claim, goes); err != nil {
				return err
			}
		}
	}
	for again := true; again; goes = going(src, due) {
		again = false
		for _, i := range due {
			stays := map[documents.Ref]bool{}
			for _, c := range slices.Backward(i.children) { // those that lead to others come after them
				if c.stay || slices.ContainsFunc(c.going, func(ref documents.Ref) bool { return !goes(ref) }) {
					i.left = append(i.left, left{c.Ref().String(), keptUsed(c.claim.in)})
					stays[c.Ref()] = true
				}
				stays[c.Ref()] = stays[c.Ref()] || stays[c.above]
			}
			n := len(i.children)
			i.children = slices.DeleteFunc(i.children, func(c child) bool { return stays[c.Ref()] })
			again = again || len(i.children) < n
		}
	}
	return nil
}

// file is what a text of an item refers to: files that are deleted with it, and why something of it stays.
type file struct {
	names []string
	kept  string
}

// named returns the relations by which fields refer to files.
func (w With) named() (all []rule.Relation) {
	for _, a := range w.With {
		if a.Objects != "" && a.Field != "" {
			all = append(all, a)
		}
	}
	return all
}

// gatherFiles looks up which files the fields of items refer to, and who else refers to them.
func (w With) gatherFiles(ctx context.Context, src cleanup.Source, due []*item) error {
	goes := going(src, due)
	for _, i := range due {
		if !i.whole || i.kept != "" || w.Strict {
			continue
		}
		i.files = map[string]map[string]file{}
		for _, a := range w.With {
			switch {
			case a.Objects != "" && a.Field != "":
				if err := w.gatherNamed(ctx, src, a, i, goes); err != nil {
					return err
				}
			case a.Objects != "" && len(w.named()) > 0:
				used, err := w.used(ctx, src, objects.Object{Name: folderOf(a, *i)}, nil, goes)
				if err != nil {
					return err
				}
				if used {
					i.used = true
					i.left = append(i.left, left{"the files of its folder", keptUsed(w.Place())})
				}
			}
		}
	}
	return nil
}

// textsAtOnce is how many texts are looked up side by side.
const textsAtOnce = 16

// gatherNamed is gatherFiles for one field of one item.
func (w With) gatherNamed(
	ctx context.Context, src cleanup.Source, a rule.Relation, i *item, goes func(documents.Ref) bool,
) error {
	cfg := src.Run().Config
	texts := objects.Texts{Bucket: cfg.Bucket, EmulatorHost: cfg.Emulators.Storage, Folder: folderOf(a, *i)}
	var all []string
	for _, value := range valuesAt(i.Data, strings.Split(a.Field, ".")) {
		if text, isText := value.(string); isText && len(all) < maxNamed && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	there := make([]map[string]objects.Object, len(all))
	files := make([]file, len(all))
	errs := flow.Many(textsAtOnce, len(all), func(n int) (err error) {
		there[n] = map[string]objects.Object{}
		names, ok := texts.Objects(all[n], func(name string) bool {
			o, found, failed := src.Object(ctx, name)
			if err = cmp.Or(err, failed); found {
				there[n][name] = o
			}
			return found
		})
		if files[n].names = names; !ok {
			files[n].kept = a.Field + " may refer to more files than anybody can tell"
		}
		return err
	})
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	i.files[a.Key] = map[string]file{}
	for n, f := range files {
		names := f.names
		f.names = nil
		for _, name := range names {
			exact := []any{all[n]}
			for _, one := range texts.References(there[n][name]) {
				exact = append(exact, one)
			}
			used, err := w.used(ctx, src, there[n][name], exact, goes)
			switch {
			case err != nil:
				return err
			case used:
				f.kept = keptUsed(w.Place())
			default:
				f.names = append(f.names, name)
			}
		}
		i.files[a.Key][all[n]] = f
	}
	return nil
}

// used reports whether a document of an item's collection stays that refers to a file, or to one in a folder, by any field by
// which with finds files. exact is how most applications refer to it.
func (w With) used(
	ctx context.Context, src cleanup.Source, o objects.Object, exact []any, goes func(documents.Ref) bool,
) (bool, error) {
	t := thing{in: w.Place(), exact: exact, keys: []string{objects.Spelling(o.Name)}}
	if ext := path.Ext(t.keys[0]); ext != "" { // some leave it out
		t.keys = append(t.keys, strings.TrimSuffix(t.keys[0], ext))
	}
	for _, a := range w.named() {
		t.fields = append(t.fields, a.Field)
	}
	t.refers = func(d documents.Document) bool {
		meant := w.meant(t.in, d.Data)
		return meant[anything] || slices.ContainsFunc(t.keys, func(key string) bool { return meant[key] })
	}
	r, err := w.referring(ctx, src, t, goes)
	return r.stay, err
}

// folderOf returns the folder of an item's files.
func folderOf(a rule.Relation, i item) string {
	return strings.ReplaceAll(strings.TrimSuffix(a.Objects, rule.Everything), "{id}", i.ID())
}
