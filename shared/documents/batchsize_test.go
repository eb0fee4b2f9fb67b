package documents

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/documents/wire"
)

// atOnce is a pace that waits for nothing.
type atOnce struct{}

func (atOnce) Wait(context.Context, int) error { return nil }

// TestBatchesByTheTimeTheyTake has a database answer in the time that a test gives each request.
func TestBatchesByTheTimeTheyTake(t *testing.T) {
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	var sizes []int
	each := 4 * time.Millisecond // a write
	failing := 0                 // requests
	answer := wire.Around(func(_ context.Context, _ string, req, reply any, _ func() error) error {
		mu.Lock()
		defer mu.Unlock()
		writes := req.(*firestorepb.BatchWriteRequest).GetWrites()
		sizes = append(sizes, len(writes))
		clock = clock.Add(each * time.Duration(len(writes)))
		if failing > 0 {
			failing--
			return grpcstatus.Error(codes.ResourceExhausted, "too much")
		}
		reply.(*firestorepb.BatchWriteResponse).Status = slices.Repeat([]*status.Status{{}}, len(writes))
		return nil
	})
	// where nobody answers
	c, err := Open(t.Context(), Database{Project: "demo-p", ID: "(default)", EmulatorHost: "127.0.0.1:9"}, answer)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	c.clock = func() time.Time { return clock }
	w := c.Writer(atOnce{})
	writeSome := func(n int, want ...int) {
		t.Helper()
		sizes = nil
		fails := failing > 0
		for i, err := range w.BatchWrite(t.Context(), slices.Repeat([]*firestorepb.Write{{}}, n)) {
			if (err != nil) != fails {
				t.Fatalf("write %d: %v", i, err)
			}
		}
		if diff := cmp.Diff(want, sizes); diff != "" {
			t.Errorf("%d writes at %s each (-want +got):\n%s", n, each, diff)
		}
	}
	writeSome(750, 50, 100, 200, 200, 200) // 800 ms for 200
	each = 20 * time.Millisecond
	writeSome(300, 200, 50, 50) // 4 s for 200, a second for 50
	if got := w.batch.Get(); got != 50 {
		t.Errorf("the next request has %d", got)
	}
	each, failing = time.Millisecond, 1
	writeSome(50, 50)
	writeSome(50, 25, 25) // after a failure, requests are smaller
	writeSome(7, 7)
	if got := w.batch.Get(); got != 50 {
		t.Errorf("the next request has %d", got)
	}
	if again := c.Writer(nil).batch.Get(); again != 50 {
		t.Errorf("the next run begins with %d", again)
	}
}
