package expiredcomped_test

import (
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions/expiredcomped"
)

func TestObjectID(t *testing.T) {
	at := time.Date(2026, 1, 10, 4, 17, 33, 0, time.UTC)
	id := expiredcomped.ObjectID(at, "a", "b")
	if len(id) != 24 || id[:8] != "6961d2dd" { // 1768018653 seconds
		t.Errorf("id %q, want 24 digits that begin with the Unix seconds", id)
	}
	if again := expiredcomped.ObjectID(at.In(time.FixedZone("JST", 9*60*60)), "a", "b"); again != id {
		t.Errorf("the same causes at the same time make %q and %q", id, again)
	}
	for name, other := range map[string]string{
		"another second": expiredcomped.ObjectID(at.Add(time.Second), "a", "b"),
		"another cause":  expiredcomped.ObjectID(at, "a", "c"),
		"a cause less":   expiredcomped.ObjectID(at, "a"),
		"joined":         expiredcomped.ObjectID(at, "ab"),
		"another order":  expiredcomped.ObjectID(at, "b", "a"),
	} {
		if other == id {
			t.Errorf("%s: the same id", name)
		}
	}
}
