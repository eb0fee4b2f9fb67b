package enginetest

import (
	"os"
	"strings"
	"testing"
)

// ended is a test that runs its cleanup at once and records its failure.
type ended struct {
	testing.TB
	cleanup func()
	failure string
}

func (e *ended) Helper()                   {}
func (e *ended) Failed() bool              { return false }
func (e *ended) Cleanup(f func())          { e.cleanup = f }
func (e *ended) Errorf(_ string, a ...any) { e.failure = a[1].(string) }

func TestGoldenFileThatDiffers(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("testdata", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/known.golden", []byte("Firestore Commit 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"known", "Firestore Commit 2\n", ""},
		{"known", "Firestore Commit 3\n", "Commit 3"},
		{"known", "", "Commit 2"},
		{"unknown", "Firestore Commit 2\n", "Commit 2"},
	} {
		e := &ended{TB: t}
		NewGolden(e, tt.name).text.WriteString(tt.text)
		e.cleanup()
		if (e.failure == "") != (tt.want == "") || !strings.Contains(e.failure, tt.want) {
			t.Errorf("%s, %q: told %q, want %q", tt.name, tt.text, e.failure, tt.want)
		}
	}
}
