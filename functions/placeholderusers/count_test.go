package placeholderusers

import (
	"context"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/sweep"
)

// TestDetailsThatCannotBeCountedAreRead: whether all details must be read is decided by counts. Without them, they are.
func TestDetailsThatCannotBeCountedAreRead(t *testing.T) {
	w := newWorld(t)
	w.placeholder(t, "mapped", false, "namespace_id", "g1")
	w.placeholder(t, "null", false)
	w.placeholder(t, "without", false, "namespace_id", missing)
	w.Hooks.Dial = append(w.Hooks.Dial, grpc.WithChainStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			if path.Base(method) == "RunAggregationQuery" {
				return nil, status.Error(codes.DeadlineExceeded, "it took too long")
			}
			return stream(ctx, desc, cc, method, opts...)
		}))
	got := w.Run(t, "")
	if got.Status != sweep.Completed || got.Scanned != 3 || got.Actions["have placeholder user deleted"].Done != 2 || got.Kept[keptNamespace] != 1 {
		t.Errorf("report %+v", got)
	}
	if diff := cmp.Diff([]string{details}, got.NotCounted); diff != "" {
		t.Errorf("not counted (-want +got):\n%s", diff)
	}
}
