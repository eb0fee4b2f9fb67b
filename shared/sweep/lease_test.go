package sweep_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/sweep"
)

// TestLostAnswerToTheLastCommit has report, checkpoint and lease saved and nobody told: the run is over, and held its lease
// to the end.
func TestLostAnswerToTheLastCommit(t *testing.T) {
	f := newFunction(t, thingsJob(2))
	f.Hooks.Dial = append(f.Hooks.Dial, unary("Commit", func(n int, send func() error) error {
		err := send()
		if n == 2 && err == nil { // the first took the lease
			return status.Error(codes.Unavailable, "the answer was lost")
		}
		return err
	}))
	got := f.Run(t, "")
	if got.Status != sweep.Completed || job(t, f)["lease"] != nil || len(f.Documents(t, "cleanupRuns")) != 1 {
		t.Errorf("report %+v, job %v", got, job(t, f))
	}
	for _, line := range f.LogLines(t) {
		if strings.Contains(line["message"].(string), "lost its lease") {
			t.Errorf("logged: %s", line["message"])
		}
	}
}
