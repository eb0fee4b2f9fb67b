package backendstest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
)

func TestAllDocuments(t *testing.T) {
	p := backendstest.Start(t)
	want := []string{"a/b", "a/b/c/d/e/f", "a/missing/c/d", "x/y"}
	for _, path := range want {
		p.Set(t, path, map[string]any{"n": 1})
	}
	if _, err := p.FirestoreDatabase(t, "second").Doc("x/z").Set(context.Background(), map[string]any{}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range p.All(t) {
		_, path, _ := strings.Cut(d.Ref.Path, "/documents/")
		got = append(got, path)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("all documents (-want +got):\n%s", diff)
	}
}
