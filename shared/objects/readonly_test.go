package objects_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/objects"
)

// counted answers every request with 204.
type counted struct{ sent int }

// RoundTrip implements http.RoundTripper.
func (c *counted) RoundTrip(*http.Request) (*http.Response, error) {
	c.sent++
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	base := &counted{}
	client := http.Client{Transport: objects.ReadOnly(base)}
	for _, tt := range []struct {
		method string
		sent   bool
	}{
		{http.MethodGet, true}, {http.MethodHead, true}, {http.MethodDelete, false}, {http.MethodPost, false},
		{http.MethodPut, false}, {http.MethodPatch, false},
	} {
		base.sent = 0
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
		if (err == nil) != tt.sent || (base.sent == 1) != tt.sent {
			t.Errorf("%s: sent %d times, %v", tt.method, base.sent, err)
		}
		if err != nil && !strings.Contains(err.Error(), "only reads") {
			t.Errorf("%s: %v", tt.method, err)
		}
	}
}
