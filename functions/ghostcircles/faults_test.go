package ghostcircles

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// onUnary lets a test see and disturb the unary requests to Firestore, which all writes are; send sends one.
func onUnary(f *sweeptest.Function, handle func(req any, send func() error) error) {
	f.Hooks.Dial = append(f.Hooks.Dial, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return handle(req, func() error { return invoke(ctx, method, req, reply, cc, opts...) })
		}))
}

// deletes reports whether a request is a commit that deletes a document of a collection, or the document of a path.
func deletes(req any, path string) bool {
	commit, _ := req.(*firestorepb.CommitRequest)
	for _, w := range commit.GetWrites() {
		_, deleted, _ := strings.Cut(w.GetDelete(), "/documents/")
		if deleted == path || strings.HasPrefix(deleted, path+"/") {
			return true
		}
	}
	return false
}

// updates reports whether a request is a commit that writes a document.
func updates(req any, path string) bool {
	commit, _ := req.(*firestorepb.CommitRequest)
	return slices.ContainsFunc(commit.GetWrites(), func(w *firestorepb.Write) bool {
		return strings.HasSuffix(w.GetUpdate().GetName(), "/documents/"+path)
	})
}

// dead is what a request of a dead process would be answered, if it were: nothing repeats it.
var dead = status.Error(codes.PermissionDenied, "the process is dead")

// kill ends the process in effect: once so many writes to Firestore and deletes of Storage have been answered, no request
// gets through, not even to release the lease. Only what a dead process had locked is released, as Firestore does after a
// minute.
func kill(t *testing.T, f *sweeptest.Function, writes int) (killed func() bool) {
	t.Helper()
	var answered atomic.Int64
	isDead := func() bool { return answered.Load() >= int64(writes) }
	onUnary(f, func(req any, send func() error) error {
		if _, ok := req.(*firestorepb.RollbackRequest); !ok && isDead() {
			return dead
		}
		err := send()
		switch r := req.(type) {
		case *firestorepb.CommitRequest:
			if len(r.GetWrites()) > 0 {
				answered.Add(1)
			}
		case *firestorepb.BatchWriteRequest:
			answered.Add(1)
		}
		return err
	})
	f.Hooks.Dial = append(f.Hooks.Dial, grpc.WithChainStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			if isDead() {
				return nil, dead
			}
			return stream(ctx, desc, cc, method, opts...)
		}))
	f.Hooks.Transport = func(base http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if isDead() {
				return &http.Response{StatusCode: http.StatusForbidden, Status: "403 Forbidden", Request: r, Header: http.Header{}, Body: http.NoBody}, nil
			}
			if r.Method == http.MethodDelete {
				defer answered.Add(1)
			}
			return base.RoundTrip(r)
		})
	}
	return isDead
}
