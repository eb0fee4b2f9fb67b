// Package check says in tests what is wrong.
package check

import (
	"errors"
	"os"
	"strings"
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

// Holds fails a test unless a text holds all of some parts.
func Holds(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// Fails fails a test unless there is an error that says all of some parts.
func Fails(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one that says %q", parts)
		return
	}
	Holds(t, err.Error(), parts...)
}

// Is fails a test unless an error is the wanted one.
func Is(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}
