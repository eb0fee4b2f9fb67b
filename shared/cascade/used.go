package cascade

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
	"github.com/firesweep/firesweep/shared/rule/pattern"
)

// referrers are the documents that refer to something by a field.
type referrers struct {
	refs []documents.Ref
	many bool // and perhaps more
}

// stay reports whether one of them stays.
func (r referrers) stay(goes map[documents.Ref]bool) bool {
	return r.many || slices.ContainsFunc(r.refs, func(ref documents.Ref) bool { return !goes[ref] })
}

// asking is how documents of a place are asked which of them refer to something by a field.
type asking struct {
	rule.Place
	field      string // as a rule writes it
	exact      []any  // values that refer to it
	beginnings []string
	refers     func(documents.Document) bool // of what is found: whether it does
}

// mostReferrers is how many documents are looked at that refer to the same.
const mostReferrers = 100

// referring asks which documents refer to something: one query. No query finds what is in maps of a list by a part of the map.
func referring(ctx context.Context, src cleanup.Source, a asking) (r referrers, err error) {
	field, _, isList := strings.Cut(a.field, "[]")
	q := a.Query(field)
	q.ReadOnly = true
	exact := slices.DeleteFunc(a.exact, func(v any) bool { return !documents.Queryable(v) })
	exact = exact[:min(len(exact), criteria.MaxAlternatives)]
	between := func(first, last any) {
		if documents.Queryable(first) && documents.Queryable(last) {
			q.Any = append(q.Any, []documents.Filter{{Field: field, Op: ">=", Value: first}, {Field: field, Op: "<=", Value: last}})
		}
	}
	switch {
	case len(a.beginnings) == 0 || isList:
		one := documents.Filter{Field: field, Op: "in", Value: exact}
		of := documents.Filter{Field: field, Op: "array-contains-any", Value: exact}
		switch {
		case a.Group == "" && len(exact)*2 <= criteria.MaxAlternatives: // in one document a list, in another one value
			q.Any = [][]documents.Filter{{one}, {of}}
		case isList:
			q.Where = []documents.Filter{of}
		default:
			q.Where = []documents.Filter{one}
		}
	default:
		q.OrderBy = []string{field}
		for _, text := range a.beginnings {
			between(text, text+"\uffff")
		}
		for _, value := range exact {
			text, _ := value.(string)
			if !slices.ContainsFunc(a.beginnings, func(beginning string) bool { return strings.HasPrefix(text, beginning) }) {
				between(value, value)
			}
		}
	}
	if len(exact)+len(q.Any) == 0 {
		return referrers{many: true}, nil // no query can ask
	}
	found, err := src.First(ctx, q, "", mostReferrers)
	if r.many = len(found) == mostReferrers || errors.Is(err, documents.ErrTooMuch); r.many {
		return r, nil
	}
	for _, d := range found {
		if a.refers == nil || a.refers(d) {
			r.refs = append(r.refs, d.Ref())
		}
	}
	return r, err
}

// referrersOf returns the documents of a place that refer, as an item of it does, to the document to which a path leads. claimed
// is false if the path alone says that it belongs to the item.
func (w With) referrersOf(
	ctx context.Context, src cleanup.Source, in rule.Place, path string, of rule.Item, to documents.Ref,
) (r referrers, claimed bool, err error) {
	for _, hole := range criteria.Holes(path) {
		if _, own := of.Own(hole); own {
			continue
		}
		a := asking{Place: in, field: hole}
		if strings.HasSuffix(path, "/{"+hole+"}") {
			a.exact = rule.NamesOf(to, false, src.Reference)
		} else {
			value, _ := of.Field(strings.TrimSuffix(hole, "[]"))
			list, isList := value.([]any)
			if a.exact = list; !isList {
				a.exact = []any{value}
			}
		}
		if m, isMap := strings.CutSuffix(hole, ".*"); isMap {
			return w.havingKey(ctx, src, in, m, to.ID)
		}
		if in == w.Place() && len(w.FieldHoles(path)) == 1 {
			a.refers = func(d documents.Document) bool {
				item, _ := w.ItemOf(d)
				refs, ok := item.Fill(path)
				return !ok || slices.Contains(refs, to)
			}
		}
		r, err := referring(ctx, src, a)
		return r, true, err
	}
	return r, false, nil
}

// havingKey returns the documents that have a key in a map.
func (w With) havingKey(
	ctx context.Context, src cleanup.Source, in rule.Place, field, key string,
) (r referrers, claimed bool, err error) {
	if strings.ContainsAny(key, ".~*/[]`") || in.Group != "" {
		return referrers{many: true}, true, nil // no query can ask
	}
	q := in.Query(documents.NameOnly...)
	q.OrderBy, q.From, q.ReadOnly = []string{field + "." + key}, []any{nil}, true
	found, err := src.First(ctx, q, "", mostReferrers)
	for _, d := range found {
		r.refs = append(r.refs, d.Ref())
	}
	r.many = len(found) == mostReferrers
	return r, true, err
}

// keptUsed is the reason to keep what is deleted with it because somebody else refers to it.
func (w With) keptUsed() string { return "another document of " + w.Source() + " refers to it" }

// going are the documents that a commit deletes.
func going(due []*item) map[documents.Ref]bool {
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
	return goes
}

// leaveShared takes out of what is deleted with items the documents to which others refer that stay, with what belongs to these.
// One that a later commit deletes deletes what this one leaves.
func (w With) leaveShared(due []*item) {
	for again := true; again; {
		again = false
		goes := going(due)
		for _, i := range due {
			stays := map[documents.Ref]bool{}
			for _, c := range slices.Backward(i.children) { // those that lead to others come after them
				if c.claimed && c.referrers.stay(goes) {
					i.shared = append(i.shared, c.Ref())
					stays[c.Ref()] = true
				}
				stays[c.Ref()] = stays[c.Ref()] || stays[c.above]
			}
			n := len(i.children)
			i.children = slices.DeleteFunc(i.children, func(c child) bool { return stays[c.Ref()] })
			again = again || len(i.children) < n
		}
	}
}

// file is what a text of an item refers to: files that are deleted with it, and why something of it stays.
type file struct {
	names []string
	kept  string
}

// mentions are the files to which documents of a rule's collection refer by its fields, in whatever shape and spelling, by their
// spelling, and the folders of these. It is read once a run, where no query can ask who else refers to a file.
type mentions struct {
	mu    sync.Mutex
	run   string
	by    map[string][]documents.Ref
	full  bool            // and more than there is room for
	shape map[string]bool // fields of which some document has another shape than the rule says
}

// bytesOfMention is about what one needs; a quarter of the process's memory is for all of them.
const bytesOfMention = 150

// begin forgets what an earlier run has read. The lock is held.
func (m *mentions) begin(run string) *mentions {
	if m.run != run {
		m.run, m.by, m.full, m.shape = run, nil, false, map[string]bool{}
	}
	return m
}

// readMentions reads them, unless that was done.
func (w With) readMentions(ctx context.Context, src cleanup.Source) error {
	m := w.mentions.begin(src.Run().ID)
	if m.by != nil {
		return nil
	}
	m.by = map[string][]documents.Ref{}
	q := w.Place().Query()
	for _, a := range w.named() {
		q.Select = append(q.Select, rule.Selected(a.Field)...)
	}
	for page, err := range src.Pages(ctx, q) {
		if err != nil {
			m.by = nil
			return err
		}
		for _, d := range page.Documents {
			for name := range w.mentioned(d) {
				m.by[name] = append(m.by[name], d.Ref())
				m.full = m.full || int64(len(m.by)) > config.MemoryLimit()/4/bytesOfMention
			}
			if m.full {
				return nil
			}
		}
	}
	return nil
}

// anything is in place of the names that a text may mean if there are more than anybody can tell.
const anything = ""

// mentioned returns what a document refers to, by spelling: files, and the folders of these.
func (w With) mentioned(d documents.Document) map[string]bool {
	all := map[string]bool{}
	for _, a := range w.named() {
		folder := pattern.Folder(a.Objects)
		field, _, _ := strings.Cut(a.Field, ".")
		for _, text := range textsIn(valuesAt(d.Data, []string{strings.TrimSuffix(field, "[]")})) {
			names, sure := objects.Mentioned(text, cmp.Or(folder, "/"))
			if folder == "" {
				names = append(names, objects.Spelling(strings.Trim(text, " /")))
			}
			all[anything] = all[anything] || !sure
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
	if !all[anything] {
		delete(all, anything)
	}
	return all
}

// textsIn returns all texts in a value.
func textsIn(value any) (all []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			all = append(all, textsIn(one)...)
		}
	case map[string]any:
		for _, one := range v {
			all = append(all, textsIn(one)...)
		}
	}
	return all
}

// mentioning returns the documents that refer to a file, or to one in a folder, of those that there still are.
func (w With) mentioning(ctx context.Context, src cleanup.Source, name string, goes map[documents.Ref]bool) (
	r referrers, err error,
) {
	w.mentions.mu.Lock()
	defer w.mentions.mu.Unlock()
	if err := w.readMentions(ctx, src); err != nil || w.mentions.full {
		return referrers{many: true}, err
	}
	name = objects.Spelling(name)
	refs := slices.Concat(w.mentions.by[name], w.mentions.by[anything])
	refs = slices.DeleteFunc(refs, func(ref documents.Ref) bool { return goes[ref] })
	if len(refs) > mostReferrers {
		return referrers{many: true}, nil
	}
	there, err := src.Get(ctx, refs)
	r.refs = slices.Collect(maps.Keys(there))
	return r, err
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

// otherwise reports whether some document has a field in another shape than the rule says: a list instead of a text, or a text
// instead of a list. Of many collections, no index tells.
func (w With) otherwise(ctx context.Context, src cleanup.Source, field string) (bool, error) {
	name, isList := strings.CutSuffix(field, "[]")
	if w.IsGroup() {
		return false, nil
	}
	w.mentions.mu.Lock()
	defer w.mentions.mu.Unlock()
	m := w.mentions.begin(src.Run().ID)
	if other, known := m.shape[field]; known {
		return other, nil
	}
	q := w.Place().Query(name)
	q.OrderBy, q.From, q.ReadOnly = []string{name}, []any{[]any{}}, true
	if isList {
		q.From = []any{""}
	}
	found, err := src.First(ctx, q, "", 1)
	other := false
	for _, d := range found {
		_, hasText := valuesAt(d.Data, strings.Split(name, "."))[0].(string)
		other = !isList || hasText
	}
	m.shape[field] = other
	return other, err
}

// gatherFiles looks up which files the fields of items refer to, and who else refers to them: one query for each.
func (w With) gatherFiles(ctx context.Context, src cleanup.Source, due []*item) error {
	goes := going(due)
	for _, i := range due {
		if !i.whole || i.kept != "" {
			continue
		}
		for _, a := range w.With {
			var used bool
			var err error
			switch {
			case a.Objects == "" || w.Strict:
			case a.Field == "":
				if len(w.named()) > 0 {
					used, err = w.usedFile(ctx, src, w.texts(src, a, *i), "", objects.Object{Name: folderOf(a, *i)}, goes)
				}
			default:
				err = w.gatherNamed(ctx, src, a, i, goes)
			}
			if i.used = i.used || used; err != nil {
				return err
			}
		}
	}
	return nil
}

// gatherNamed is gatherFiles for one field of one item.
func (w With) gatherNamed(ctx context.Context, src cleanup.Source, a rule.Relation, i *item, goes map[documents.Ref]bool) error {
	texts := w.texts(src, a, *i)
	var asked []string
	files := map[string]file{}
	for _, value := range valuesAt(i.Data, strings.Split(a.Field, ".")) {
		text, isText := value.(string)
		if _, known := files[text]; !isText || known || len(files) == maxNamed {
			continue
		}
		var some []string
		_, ok := texts.Objects(text, func(name string) bool {
			some = append(some, name)
			return false
		})
		if files[text] = (file{}); !ok {
			files[text] = file{kept: a.Field + " holds a text that may refer to more files than anybody can tell"}
		} else {
			asked = append(asked, some...)
		}
	}
	slices.Sort(asked)
	there, err := src.Objects(ctx, slices.Compact(asked))
	if err != nil {
		return err
	}
	if i.files == nil {
		i.files = map[string]map[string]file{}
	}
	i.files[a.Key] = files
	for text, f := range files {
		if f.kept != "" {
			continue
		}
		names, ok := texts.Objects(text, func(name string) bool { return there[name].Name != "" })
		if !ok {
			f.kept = a.Field + " may refer to several files"
		}
		for _, name := range names {
			used, err := w.usedFile(ctx, src, texts, text, there[name], goes)
			if err != nil {
				return err
			}
			if used {
				f.kept = w.keptUsed()
			} else {
				f.names = append(f.names, name)
			}
		}
		files[text] = f
	}
	return nil
}

// usedFile reports whether a document of an item's collection stays that refers to a file by any field that with names.
func (w With) usedFile(ctx context.Context, src cleanup.Source, texts objects.Texts, text string,
	o objects.Object, goes map[documents.Ref]bool,
) (bool, error) {
	exact, beginnings := texts.References(o)
	inFolder := strings.HasSuffix(o.Name, "/")
	if inFolder {
		exact, beginnings = nil, append(exact, beginnings...)
	}
	for _, b := range w.named() {
		asks := asking{Place: w.Place(), field: b.Field, beginnings: beginnings}
		asks.refers = func(d documents.Document) bool {
			other, _ := d.Value(b.Field).(string)
			names, all := objects.Mentioned(other, texts.Folder)
			return other == text || other == "" || !all || slices.ContainsFunc(names, func(name string) bool {
				return name == objects.Spelling(o.Name) || inFolder && strings.HasPrefix(name, objects.Spelling(o.Name))
			})
		}
		if text != "" {
			asks.exact = []any{text}
		}
		for _, one := range exact {
			asks.exact = append(asks.exact, one)
		}
		// No query finds what is in maps of a list by a part of the map, nor an element of a list by its beginning.
		scan := strings.Contains(b.Field, "[].") || inFolder && strings.HasSuffix(b.Field, "[]")
		if !scan {
			var err error
			if scan, err = w.otherwise(ctx, src, b.Field); err != nil {
				return false, err
			}
		}
		var r referrers
		var err error
		if scan {
			r, err = w.mentioning(ctx, src, o.Name, goes)
		} else {
			r, err = referring(ctx, src, asks)
		}
		if err != nil || r.stay(goes) {
			return true, err
		}
	}
	return false, nil
}

// texts says what texts are like that refer to an item's files.
func (w With) texts(src cleanup.Source, a rule.Relation, i item) objects.Texts {
	cfg := src.Run().Config
	return objects.Texts{Bucket: cfg.Bucket, EmulatorHost: cfg.Emulators.Storage, Folder: folderOf(a, i)}
}

// folderOf returns the folder of an item's files.
func folderOf(a rule.Relation, i item) string {
	return strings.ReplaceAll(strings.TrimSuffix(a.Objects, rule.Everything), "{id}", i.ID())
}
