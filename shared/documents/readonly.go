package documents

import (
	"context"
	"fmt"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// readMethods are Firestore's requests that only read. Any other counts as a write.
var readMethods = map[string]bool{
	"GetDocument": true, "BatchGetDocuments": true, "ListDocuments": true, "ListCollectionIds": true,
	"RunQuery": true, "RunAggregationQuery": true,
}

// ReadOnly returns dial options for [Open] that allow only requests that read, and refuse all others before they are sent.
// The error's code is PermissionDenied, as with credentials that may not write.
func ReadOnly() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(
			func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
				opts ...grpc.CallOption) error {
				if err := refuseWrite(method); err != nil {
					return err
				}
				return invoke(ctx, method, req, reply, cc, opts...)
			}),
		grpc.WithChainStreamInterceptor(
			func(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer,
				opts ...grpc.CallOption) (grpc.ClientStream, error) {
				if err := refuseWrite(method); err != nil {
					return nil, err
				}
				return open(ctx, d, cc, method, opts...)
			}),
	}
}

func refuseWrite(method string) error {
	if name := path.Base(method); !readMethods[name] {
		return status.Error(codes.PermissionDenied, fmt.Sprintf("the request %s was not sent: this connection only reads", name))
	}
	return nil
}
