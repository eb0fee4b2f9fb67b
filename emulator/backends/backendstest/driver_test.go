// Package backendstest_test says what jobs and tests need of Storage, Authentication, Firestore and Cloud Tasks. It knows only
// clients, so these tests run on our own backends and, if the *_EMULATOR_HOST variables name it, on the Firebase Emulator Suite.
// Where the suite does otherwise, [as] has both; docs/emulators.md lists the differences.
package backendstest_test

import (
	"strings"
	"testing"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/emulator/each"
)

// as returns what is expected: what Google's service does and ours like it, or what the Firebase Emulator Suite does.
func as[T any](ours bool, google, suite T) T {
	if ours {
		return google
	}
	return suite
}

var (
	ok   = check.OK
	same = check.Same
)

// all returns all that one of Google's iterators returns.
func all[T any](t *testing.T, list interface{ Next() (T, error) }) (found []T) {
	t.Helper()
	for one, err := range each.Of(list) {
		ok(t, err)
		found = append(found, one)
	}
	return found
}

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
