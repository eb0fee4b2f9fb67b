package reliability

import (
	"context"
	"net/http"
	"strings"

	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/shared/accounts"
)

// transport is Cloud Storage's.
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

// discard closes an answer that nobody is to read.
func discard(answer *http.Response) {
	if answer != nil {
		_ = answer.Body.Close() // it was received, and is of no use
	}
}

// authentication makes the calls of Authentication.
type authentication struct {
	process *Process
	base    accounts.API
}

// DeleteUsers implements [accounts.API].
func (d authentication) DeleteUsers(ctx context.Context, uids []string) (result *auth.DeleteUsersResult, err error) {
	c := Call{Service: Authentication, Method: "DeleteUsers", Targets: uids}
	err = d.process.call(c, func() (err error) {
		result, err = d.base.DeleteUsers(ctx, uids)
		return err
	}, func(f Fault) error { return f.grpcError() })
	if err != nil {
		return nil, err
	}
	return result, nil
}

// GetUsers implements [accounts.API].
func (d authentication) GetUsers(ctx context.Context, identifiers []auth.UserIdentifier) (result *auth.GetUsersResult, err error) {
	c := Call{Service: Authentication, Method: "GetUsers"}
	for _, id := range identifiers {
		if uid, ok := id.(auth.UIDIdentifier); ok {
			c.Targets = append(c.Targets, uid.UID)
		}
	}
	err = d.process.call(c, func() (err error) {
		result, err = d.base.GetUsers(ctx, identifiers)
		return err
	}, func(f Fault) error { return f.grpcError() })
	if err != nil {
		return nil, err
	}
	return result, nil
}
