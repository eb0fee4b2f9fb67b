package config

import (
	"fmt"
	"regexp"
	"strings"
)

// DefaultPlaceholderReferences are where users are referred to unless PLACEHOLDER_REFERENCES says otherwise.
const DefaultPlaceholderReferences = "posts.userId,comments.userId,projects.owner_ids,projects.maintainer_ids,members.user_id"

// maxReferences keeps a worker's transaction small: each is a query.
const maxReferences = 50

// maxReferenceName is the longest name of a collection or a field that Firestore takes, in bytes.
const maxReferenceName = 1500

// Reference is a field that refers to users by their ids, alone or in a list.
type Reference struct{ Collection, Field string }

var referencePattern = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*)\.([A-Za-z_][A-Za-z0-9_]*)$`)

// References parses pairs of a top-level collection and a field of its documents, such as
// "posts.userId,projects.owner_ids".
func References(text string) ([]Reference, error) {
	var references []Reference
	for pair := range strings.SplitSeq(text, ",") {
		m := referencePattern.FindStringSubmatch(strings.TrimSpace(pair))
		if m == nil || len(m[1]) > maxReferenceName || len(m[2]) > maxReferenceName {
			return nil, fmt.Errorf("%q is not collection.field", pair)
		}
		if reservedName(m[1]) || reservedName(m[2]) {
			return nil, fmt.Errorf("%q: Firestore reserves names of the form __…__", pair)
		}
		references = append(references, Reference{Collection: m[1], Field: m[2]})
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

func (l *loader) references(name, otherwise string) string {
	v := l.getenv(name)
	if v == "" {
		return otherwise
	}
	if _, err := References(v); err != nil {
		l.problem("%s is %q: it must be pairs of collection.field, separated by commas: %s", name, v, err)
	}
	return v
}
