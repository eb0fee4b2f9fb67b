package declared

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule"
)

// unfound tells what of a rule's with leads to nothing, once something is due. The first run that tells it does nothing: what
// belongs to the items would be left behind. A person who finds the names right runs the job again. Where nothing is due, it only
// repeats what the last run told.
func unfound(ctx context.Context, p *cleanup.Planner, r rule.Rule, due bool) error {
	files := func(ctx context.Context, prefix string) (bool, error) {
		for page, err := range p.Objects.Pages(ctx, prefix, objects.Names{}) {
			return len(page) > 0, err
		}
		return false, nil
	}
	all, err := Unfound(ctx, p.Documents, files, r)
	if err != nil {
		return err
	}
	if due {
		if err := unkept(ctx, p, r); err != nil {
			return err
		}
	}
	isNew := false
	for _, text := range all {
		if !due && !slices.Contains(p.LastWarnings, text) { // what is deleted with items is perhaps all deleted
			continue
		}
		p.Warn(ctx, text)
		isNew = isNew || !slices.Contains(p.LastWarnings, text)
	}
	if isNew {
		p.Count(cleanup.Count{Collection: r.Source(), Why: strings.Join(all, "; ") +
			" Nothing is deleted this time. The next run deletes, by hand or by schedule: correct the rule before it, unless it is right"})
	}
	return nil
}

// unkept tells what keeps documents that would be deleted with items, and leads to nothing, whatever the document. It keeps none.
// As with unless of items, nothing is deleted as long as that is so.
func unkept(ctx context.Context, p *cleanup.Planner, r rule.Rule) error {
	asked := map[string]rule.Relation{}
	for _, w := range r.Along() {
		for _, u := range w.Unless {
			asked[u.Key] = u
		}
	}
	for _, other := range r.Others {
		if !other.OfDocuments() {
			continue
		}
		for _, u := range other.Unless {
			asked[u.Key+" of "+other.Entry] = u
		}
	}
	l := lost{Rule: r, Reader: p.Documents}
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		if asked[key].Place() == (rule.Place{}) { // a condition, or an account
			continue
		}
		what, err := l.lacks(ctx, rule.Place{}, asked[key])
		if err != nil {
			return err
		}
		if what != "" {
			p.Count(cleanup.Count{Collection: r.Source(), Why: fmt.Sprintf("%s: %s, so nothing is kept because of it: correct the "+
				"name in the rule or, if it is right, put any document into that collection that has it. Until then nothing is "+
				"deleted", key, what)})
		}
	}
	return nil
}

// Files reports whether a bucket has a file whose name begins so.
type Files func(ctx context.Context, prefix string) (bool, error)

// Unfound names each relation of a rule's with that leads to nothing, whatever the item: its collection has no document, its
// folder no file, or no document has the field by which it leads there. Such a rule deletes its items and leaves the rest
// behind. Without files, nobody looks into folders.
func Unfound(ctx context.Context, r documents.Reader, files Files, of rule.Rule) (said []string, err error) {
	l := lost{Rule: of, Reader: r, files: files}
	missed := "-"
	for _, w := range of.Along() {
		if strings.HasPrefix(w.Key, missed+".") { // what belongs to nothing
			continue
		}
		what, err := l.lacks(ctx, w.In, w.Relation)
		if err != nil {
			return nil, err
		}
		if what != "" {
			said, missed = append(said, fmt.Sprintf("%s: %s, so nothing is deleted along by it: is that its name?", w.Key, what)), w.Key
		}
	}
	return said, nil
}

type lost struct {
	rule.Rule
	documents.Reader
	files Files
}

// lacks says why a relation of documents of a place leads to nothing; "" if it may lead to something.
func (l *lost) lacks(ctx context.Context, in rule.Place, w rule.Relation) (string, error) {
	to, fields := w.Place(), l.FieldHoles(w.Document+w.Account)
	if to == (rule.Place{}) { // a field of the item refers to files
		fields = append(fields, w.Field)
	}
	for _, field := range fields {
		if in == (rule.Place{}) { // an account has no fields
			break
		}
		if lacks, err := lacking(ctx, l.Reader, in, nil, field); lacks != "" || err != nil {
			return fmt.Sprintf("no document of %s has %s", in.Collection, lacks), err
		}
	}
	if folder, _, _ := strings.Cut(w.Objects, "{"); w.Objects != "" && l.files != nil {
		folder = strings.TrimSuffix(folder, rule.Everything)
		if some, err := l.files(ctx, folder); !some || err != nil {
			return "no file is below " + folder, err
		}
	}
	if to == (rule.Place{}) || to.Group == rule.Everything || strings.Contains(to.Group, "{") { // {parent} stands for the collection

		return "", nil
	}
	if empty, err := isEmpty(ctx, l.Reader, to); empty || err != nil {
		below, failed := l.below(ctx, w)
		if err = cmp.Or(err, failed); below {
			return "", err
		}
		return "the collection " + to.Collection + " has no document", err
	}
	if lacks, err := lacking(ctx, l.Reader, to, nil, w.Field); lacks != "" || err != nil {
		return fmt.Sprintf("no document of %s has %s", to.Collection, lacks), err
	}
	return "", nil
}

// below reports whether there are documents below a subcollection that has none itself.
func (l *lost) below(ctx context.Context, w rule.Relation) (bool, error) {
	for _, b := range w.With {
		if b.Subcollection == "" || w.Subcollection == "" {
			continue
		}
		found, err := l.First(ctx, b.Place().Query(documents.NameOnly...), "", lookedIn)
		of := func(d documents.Document) bool {
			return path.Base(path.Dir(path.Dir(d.Ref().Collection))) == w.Subcollection
		}
		if err != nil || slices.ContainsFunc(found, of) {
			return true, err
		}
	}
	return false, nil
}

// lookedIn is in how many collections, or at how many documents of a group, a run looks for a field that nobody may have written.
const lookedIn = 20

// lacking returns what no document of a place has by which a field, as a rule writes it, could lead somewhere; "" if one has it,
// or if there is no document to tell by. No index spans many collections: it looks at the first of those or a group.
func lacking(ctx context.Context, r documents.Reader, in rule.Place, collections []string, field string) (string, error) {
	name, of := field, shapeOf(field)
	if name = strings.TrimSuffix(strings.TrimSuffix(name, ".{id}"), ".*"); name == "" {
		return "", nil
	}
	name, _, _ = strings.Cut(name, "[]")
	q, n := in.Query(name), 1
	var asks []documents.Query
	switch {
	case in.Group == "":
		q.OrderBy = []string{name}
		set := q
		set.Where = []documents.Filter{{Field: name, Op: "!=", Value: nil}}
		if asks = append(asks, set); of.least != nil { // what sorts before it may hide it
			q.From = []any{of.least}
			asks = append(asks, q)
		}
	case len(collections) > 0 && collections[0] != in.Group:
		for _, collection := range collections {
			asks = append(asks, documents.Query{Collection: collection, Select: q.Select})
		}
	default:
		asks, n = append(asks, q), lookedIn
	}
	lacks := ""
	if in.Group == "" {
		lacks = name
	}
	for _, q := range asks {
		found, err := r.First(ctx, q, "", n)
		if err != nil || len(found) == 0 && in.Group == "" {
			return lacks, err
		}
		for _, d := range found {
			switch value := d.Value(name); {
			case value != nil && of.fits(value):
				return "", nil
			case value != nil:
				lacks = fmt.Sprintf(of.words, name)
			case lacks == "":
				lacks = name
			}
		}
	}
	return lacks, nil
}

// shape is what a field must hold to lead somewhere.
type shape struct {
	words string
	fits  func(value any) bool
	least any // of a list or a map: the first of them in the order of Firestore
}

func isList(value any) bool { _, is := value.([]any); return is }
func isMap(value any) bool  { _, is := value.(map[string]any); return is }

// shapeOf returns the shape that a rule gives a field.
func shapeOf(field string) shape {
	switch {
	case strings.HasSuffix(field, "[]"):
		ofValues := func(value any) bool {
			all, _ := value.([]any)
			return isList(value) && (len(all) == 0 || !isList(all[0]) && !isMap(all[0]))
		}
		return shape{"a list of values in %[1]s (if it holds one value, write %[1]s)", ofValues, []any{}}
	case strings.Contains(field, "[]"):
		return shape{"a list in %s", isList, []any{}}
	case strings.HasSuffix(field, ".*"), strings.HasSuffix(field, ".{id}"):
		return shape{"a map in %s", isMap, map[string]any{}}
	}
	ofOne := func(value any) bool { return !isList(value) && !isMap(value) }
	return shape{"one value in %[1]s (if it holds a list, write %[1]s[])", ofOne, nil}
}
