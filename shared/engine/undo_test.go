package engine_test

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
)

// cutOff lets the first message of the first stream of a method arrive, and then breaks the stream.
func cutOff(method string) grpc.DialOption {
	var opened atomic.Int32
	return grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, full string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		s, err := stream(ctx, desc, cc, full, opts...)
		if err == nil && path.Base(full) == method && opened.Add(1) == 1 {
			s = &cutStream{ClientStream: s}
		}
		return s, err
	})
}

type cutStream struct {
	grpc.ClientStream
	received int
}

func (s *cutStream) RecvMsg(m any) error {
	if s.received++; s.received > 1 {
		return status.Error(codes.Unavailable, "the connection broke")
	}
	return s.ClientStream.RecvMsg(m)
}

// TestDeletionsAreKeptManyTogether: there is less than one entry for 40 documents, each is kept once, and a stream that breaks is read again.
func TestDeletionsAreKeptManyTogether(t *testing.T) {
	const n = 1100
	f := newFunction(t, thingsJob(500))
	f.SetMany(t, n, func(i int) (string, map[string]any) { return fmt.Sprintf("things/t%04d", i), map[string]any{"n": i} })
	f.Hooks.Dial = append(f.Hooks.Dial, cutOff("BatchGetDocuments"))
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete thing", n))
	entries := f.Documents(t, runlog.DoneOf(got.RunID))
	if len(entries) > n/40 || got.Usage.FirestoreWrites > int64(len(entries)+10) {
		t.Errorf("%d entries, usage %+v; want at most %d entries, and a few writes besides", len(entries), got.Usage, n/40)
	}
	kept := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		records, err := runlog.Unpack([][]byte{entries[name]["data"].([]byte)})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r.Write != nil {
				kept[r.Write.Path]++
			}
		}
	}
	for i := range n {
		if path := fmt.Sprintf("things/t%04d", i); kept[path] != 1 {
			t.Fatalf("%s is kept %d times, want once", path, kept[path])
		}
	}
}
