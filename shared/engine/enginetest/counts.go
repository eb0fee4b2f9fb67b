package enginetest

import (
	"context"
	"maps"
	"net/http"
	"path"
	"strings"

	"google.golang.org/grpc"

	"github.com/firesweep/firesweep/shared/accounts"
)

// counts returns how many requests of each service and method were sent so far, e.g. of "Storage GET objects". A test that replaces a
// hook for Storage or Authentication leaves out that service.
func (r *Recorder) counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.all)
}

func (r *Recorder) count(method string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.countLocked(method)
}

func (r *Recorder) countLocked(method string) {
	if r.all == nil {
		r.all = map[string]int{}
	}
	r.all[method]++
}

func (r *Recorder) task(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	r.count("Tasks " + path.Base(method))
	return invoke(ctx, method, req, reply, cc, opts...)
}

// countedStorage counts requests to Storage, whose paths are /storage/v1/b/BUCKET, and behind that /o and /o/OBJECT.
type countedStorage struct {
	base     http.RoundTripper
	recorder *Recorder
}

// RoundTrip implements [http.RoundTripper].
func (s countedStorage) RoundTrip(r *http.Request) (*http.Response, error) {
	_, resource, _ := strings.Cut(r.URL.EscapedPath(), "/b/")
	of := []string{"bucket", "objects", "object"}[min(2, strings.Count(resource, "/"))]
	s.recorder.count("Storage " + r.Method + " " + of)
	return s.base.RoundTrip(r)
}

// countedAccounts counts calls of Authentication.
type countedAccounts struct {
	accounts.API
	recorder *Recorder
}

// DeleteUsers implements [accounts.API].
func (a countedAccounts) DeleteUsers(ctx context.Context, uids []string) (map[int]string, error) {
	a.recorder.count("Authentication DeleteUsers")
	return a.API.DeleteUsers(ctx, uids)
}

// GetUsers implements [accounts.API].
func (a countedAccounts) GetUsers(ctx context.Context, by *accounts.Identifiers) ([]*accounts.User, error) {
	a.recorder.count("Authentication GetUsers")
	return a.API.GetUsers(ctx, by)
}

// ListUsers implements [accounts.API].
func (a countedAccounts) ListUsers(ctx context.Context, token string) ([]*accounts.User, string, error) {
	a.recorder.count("Authentication ListUsers")
	return a.API.ListUsers(ctx, token)
}

// Tenants implements [accounts.API].
func (a countedAccounts) Tenants(ctx context.Context) (bool, error) {
	a.recorder.count("Authentication Tenants")
	return a.API.Tenants(ctx)
}

// ImportUsers implements [accounts.API].
func (a countedAccounts) ImportUsers(ctx context.Context, upload *accounts.Upload) (map[int]string, error) {
	a.recorder.count("Authentication ImportUsers")
	return a.API.ImportUsers(ctx, upload)
}
