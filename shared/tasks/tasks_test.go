package tasks_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/tasks"
	"github.com/firesweep/firesweep/shared/usage"
)

var now = time.Date(2026, 1, 10, 15, 0, 0, 0, time.UTC)

// open opens the queue of a project of the test's own, whose tasks call target.
func open(t *testing.T, target string, dial ...grpc.DialOption) (*backendstest.Project, *tasks.Client) {
	t.Helper()
	p := backendstest.Start(t)
	if p.Tasks() == nil {
		t.Skip("only the embedded Cloud Tasks can be looked into")
	}
	c, err := tasks.Open(t.Context(), tasks.Queue{
		Project: p.ID, Location: "asia-northeast1", ID: "warnings", TargetURL: target,
		ServiceAccount: "tasks@example.iam.gserviceaccount.com", EmulatorHost: p.Environment["CLOUD_TASKS_EMULATOR_HOST"],
	}, func() time.Time { return now }, dial...)
	check.OK(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return p, c
}

func TestEnqueue(t *testing.T) {
	p, w := open(t, "https://worker.example/f")
	meter := new(usage.Meter)
	ctx := usage.NewContext(t.Context(), meter)
	for range 2 { // the second time it is the same task
		err := w.Enqueue(ctx, tasks.Task{
			Key: []string{"p1", "2026-02-01"}, Body: map[string]string{"project_id": "p1"}, NotBefore: now.Add(90 * time.Second),
			Headers: map[string]string{"X-Now": "then"},
		})
		check.OK(t, err)
	}
	for _, key := range [][]string{{"p1", "2026-02-02"}, {"p12", "026-02-01"}} {
		check.OK(t, w.Enqueue(ctx, tasks.Task{Key: key, Body: struct{}{}}))
	}
	pending := p.Tasks().Pending("projects/" + p.ID + "/locations/asia-northeast1/queues/warnings")
	if len(pending) != 3 || meter.Usage().Tasks != 3 {
		t.Fatalf("%d tasks pending, %d metered, want 3", len(pending), meter.Usage().Tasks)
	}
	delayed := pending[2]
	check.Same(t, "scheduled for", now.Add(90*time.Second), delayed.GetScheduleTime().AsTime())
	r := delayed.GetHttpRequest()
	got := []string{r.GetHttpMethod().String(), r.GetUrl(), string(r.GetBody()), r.GetHeaders()["Content-Type"], r.GetHeaders()["X-Now"]}
	want := []string{"POST", "https://worker.example/f", `{"project_id":"p1"}`, "application/json", "then"}
	check.Same(t, "method, URL, body and headers", want, got)
	of := r.GetOidcToken()
	check.Same(t, "token", []string{"tasks@example.iam.gserviceaccount.com", "https://worker.example"},
		[]string{of.GetServiceAccountEmail(), of.GetAudience()})
}

func TestLostAnswerAndTransientFailure(t *testing.T) {
	var sent atomic.Int32
	p, w := open(t, "https://worker.example/f", wire.Around(func(_ context.Context, _ string, _, _ any, send func() error) error {
		switch sent.Add(1) {
		case 1:
			return status.Error(codes.Unavailable, "try again")
		case 2:
			if err := send(); err != nil {
				return err
			}
			return status.Error(codes.Unavailable, "the answer was lost")
		default:
			return send()
		}
	}))
	check.OK(t, w.Enqueue(t.Context(), tasks.Task{Key: []string{"k"}, Body: 1}))
	check.Same(t, "tasks, and requests", []int{1, 3}, []int{len(p.Tasks().Pending("")), int(sent.Load())})
}

func TestRefused(t *testing.T) {
	p, w := open(t, "https://worker.example/f")
	p.Tasks().FailCreates(func(*cloudtaskspb.Task) error { return status.Error(codes.PermissionDenied, "no role") })
	err := w.Enqueue(t.Context(), tasks.Task{Key: []string{"p1"}, Body: 1})
	if status.Code(err) != codes.PermissionDenied {
		t.Fatalf("refused with %v", err)
	}
	for _, part := range []string{`["p1"]`, "queues/warnings"} {
		check.Holds(t, err.Error(), part)
	}
	p.Tasks().FailCreates(nil)
	for _, task := range []tasks.Task{
		{Key: []string{"k"}, NotBefore: now.Add(tasks.MaxDelay + 1)}, {Key: []string{"k"}, Body: func() {}},
	} {
		if err := w.Enqueue(t.Context(), task); err == nil || len(p.Tasks().Pending("")) != 0 {
			t.Errorf("%+v: %v", task, err)
		}
	}
	if err := w.Enqueue(t.Context(), tasks.Task{Key: []string{"k"}, NotBefore: now.Add(tasks.MaxDelay)}); err != nil {
		t.Errorf("the longest delay: %v", err)
	}
}
