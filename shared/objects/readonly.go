package objects

import (
	"fmt"
	"net/http"
)

// ReadOnly wraps a transport for [Open]: it refuses every request that does not only read, before it is sent.
func ReadOnly(base http.RoundTripper) http.RoundTripper { return readOnlyTransport{base} }

type readOnlyTransport struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t readOnlyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if r.Body != nil {
			_ = r.Body.Close() // as every RoundTripper must; what comes of it concerns nobody
		}
		return nil, fmt.Errorf("the request %s %s was not sent: this connection only reads", r.Method, r.URL.Path)
	}
	return t.base.RoundTrip(r)
}
