package objects

import (
	"net/http"
	"strings"

	"github.com/firesweep/firesweep/shared/usage"
)

// meteredTransport counts the requests that Cloud Storage bills. It does not bill requests that it answers with an error
// (https://cloud.google.com/storage/pricing#operations-notes).
type meteredTransport struct{ base http.RoundTripper }

// RoundTrip sends a request and counts it.
func (t meteredTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	if err != nil || resp.StatusCode >= http.StatusBadRequest {
		return resp, err
	}
	m := usage.FromContext(req.Context())
	switch req.Method {
	case http.MethodDelete:
		m.Add(usage.Usage{StorageDeletes: 1})
	case http.MethodGet, http.MethodHead:
		if isListing(req.URL.EscapedPath()) {
			m.Add(usage.Usage{StorageClassA: 1})
		} else {
			m.Add(usage.Usage{StorageClassB: 1})
		}
	default:
		m.Add(usage.Usage{StorageClassA: 1})
	}
	return resp, err
}

// isListing reports whether a path lists a bucket's objects, /storage/v1/b/BUCKET/o, and does not name an object that is
// called o.
func isListing(path string) bool {
	_, rest, _ := strings.Cut(path, "/b/")
	_, rest, _ = strings.Cut(rest, "/")
	return rest == "o"
}
