package objects_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/time/rate"

	"github.com/firesweep/firesweep/shared/harmless/harmlesstest"
	"github.com/firesweep/firesweep/shared/objects"
)

func TestReadOnly(t *testing.T) {
	t.Parallel()
	sent := 0
	client := http.Client{Transport: objects.ReadOnly(roundTripper(func(r *http.Request) (*http.Response, error) {
		sent++
		return answer(r, http.StatusNoContent, ""), nil
	}))}
	for _, tt := range []struct {
		method string
		sent   bool
	}{
		{http.MethodGet, true}, {http.MethodHead, true}, {http.MethodDelete, false}, {http.MethodPost, false},
		{http.MethodPut, false}, {http.MethodPatch, false},
	} {
		sent = 0
		var body io.Reader
		if !tt.sent {
			body = strings.NewReader("{}")
		}
		r, err := http.NewRequestWithContext(t.Context(), tt.method, "http://storage.invalid/b/bucket/o/name", body)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err == nil {
			_ = response.Body.Close()
		}
		if (err == nil) != tt.sent || (sent == 1) != tt.sent {
			t.Errorf("%s: sent %d times, %v", tt.method, sent, err)
		}
		if err != nil && !strings.Contains(err.Error(), "only reads") {
			t.Errorf("%s: %v", tt.method, err)
		}
	}
}

// TestErrorsAreHarmless: no error repeats a name, or what Cloud Storage answers, so that it does anything to who reads it.
func TestErrorsAreHarmless(t *testing.T) {
	for _, evil := range harmlesstest.Texts {
		body, err := json.Marshal(map[string]any{"error": map[string]any{"code": 403, "message": "no right to " + evil}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, c, _ := openBucket(t, objects.Bucket{Name: "b", EmulatorHost: "storage.invalid"},
			func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
				return answer(r, http.StatusForbidden, string(body)), nil
			})
		_, _, errGet := c.Reader().Get(ctx, evil)
		harmlesstest.Check(t, "Get", errGet)
		harmlesstest.Check(t, "Delete", c.Writer(rate.NewLimiter(rate.Inf, 0)).Delete(ctx, objects.Deletion{Name: evil, Generation: 1}))
		_, errFolder := objects.ParseFolders(evil)
		harmlesstest.Check(t, "ParseFolders", errFolder)
		for _, err := range c.Reader().Pages(ctx, evil, objects.Names{}) {
			harmlesstest.Check(t, "Pages", err)
		}
	}
}
