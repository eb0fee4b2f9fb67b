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
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
)

func TestBatchSize(t *testing.T) {
	type answer struct {
		n    int
		took time.Duration // 0: it failed
		want int           // the size afterwards
	}
	for name, answers := range map[string][]answer{
		"a quick database":   {{50, 100 * time.Millisecond, 100}, {100, 200 * time.Millisecond, 200}, {200, 400 * time.Millisecond, 200}},
		"as fast as may be":  {{50, time.Second, 50}, {50, 500 * time.Millisecond, 50}, {50, time.Second / 2, 50}},
		"a slow one":         {{50, 5 * time.Second, 10}, {10, time.Second, 10}, {10, 3 * time.Second, 10}, {10, 300 * time.Millisecond, 20}},
		"a little too slow":  {{50, 1250 * time.Millisecond, 40}, {40, 900 * time.Millisecond, 40}},
		"a few say nothing":  {{3, 30 * time.Millisecond, 50}, {49, 100 * time.Millisecond, 50}, {50, 100 * time.Millisecond, 100}},
		"a few that dawdle":  {{25, 1250 * time.Millisecond, 20}},
		"an earlier, larger": {{50, 5 * time.Second, 10}, {200, 2 * time.Second, 10}},
		"failures":           {{50, 0, 25}, {25, 0, 12}, {12, 0, 10}, {10, 0, 10}},
		"a day":              {{50, 24 * time.Hour, 10}},
	} {
		b := newBatchSize()
		for i, a := range answers {
			if a.took == 0 {
				b.failed()
			} else {
				b.answered(a.n, a.took)
			}
			if got := b.get(); got != a.want {
				t.Errorf("%s, after answer %d: %d, want %d", name, i+1, got, a.want)
			}
		}
	}
}

// TestDeleteInBatchesByTheTimeTheyTake has a database answer in the time that a test gives each request.
func TestDeleteInBatchesByTheTimeTheyTake(t *testing.T) {
	clock := &fakeTime{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	var mu sync.Mutex
	var sizes []int
	each := 4 * time.Millisecond // a deletion
	failing := 0                 // requests
	answer := grpc.WithChainUnaryInterceptor(func(_ context.Context, _ string, req, reply any, _ *grpc.ClientConn,
		_ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
		mu.Lock()
		defer mu.Unlock()
		writes := req.(*firestorepb.BatchWriteRequest).GetWrites()
		sizes = append(sizes, len(writes))
		clock.now = clock.now.Add(each * time.Duration(len(writes)))
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
	c.clock = clock.Now
	w := c.Writer(newRate(1, clock.Now, func(context.Context, time.Duration) error { return nil }))
	deleteSome := func(n int, want ...int) {
		t.Helper()
		sizes = nil
		for i, err := range w.Delete(t.Context(), slices.Repeat([]Deletion{{Path: "things/a"}}, n)) {
			if err != nil {
				t.Fatalf("deletion %d: %v", i, err)
			}
		}
		if diff := cmp.Diff(want, sizes); diff != "" {
			t.Errorf("%d deletions at %s each (-want +got):\n%s", n, each, diff)
		}
	}
	deleteSome(750, 50, 100, 200, 200, 200) // 800 ms for 200
	each = 20 * time.Millisecond
	deleteSome(300, 200, 50, 50) // 4 s for 200, a second for 50
	if got := w.BatchSize(); got != 50 {
		t.Errorf("BatchSize = %d", got)
	}
	each, failing = time.Millisecond, 1
	deleteSome(50, 50, 25, 25) // what failed is sent again in smaller ones
	deleteSome(7, 7)
	if got := w.BatchSize(); got != 50 {
		t.Errorf("BatchSize = %d", got)
	}
	if again := c.Writer(nil).BatchSize(); again != firstBatch {
		t.Errorf("the next run begins with %d", again)
	}
}
