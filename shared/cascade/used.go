package cascade

import (
	"context"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// keptUsed is the reason to keep what goes along because somebody else refers to it.
func (w With) keptUsed() string { return "another document of " + w.Source() + " refers to it" }

// gatherUsed asks which objects that items refer to by a field others refer to that stay: one query for each. No query finds
// what is in maps of a list.
func (w With) gatherUsed(ctx context.Context, src cleanup.Source, a rule.Relation, due []*item) error {
	field, isList := strings.CutSuffix(a.Field, "[]")
	if w.Strict || a.Objects == "" || a.Field == "" || strings.Contains(field, "[]") {
		return nil
	}
	for _, i := range due {
		for n, value := range valuesAt(i.Data, strings.Split(a.Field, ".")) {
			text, isText := value.(string)
			if !isText || text == "" || n >= maxNamed {
				continue
			}
			names, bucket := []any{text}, src.Run().Config.Bucket
			if name, err := objects.ObjectName(text, bucket, src.Run().Config.Emulators.Storage); err == nil {
				names = append(names, name, "gs://"+bucket+"/"+name)
			} else {
				names = append(names, "gs://"+bucket+"/"+text)
			}
			others, err := w.others(ctx, src, i, due, filterOf(field, isList, names))
			if err != nil {
				return err
			}
			if i.used == nil {
				i.used = map[string]bool{}
			}
			i.used[text] = i.used[text] || others
		}
	}
	return nil
}

// refersElsewhere returns those of the documents that an item refers to by a field to which others refer that stay.
func (w With) refersElsewhere(
	ctx context.Context, src cleanup.Source, a rule.Relation, i *item, due []*item,
) (stay map[documents.Ref]bool, err error) {
	filled, _ := w.ItemOf(i.Document)
	last := a.Document[strings.LastIndexByte(a.Document, '/')+1:]
	hole, isHole := criteria.HoleOf(last)
	if _, own := filled.Own(hole); !isHole || own || strings.HasSuffix(hole, ".*") {
		return nil, nil // it is the item's by its path
	}
	refs, _ := filled.Fill(a.Document)
	field, isList := strings.CutSuffix(hole, "[]")
	for _, ref := range refs {
		names := documents.NamesOf(ref.ID)
		if reference := src.Reference(ref); documents.Queryable(reference) {
			names = append(names, reference)
		}
		others, err := w.others(ctx, src, i, due, filterOf(field, isList, names))
		if err != nil {
			return nil, err
		}
		if stay == nil {
			stay = map[documents.Ref]bool{}
		}
		if others {
			stay[ref] = true
		}
	}
	return stay, nil
}

// filterOf returns what finds documents whose field has one of some values.
func filterOf(field string, isList bool, values []any) documents.Filter {
	values = slices.DeleteFunc(values, func(v any) bool { return !documents.Queryable(v) })
	f := documents.Filter{Field: field, Op: "in", Value: values}
	if isList {
		f.Op = "array-contains-any"
	}
	return f
}

// others reports whether a document of an item's collection meets a filter that is not deleted in the same commit. One that a
// later commit deletes takes along what this one leaves.
func (w With) others(ctx context.Context, src cleanup.Source, i *item, due []*item, f documents.Filter) (bool, error) {
	if len(f.Value.([]any)) == 0 {
		return true, nil // no query can ask
	}
	q := documents.Query{Collection: i.Ref().Collection, Where: []documents.Filter{f}, Select: documents.NameOnly, ReadOnly: true}
	found, err := src.First(ctx, q, "", len(due)+1)
	return slices.ContainsFunc(found, func(d documents.Document) bool {
		return !slices.ContainsFunc(due, func(other *item) bool { return other.Path == d.Path })
	}), err
}
