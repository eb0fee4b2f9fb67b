package declared

import (
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule"
)

// objectsNamed returns the objects of the bucket that a document's field names below the rule's folder, and why others are kept: what
// a field holds is user input. A name counts as one if it begins with the folder; anything else is read as a URL. A field that is
// missing, null or empty names nothing; of a list, each element is to name something.
func objectsNamed(d documents.Document, a rule.Along, c config.Config) (names, kept []string) {
	under, listed := strings.ReplaceAll(a.Under, "{id}", d.ID()), strings.Contains(a.Object, "[]")
	for _, value := range valuesAt(d.Data, strings.Split(a.Object, ".")) {
		if !listed && (value == nil || value == "") {
			continue
		}
		text, isText := value.(string)
		if !isText {
			kept = append(kept, a.Object+" holds no text")
			continue
		}
		if strings.HasPrefix(text, under) {
			text = "gs://" + c.Bucket + "/" + text
		}
		switch name, err := objects.ObjectName(text, c.Bucket, c.Emulators.Storage); {
		case err != nil:
			kept = append(kept, a.Object+" holds "+err.Error())
		case !strings.HasPrefix(name, under) || name == under:
			kept = append(kept, a.Object+" names an object outside "+a.Under)
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), kept
}

// odd stands for what lies at a path that leads through something else than maps and lists, as it says.
type odd struct{}

// valuesAt returns what lies at a path of fields, each of which may end in [] for every element of a list: null where a field is
// missing, and nothing where a list is.
func valuesAt(value any, path []string) (all []any) {
	for i, part := range path {
		fields, isMap := value.(map[string]any)
		if value != nil && !isMap {
			return []any{odd{}}
		}
		name, each := strings.CutSuffix(part, "[]")
		if value = fields[name]; !each {
			continue
		}
		list, isList := value.([]any)
		if value != nil && !isList {
			return []any{odd{}}
		}
		for _, element := range list {
			all = append(all, valuesAt(element, path[i+1:])...)
		}
		return all
	}
	return []any{value}
}
