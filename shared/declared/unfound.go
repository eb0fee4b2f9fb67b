package declared

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule"
)

// unfound tells what of a rule's with leads to nothing, once something is due. The first run that tells it does nothing: what
// belongs to the items would be left behind. A person who finds the names right runs the job again.
func unfound(ctx context.Context, p *cleanup.Planner, r rule.Rule) error {
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
	isNew := false
	for _, text := range all {
		p.Warn(ctx, text)
		isNew = isNew || !slices.Contains(p.LastWarnings, text)
	}
	if isNew {
		p.Count(cleanup.Count{Collection: r.Source(), Why: strings.Join(all, "; ") +
			" Nothing is deleted this time. The next run deletes, by hand or by schedule: correct the rule before it, unless it is right"})
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
	to, fields := w.Place(), l.Fields(w)
	if to == (rule.Place{}) { // a field of the item refers to files
		fields = append(fields, w.Field)
	}
	for _, field := range fields {
		if in == (rule.Place{}) { // an account has no fields
			break
		}
		if lacks, err := lacks(ctx, l.Reader, in, field); lacks || err != nil {
			return fmt.Sprintf("no document of %s has %s", in.Collection, plain(field)), err
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
	if found, err := l.First(ctx, to.Query(documents.NameOnly...), "", 1); len(found) == 0 {
		return "the collection " + to.Collection + " has no document", err
	}
	if lacks, err := lacks(ctx, l.Reader, to, w.PlainField()); lacks || err != nil {
		return fmt.Sprintf("no document of %s has %s", to.Collection, w.PlainField()), err
	}
	return "", nil
}

func plain(field string) string {
	field, _, _ = strings.Cut(field, "[]")
	return field
}

// many is how many documents of many collections are looked at for a field, of which no index tells.
const many = 20

// lacks reports whether no document of a place has a field. Of many collections, it looks at the first documents.
func lacks(ctx context.Context, r documents.Reader, in rule.Place, field string) (bool, error) {
	if field = plain(field); field == "" {
		return false, nil
	}
	q, n := in.Query(field), 1
	if in.Group != "" {
		n = many
	} else {
		q.Where, q.OrderBy = []documents.Filter{{Field: field, Op: "!=", Value: nil}}, []string{field}
	}
	found, err := r.First(ctx, q, "", n)
	has := slices.ContainsFunc(found, func(d documents.Document) bool { return d.Value(field) != nil })
	return err == nil && !has && (in.Group == "" || len(found) > 0), err
}
