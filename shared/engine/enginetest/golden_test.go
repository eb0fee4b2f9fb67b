package enginetest

import (
	"maps"
	"net/http"
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

type noNetwork struct{}

func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrNotSupported }

func TestStorageRequestsByKind(t *testing.T) {
	r := &Recorder{}
	for _, of := range []string{"GET b/x", "GET b/x/o", "GET b/x/o?prefix=a/b/", "GET b/x/o/a%2Fb", "DELETE b/x/o/b%2Fc"} {
		method, path, _ := strings.Cut(of, " ")
		request, err := http.NewRequestWithContext(t.Context(), method, "http://localhost/storage/v1/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = countedStorage{noNetwork{}, r}.RoundTrip(request) //nolint:bodyclose // there is no response
		if err == nil {
			t.Error("answered")
		}
	}
	want := map[string]int{"Storage GET bucket": 1, "Storage GET objects": 2, "Storage GET object": 1, "Storage DELETE object": 1}
	if got := r.counts(); !maps.Equal(got, want) {
		t.Errorf("counts %v, want %v", got, want)
	}
}
