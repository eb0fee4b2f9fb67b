package objects_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

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
		ok(t, err)
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
