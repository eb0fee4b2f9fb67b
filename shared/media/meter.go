package media

import (
	"net/http"
	"strings"

	"github.com/firesweep/firesweep/shared/usage"
)

// meteredTransport counts the requests that Cloud Storage answered. What it could not answer (no connection, 429 and
// 5xx) is not billed.
type meteredTransport struct{ base http.RoundTripper }

// RoundTrip sends a request and counts it.
func (t meteredTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	if err != nil || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500 {
		return resp, err
	}
	m := usage.FromContext(req.Context())
	switch req.Method {
	case http.MethodDelete:
		if resp.StatusCode < 300 {
			m.StorageDeletes()
		}
	case http.MethodGet, http.MethodHead:
		if strings.HasSuffix(req.URL.Path, "/o") || strings.HasSuffix(req.URL.Path, "/b") {
			m.StorageClassA() // a listing
		} else {
			m.StorageClassB()
		}
	default:
		m.StorageClassA()
	}
	return resp, err
}
