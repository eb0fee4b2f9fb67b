package placeholderusers

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/firesweep/firesweep/shared/config"
)

// defaultReferences are where users are referred to unless PLACEHOLDER_REFERENCES says otherwise.
const defaultReferences = "posts.userId,comments.userId,projects.owner_ids,projects.maintainer_ids,members.user_id"

// maxReferences keeps a worker's transaction small: each is a query.
const maxReferences = 50

// maxReferenceName is the longest name of a collection or a field that Firestore takes, in bytes.
const maxReferenceName = 1500

// settings returns the references that keep a user.
func settings(l *config.Loader) any {
	return config.Parsed(l, "PLACEHOLDER_REFERENCES", defaultReferences, "pairs of collection.field, separated by commas", parseReferences)
}

// reference is a field that refers to users by their ids, alone or in a list.
type reference struct{ collection, field string }

var referencePattern = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*)\.([A-Za-z_][A-Za-z0-9_]*)$`)

// parseReferences parses pairs of a top-level collection and a field of its documents, such as
// "posts.userId,projects.owner_ids".
func parseReferences(text string) ([]reference, error) {
	var references []reference
	for pair := range strings.SplitSeq(text, ",") {
		m := referencePattern.FindStringSubmatch(strings.TrimSpace(pair))
		if m == nil || len(m[1]) > maxReferenceName || len(m[2]) > maxReferenceName {
			return nil, fmt.Errorf("%q is not collection.field", pair)
		}
		if reservedName(m[1]) || reservedName(m[2]) {
			return nil, fmt.Errorf("%q: Firestore reserves names of the form __…__", pair)
		}
		references = append(references, reference{collection: m[1], field: m[2]})
	}
	if len(references) > maxReferences {
		return nil, fmt.Errorf("%d pairs are more than %d", len(references), maxReferences)
	}
	return references, nil
}

// reservedName reports whether no collection and no field can have the name: a query for it fails.
func reservedName(name string) bool {
	return len(name) >= 4 && strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__")
}
