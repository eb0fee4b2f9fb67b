package documents_test

import (
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
)

func TestObjectID(t *testing.T) {
	at := time.Date(2026, 1, 10, 4, 17, 33, 0, time.UTC)
	id := documents.ObjectID(at, "a", "b")
	if len(id) != 24 || id[:8] != "6961d2dd" { // 1768018653 seconds
		t.Errorf("id %q, want 24 digits that begin with the Unix seconds", id)
	}
	if again := documents.ObjectID(at.In(time.FixedZone("JST", 9*60*60)), "a", "b"); again != id {
		t.Errorf("the same causes at the same time make %q and %q", id, again)
	}
	for name, other := range map[string]string{
		"another second": documents.ObjectID(at.Add(time.Second), "a", "b"),
		"another cause":  documents.ObjectID(at, "a", "c"),
		"a cause less":   documents.ObjectID(at, "a"),
		"joined":         documents.ObjectID(at, "ab"),
		"another order":  documents.ObjectID(at, "b", "a"),
	} {
		if other == id {
			t.Errorf("%s: the same id", name)
		}
	}
}
