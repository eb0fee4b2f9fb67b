package declared_test

import (
	"testing"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// TestFieldNamedUID: in a document, {uid} is its field of that name, as any other; only an account's rule calls the id so.
func TestFieldNamedUID(t *testing.T) {
	f := start(t, fields{"collection": "profiles", "age": "any", "maxDuePercent": 100, "gone": array{fields{"account": "{uid}"}}})
	f.SignUp(t, "hana")
	for id, data := range map[string]fields{"a": {"uid": "hana"}, "b": {"uid": "gone"}, "hana": {"uid": "gone"}, "none": {"x": true}} {
		f.Set(t, "profiles/"+id, data)
	}
	f.Run(t, "")
	enginetest.Want(t, "profiles", []string{"a", "none"}, f.IDs(t, "profiles"))
}
