package declared

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule"
)

// unfound tells what of a rule's with leads to nothing, once something is due. The first run that tells it does nothing: what
// belongs to the items would be left behind. A person who finds the names right runs the job again. None does anything where an
// unless of with looks in vain.
func unfound(ctx context.Context, p *cleanup.Planner, r rule.Rule) error {
	files := func(ctx context.Context, prefix string) (bool, error) {
		for page, err := range p.Objects.Pages(ctx, prefix, objects.Names{}) {
			return len(page) > 0, err
		}
		return false, nil
	}
	all, err := Unfound(ctx, p.Documents, files, r, r.Along())
	if err != nil {
		return err
	}
	why, err := Unfound(ctx, p.Documents, nil, r, r.Asks()[len(r.Related()):])
	isNew := false
	for _, text := range all {
		p.Warn(ctx, text)
		isNew = isNew || !slices.Contains(p.LastWarnings, text)
	}
	if isNew {
		why = append(why, strings.Join(all, "; ")+
			" Nothing is deleted this time. The next run deletes, by hand or by schedule: correct the rule before it, unless it is right")
	}
	if len(why) > 0 {
		p.Count(cleanup.Count{Collection: r.Source(), Why: strings.Join(why, "; ")})
	}
	return err
}

// Files reports whether a bucket has a file whose name begins so.
type Files func(ctx context.Context, prefix string) (bool, error)

// Unfound names each relation of all that leads to nothing, whatever the item: its collection has no document, its folder no file,
// or no document has the field by which it leads there. Without files, nobody looks into folders.
func Unfound(ctx context.Context, r documents.Reader, files Files, of rule.Rule, all []rule.Along) (said []string, err error) {
	l := lost{Rule: of, Reader: r, files: files}
	missed := "-"
	for _, w := range all {
		if strings.HasPrefix(w.Key, missed+".") { // what belongs to nothing
			continue
		}
		what, right, err := l.lacks(ctx, w)
		if err != nil {
			return nil, err
		}
		if what == "" {
			continue
		}
		so := "so nothing is deleted along by it"
		if !isWith(w) {
			so = "so a run does nothing"
		}
		said, missed = append(said, fmt.Sprintf("%s: %s, %s: is that its name?%s", w.Key, what, so, right)), w.Key
	}
	return said, nil
}

// isWith reports whether a relation is one of with, and not of what keeps something.
func isWith(w rule.Along) bool {
	return strings.HasPrefix(w.Key[strings.LastIndexByte(w.Key, '.')+1:], withRole)
}

type lost struct {
	rule.Rule
	documents.Reader
	files Files
}

// lacks says why a relation leads to nothing; "" if it may lead to something. right is what to do if the names are right.
func (l *lost) lacks(ctx context.Context, w rule.Along) (what, right string, err error) {
	to, fields := w.Place(w.Of), l.FieldHoles(w.Document+w.Account)
	if to == "" { // a field of the item refers to files
		fields = append(fields, w.Field)
	}
	if w.Of != "" && isWith(w) { // an account has no fields, and an item without those of gone and unless is kept
		if field, err := lacking(ctx, l.Reader, w.Of, nil, fields...); field != "" || err != nil {
			return fmt.Sprintf("no document of %s has %s", w.Of, field), "", err
		}
	}
	if folder, _, _ := strings.Cut(w.Objects, "{"); w.Objects != "" && l.files != nil {
		folder = strings.TrimSuffix(folder, rule.Everything)
		if some, err := l.files(ctx, folder); !some || err != nil {
			return "no file is below " + folder, "", err
		}
	}
	if !to.IsKnown() {
		return "", "", nil
	}
	within := ""
	if w.Within != nil {
		within = w.Within.Field
	}
	field, empty, err := nothing(ctx, l.Reader, to, nil, w.Field, within)
	if !empty || err != nil {
		if field != "" {
			what = fmt.Sprintf("no document of %s has %s", to, field)
		}
		return what, "", err
	}
	if below, err := l.below(ctx, w.Relation); below || err != nil {
		return "", "", err
	}
	if !isWith(w) {
		right = " If it is, put any document into it"
	}
	return fmt.Sprintf("the collection %s has no document", to), right, nil
}

// below reports whether there are documents below a subcollection that has none itself.
func (l *lost) below(ctx context.Context, w rule.Relation) (bool, error) {
	for _, b := range w.With {
		if b.Subcollection == "" || w.Subcollection == "" {
			continue
		}
		found, err := l.First(ctx, b.Place("").Query(documents.NameOnly...), "", lookedIn)
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

// nothing says why nothing is found in a place by fields of its documents: which of them none has, or that there is no document.
// That costs a read for each field that one has.
func nothing(ctx context.Context, r documents.Reader, in rule.Place, collections []string, fields ...string) (
	lacks string, empty bool, err error,
) {
	if lacks, err = lacking(ctx, r, in, collections, fields...); err != nil {
		return "", false, err
	}
	if lacks == "" && !in.IsGroup() && strings.Join(fields, "") != "" {
		return "", false, nil
	}
	found, err := r.First(ctx, in.Query(documents.NameOnly...), "", 1)
	return lacks, len(found) == 0, err
}

// lacking returns what no document of a place has by which the first of fields, as a rule writes them, could lead somewhere; "" if
// all could, or if there is no document to tell by.
func lacking(ctx context.Context, r documents.Reader, in rule.Place, collections []string, fields ...string) (
	lacks string, err error,
) {
	for _, field := range fields {
		if field != "" && lacks == "" && err == nil {
			lacks, err = lackingOne(ctx, r, in, collections, field)
		}
	}
	return lacks, err
}

// lackingOne is lacking for one field. No index spans many collections: it looks at the first of those or a group.
func lackingOne(ctx context.Context, r documents.Reader, in rule.Place, collections []string, field string) (string, error) {
	name, of := field, shapeOf(field)
	name, _, _ = strings.Cut(strings.TrimSuffix(strings.TrimSuffix(name, ".{id}"), ".*"), "[]")
	q, n := in.Query(name), 1
	var asks []documents.Query
	switch {
	case !in.IsGroup():
		q.OrderBy = []string{name}
		set := q
		set.Where = []documents.Filter{{Field: name, Op: "!=", Value: nil}}
		if asks = append(asks, set); of.least != nil { // what sorts before it may hide it
			q.From = []any{of.least}
			asks = append(asks, q)
		}
	case len(collections) > 0 && strings.Contains(collections[0], "/"):
		for _, collection := range collections {
			asks = append(asks, documents.Query{Collection: collection, Select: q.Select})
		}
	default:
		asks, n = append(asks, q), lookedIn
	}
	lacks := ""
	if !in.IsGroup() {
		lacks = name
	}
	for _, q := range asks {
		found, err := r.First(ctx, q, "", n)
		if err != nil || len(found) == 0 && !in.IsGroup() {
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
