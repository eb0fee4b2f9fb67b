package backendstest_test

import (
	"strings"
	"testing"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
)

func TestAllDocuments(t *testing.T) {
	p := backendstest.Start(t)
	want := []string{"a/b", "a/b/c/d/e/f", "a/missing/c/d", "x/y"}
	for _, path := range want {
		p.Set(t, path, map[string]any{"n": 1})
	}
	_, err := p.FirestoreDatabase(t, "second").Doc("x/z").Set(t.Context(), map[string]any{})
	ok(t, err)
	var got []string
	for _, d := range p.All(t) {
		_, path, _ := strings.Cut(d.Ref.Path, "/documents/")
		got = append(got, path)
	}
	same(t, "all documents", want, got)
}
