package ghostcircles

import (
	"context"
	"slices"
	"strings"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"

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
