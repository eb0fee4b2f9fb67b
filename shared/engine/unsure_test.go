package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestUnsureWritesAreLogged: what a commit wrote whose answer was lost is in the log, as unsure where nobody can look whether it took
// effect, and as written where the next attempt finds that it did.
func TestUnsureWritesAreLogged(t *testing.T) {
	for _, denied := range []bool{false, true} {
		f := thingsFunction(t, 3, 3)
		var lost atomic.Bool
		f.Hooks.Dial = append(f.Hooks.Dial, wire.Around(func(_ context.Context, _ string, sent, _ any, send func() error) error {
			commit, is := sent.(*firestorepb.CommitRequest)
			if is && strings.Contains(fmt.Sprint(commit.GetWrites()), "/things/") && lost.CompareAndSwap(false, true) {
				_ = send() // nobody is told
				return status.Error(codes.Unavailable, "the connection broke")
			}
			return send()
		}))
		f.Hooks.Dial = append(f.Hooks.Dial, wire.Before(func(_ context.Context, _ string, request any) error {
			if read, is := request.(*firestorepb.BatchGetDocumentsRequest); is && denied && strings.Contains(fmt.Sprint(read.GetDocuments()), "/cleanupUndo/") {
				return status.Error(codes.PermissionDenied, "you may not look")
			}
			return nil
		})...)
		want := map[bool]report.Status{false: report.Completed, true: report.Failed}[denied]
		enginetest.Want(t, "status", want, f.Run(t, "").Status)
		told := map[string]int{}
		for _, line := range f.LogLines(t) {
			writes, _ := line["writes"].([]any)
			for _, w := range writes {
				told[fmt.Sprint(w.(map[string]any)["op"], " ", w.(map[string]any)["unsure"])]++
			}
		}
		enginetest.Want(t, "told", map[string]int{map[bool]string{false: "delete <nil>", true: "delete true"}[denied]: 3}, told)
		enginetest.Want(t, "left", 0, len(left(t, f)))
	}
}
