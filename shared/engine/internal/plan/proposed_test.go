package plan

import (
	"fmt"
	"testing"

	"github.com/firesweep/firesweep/shared/documents"
)

func TestProposedOnce(t *testing.T) {
	var p proposed
	of := func(i int) documents.Ref { return documents.Ref{Collection: "members", ID: fmt.Sprint(i)} }
	for i := range maxProposed {
		if !p.add("member", of(i)) || p.add("member", of(i)) {
			t.Fatalf("item %d is not new, or new twice", i)
		}
	}
	if p.add("member", of(0)) || len(p) != maxProposed {
		t.Errorf("%d items are remembered, want %d", len(p), maxProposed)
	}
	if !p.add("note", of(0)) || len(p) != 1 { // by another rule, and one more than is remembered
		t.Errorf("%d items are remembered, want the last", len(p))
	}
	if !p.add("member", of(0)) || p.add("member", of(0)) {
		t.Error("what was forgotten is not remembered anew")
	}
}
