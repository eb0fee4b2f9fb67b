package reliability

import (
	"net/http"
	"strings"
)

// transport is the HTTP transport of Cloud Storage's client.
type transport struct {
	process *Process
	base    http.RoundTripper
}

// RoundTrip sends a request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var answer *http.Response
	c := Call{Service: Storage, Method: r.Method}
	if _, object, ok := strings.Cut(r.URL.Path, "/o/"); ok {
		c.Targets = []string{object}
	}
	err := t.process.call(c, func() (err error) {
		answer, err = t.base.RoundTrip(r) //nolint:bodyclose // the caller's to close, or discard does
		return err
	}, func(f Fault) (err error) {
		discard(answer)
		answer, err = f.httpAnswer(r) //nolint:bodyclose // the caller's to close
		return err
	})
	if err != nil {
		discard(answer)
		return nil, err
	}
	return answer, nil
}

// discard closes an answer that nobody reads.
func discard(answer *http.Response) {
	if answer != nil {
		_ = answer.Body.Close() // it was received, and is of no use
	}
}

// authentication returns what is put around calls of Authentication.
func (p *Process) authentication(method string, uids []string, send func() error) error {
	return p.call(Call{Service: Authentication, Method: method, Targets: uids}, send, Fault.grpcError)
}
