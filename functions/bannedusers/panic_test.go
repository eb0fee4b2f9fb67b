package bannedusers

import (
	"context"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/firesweep/firesweep/shared/sweep"
)

// TestPanicOverOneUser: users are deleted in goroutines of the job's own, where a panic would end the process.
func TestPanicOverOneUser(t *testing.T) {
	f := newFunction(t)
	for _, uid := range []string{"u1", "u2", "u3"} {
		f.Set(t, "users/"+uid, map[string]any{"banStatus": "permanent", "permanentBanScheduledDeletionAt": ago(time.Hour)})
	}
	var begun atomic.Int32
	f.Hooks.Dial = append(f.Hooks.Dial, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			// One that panics before it has begun leaves no lock behind.
			if path.Base(method) == "BeginTransaction" && begun.Add(1) == 3 {
				panic("poisoned")
			}
			return invoke(ctx, method, req, reply, cc, opts...)
		}))
	got := f.Run(t, "")
	if got.Status != sweep.Failed || len(got.Failures) != 1 || !strings.Contains(got.Failures[0].Error, "panic: poisoned") {
		t.Fatalf("report %+v, want one user failed", got)
	}
	_, failed, _ := strings.Cut(got.Failures[0].Target, "/")
	if left := f.Documents(t, "users"); len(left) != 1 || left[failed] == nil {
		t.Errorf("users left: %v, want %s", left, failed)
	}
	if got := f.Run(t, ""); got.Status != sweep.Completed || len(f.Documents(t, "users")) != 0 {
		t.Errorf("the next run: %+v", got)
	}
}
