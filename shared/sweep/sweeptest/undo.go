package sweeptest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	apiv1 "cloud.google.com/go/firestore/apiv1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/undo"
	"github.com/firesweep/firesweep/shared/undo/restore"
)

// Restorer returns what takes runs on the function's project back.
func (f *Function) Restorer(t testing.TB) restore.Project {
	t.Helper()
	owner := func(ctx context.Context, method string, request, reply any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return invoke(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer owner"), method, request, reply, c, opts...)
	}
	stream := func(ctx context.Context, d *grpc.StreamDesc, c *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		return open(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer owner"), d, c, method, opts...)
	}
	conn, err := grpc.NewClient("passthrough:///"+f.Environment["FIRESTORE_EMULATOR_HOST"],
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUnaryInterceptor(owner), grpc.WithStreamInterceptor(stream))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := apiv1.NewClient(t.Context(), option.WithGRPCConn(conn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := raw.Close(); err != nil {
			t.Error(err)
		}
	})
	return restore.Project{
		Firestore: f.Firestore(t), Raw: raw, Database: "projects/" + f.ID + "/databases/(default)", Bucket: f.Storage(t).Bucket(f.Bucket), Accounts: f.Auth(t),
		Clock: time.Now,
	}
}

// checkUndo takes a run back: all is as before but for what was sent, and stays so when the job runs again, until it is released.
func (tr *trial) checkUndo() {
	tr.f.Env["UNDO_DAYS"] = "7"
	before := tr.state()
	report := tr.f.Run(tr, tr.Body)
	after := tr.state()
	p := tr.f.Restorer(tr)
	p.Clock = tr.f.Clock
	undone := func(o restore.Options) map[undo.Step]int {
		tr.Helper()
		steps := map[undo.Step]int{}
		err := p.Undo(tr.Context(), report.RunID, o, func(outcome restore.Outcome) error {
			steps[outcome.Step]++
			if outcome.Step == undo.Conflict {
				tr.Errorf("%s: %s", outcome.Target, outcome.Why)
			}
			return nil
		})
		if err != nil {
			tr.Fatal(err)
		}
		return steps
	}
	foretold := undone(restore.Options{})
	if diff := cmp.Diff(after, tr.state()); diff != "" {
		tr.Errorf("to say what would be done changed something:\n%s", diff)
	}
	if done := undone(restore.Options{Apply: true}); !cmp.Equal(foretold, done) {
		tr.Errorf("%v was done, %v was foretold", done, foretold)
	}
	sent := tr.wantBack(before, after)
	for range 2 {
		if steps := undone(restore.Options{Apply: true}); steps[undo.Recreate]+steps[undo.Revert]+steps[undo.Replace]+steps[undo.Remove] > 0 {
			tr.Errorf("taken back twice: %v", steps)
		}
	}
	// The next run keeps what came back, and says so.
	next := tr.f.Run(tr, tr.Body)
	if next.Status != sweep.Completed {
		tr.Errorf("the next run: %s, failures %v", next.Status, next.Failures)
	}
	if again := tr.wantBack(before, after); again != sent {
		tr.Errorf("%d things were sent, %d by the next run as well", sent, again)
	}
	if _, err := p.Release(tr.Context(), tr.f.Job.Name); err != nil {
		tr.Fatal(err)
	}
	tr.wantEnd(maxRuns)
}

// wantBack compares the project with how it was before a run. What the run sent is still there: it returns how much that is.
func (tr *trial) wantBack(before, after map[string]any) (sent int) {
	tr.Helper()
	now := tr.state()
	for _, name := range slices.Sorted(maps.Keys(Changes(before, now))) {
		_, was := before[name]
		if !was && cmp.Equal(now[name], after[name]) && wasSent(name) {
			sent++
			continue
		}
		tr.Errorf("%s is not as it was (-before +now):\n%s", name, cmp.Diff(before[name], now[name]))
	}
	return sent
}

// wasSent reports whether a thing tells somebody something.
func wasSent(name string) bool {
	return slices.ContainsFunc([]string{"notifications/", "mail/", "audit_events/", "task "}, func(p string) bool {
		return strings.HasPrefix(name, p) || strings.Contains(name, "/"+p)
	})
}
