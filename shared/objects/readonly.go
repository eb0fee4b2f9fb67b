package objects

import (
	"fmt"
	"net/http"
)

// ReadOnly wraps a transport for [Open]. It allows only requests that read, and refuses all others before they are sent.
func ReadOnly(base http.RoundTripper) http.RoundTripper { return readOnlyTransport{base} }

type readOnlyTransport struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t readOnlyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if r.Body != nil {
			_ = r.Body.Close() // every RoundTripper must close it; an error does not matter
		}
		return nil, fmt.Errorf("the request %s %s was not sent: this connection only reads", r.Method, r.URL.Path)
	}
	return t.base.RoundTrip(r)
}
