package cascade

import (
	"maps"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
)

// Changed returns the top-level field of a document that a path leads to, and the value that it has when the value at the path is
// changed, or removed if it is [documents.DeleteField]. What is no map on the way becomes one, unless nothing is to be removed.
func Changed(data map[string]any, path string, value any) (field string, whole any) {
	field, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		return field, value
	}
	before, isMap := data[field].(map[string]any)
	if !isMap && value == documents.DeleteField {
		return field, data[field]
	}
	inner := maps.Clone(before)
	if inner == nil {
		inner = map[string]any{}
	}
	name, changed := Changed(inner, rest, value)
	if inner[name] = changed; changed == documents.DeleteField {
		delete(inner, name)
	}
	return field, inner
}
