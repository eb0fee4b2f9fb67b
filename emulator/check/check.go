// Package check says in tests what is wrong.
package check

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// OK ends a test that cannot go on.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Same fails a test if what it wanted and what it got differ.
func Same(t testing.TB, what string, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// File returns what is in a file.
func File(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	OK(t, err)
	return string(text)
}
