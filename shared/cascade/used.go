package cascade

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
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
	case isList:
		q.Where = []documents.Filter{{Field: field, Op: "array-contains-any", Value: exact}}
	case len(a.beginnings) == 0:
		q.Where = []documents.Filter{{Field: field, Op: "in", Value: exact}}
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
			a.exact = append(documents.NamesOf(to.ID), src.Reference(to))
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
		if in == w.Place() && len(w.Fields(rule.Relation{Document: path})) == 1 {
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

// keptUsed is the reason to keep what goes along because somebody else refers to it.
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

// leaveShared takes out of what goes along the documents to which others refer that stay, with what belongs to these. One that a
// later commit deletes takes along what this one leaves.
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

// file is what a text of an item refers to: files that go along, and why something of it stays.
type file struct {
	names []string
	kept  string
}

// gatherFiles looks up which files the fields of items refer to, and who else refers to them: one query for each.
func (w With) gatherFiles(ctx context.Context, src cleanup.Source, due []*item) error {
	goes := going(due)
	for _, i := range due {
		if !i.whole || i.kept != "" {
			continue
		}
		for _, a := range w.With {
			if a.Objects == "" || a.Field == "" || w.Strict {
				continue
			}
			if err := w.gatherNamed(ctx, src, a, i, goes); err != nil {
				return err
			}
		}
	}
	return nil
}

// gatherNamed is gatherFiles for one field of one item.
func (w With) gatherNamed(ctx context.Context, src cleanup.Source, a rule.Relation, i *item, goes map[documents.Ref]bool) error {
	cfg := src.Run().Config
	texts := objects.Texts{Bucket: cfg.Bucket, EmulatorHost: cfg.Emulators.Storage, Folder: folderOf(a, *i)}
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
			used, err := w.usedFile(ctx, src, texts, i, text, there[name], goes)
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

// usedFile reports whether a document of an item's collection stays that refers to a file, by any field by which files go along.
func (w With) usedFile(ctx context.Context, src cleanup.Source, texts objects.Texts, i *item, text string,
	o objects.Object, goes map[documents.Ref]bool,
) (bool, error) {
	exact, beginnings := texts.References(o)
	for _, b := range w.With {
		if b.Objects == "" || b.Field == "" {
			continue
		}
		asks := asking{Place: w.Place(), field: b.Field, exact: []any{text}, beginnings: beginnings}
		asks.refers = func(d documents.Document) bool {
			other, _ := d.Value(b.Field).(string)
			names, all := objects.Mentioned(other, texts.Folder)
			return other == text || other == "" || !all || slices.Contains(names, objects.Spelling(o.Name))
		}
		for _, one := range exact {
			asks.exact = append(asks.exact, one)
		}
		if list, rest, inMaps := strings.Cut(b.Field, "[]."); inMaps {
			if asks.exact = elementsWith(i.Data, list, rest, text); len(asks.exact) == 0 {
				continue // the item does not refer to it by this field
			}
		}
		r, err := referring(ctx, src, asks)
		if err != nil || r.stay(goes) {
			return true, err
		}
	}
	return false, nil
}

// elementsWith returns the elements of a list that hold a text at a path.
func elementsWith(data map[string]any, list, rest, text string) (all []any) {
	values := valuesAt(data, strings.Split(list, "."))
	elements, _ := values[len(values)-1].([]any)
	for _, element := range elements {
		if slices.Contains(valuesAt(element, strings.Split(rest, ".")), any(text)) {
			all = append(all, element)
		}
	}
	return all
}

// folderOf returns the folder of an item's files.
func folderOf(a rule.Relation, i item) string {
	return strings.ReplaceAll(strings.TrimSuffix(a.Objects, rule.Everything), "{id}", i.ID())
}
