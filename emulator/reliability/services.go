package reliability

import (
	"context"
	"net/http"
	"strings"

	"github.com/firesweep/firesweep/shared/accounts"
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

// answered makes a call of Authentication.
func answered[T any](p *Process, method string, uids []string, send func() (T, error)) (result T, err error) {
	err = p.call(Call{Service: Authentication, Method: method, Targets: uids}, func() (err error) {
		result, err = send()
		return err
	}, Fault.grpcError)
	if err != nil {
		var none T
		return none, err
	}
	return result, nil
}

// authentication makes the calls of Authentication of a run or an undo.
type authentication struct {
	process *Process
	base    accounts.API
}

// DeleteUsers implements [accounts.API].
func (d authentication) DeleteUsers(ctx context.Context, uids []string) (map[int]string, error) {
	return answered(d.process, "DeleteUsers", uids, func() (map[int]string, error) { return d.base.DeleteUsers(ctx, uids) })
}

// GetUsers implements [accounts.API].
func (d authentication) GetUsers(ctx context.Context, by *accounts.Identifiers) ([]*accounts.User, error) {
	return answered(d.process, "GetUsers", by.LocalId, func() ([]*accounts.User, error) { return d.base.GetUsers(ctx, by) })
}

// Tenants implements [accounts.API].
func (d authentication) Tenants(ctx context.Context) (bool, error) {
	return answered(d.process, "Tenants", nil, func() (bool, error) { return d.base.Tenants(ctx) })
}

// ListUsers implements [accounts.API].
func (d authentication) ListUsers(ctx context.Context, token string) (users []*accounts.User, next string, err error) {
	users, err = answered(d.process, "ListUsers", nil, func() (page []*accounts.User, err error) {
		page, next, err = d.base.ListUsers(ctx, token)
		return page, err
	})
	return users, next, err
}

// ImportUsers implements [accounts.API].
func (d authentication) ImportUsers(ctx context.Context, upload *accounts.Upload) (map[int]string, error) {
	return answered(d.process, "ImportUsers", nil, func() (map[int]string, error) { return d.base.ImportUsers(ctx, upload) })
}
