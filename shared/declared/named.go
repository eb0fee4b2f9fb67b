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
// a field holds is user input. A name counts as one if it begins with the folder; anything else is read as a URL.
func objectsNamed(d documents.Document, a rule.Along, c config.Config) (names, kept []string) {
	under := strings.ReplaceAll(a.Under, "{id}", d.ID())
	for _, value := range valuesAt(d.Data, strings.Split(a.Object, ".")) {
		text, isText := value.(string)
		if value == nil || isText && text == "" {
			continue
		}
		if !isText {
			kept = append(kept, a.Object+" is not a text")
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

// valuesAt returns what lies at a path of fields, each of whose parts may end in [] for every element of a list. What is missing is
// nothing; something of another type is returned as it is.
func valuesAt(value any, path []string) []any {
	if len(path) == 0 {
		return []any{value}
	}
	fields, ok := value.(map[string]any)
	if value == nil {
		return nil
	}
	if !ok {
		return []any{value}
	}
	name, each := strings.CutSuffix(path[0], "[]")
	value = fields[name]
	list, ok := value.([]any)
	if !each || !ok {
		return valuesAt(value, path[1:])
	}
	var all []any
	for _, element := range list {
		all = append(all, valuesAt(element, path[1:])...)
	}
	return all
}
