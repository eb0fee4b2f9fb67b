package enginetest

import (
	"context"
	"strings"

	"google.golang.org/grpc"
)

// RefuseCounts has each of the function's counts of documents fail with an error, as Firestore does if an index is missing.
func (f *Function) RefuseCounts(err error) {
	f.Hooks.Dial = append(f.Hooks.Dial, grpc.WithChainStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer,
			opts ...grpc.CallOption) (grpc.ClientStream, error) {
			if strings.HasSuffix(method, "/RunAggregationQuery") {
				return nil, err
			}
			return stream(ctx, desc, cc, method, opts...)
		}))
}
