package backends

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// What clients of Cloud Tasks see is tested in backendstest. This is what a clock of our own shows, and delivery that nobody asks
// for.

const queue = "projects/demo-a/locations/asia-northeast1/queues/q"

// newRequest makes a request for a task; the zero time has no schedule.
func newRequest(id, url string, at time.Time) *cloudtaskspb.CreateTaskRequest {
	task := &cloudtaskspb.Task{
		Name:        queue + "/tasks/" + id,
		MessageType: &cloudtaskspb.Task_HttpRequest{HttpRequest: &cloudtaskspb.HttpRequest{Url: url}},
	}
	if !at.IsZero() {
		task.ScheduleTime = timestamppb.New(at)
	}
	return &cloudtaskspb.CreateTaskRequest{Parent: queue, Task: task}
}

// startTasks starts a server, and returns what creates a task there.
func startTasks(t *testing.T, manual bool) (*TaskServer, func(*cloudtaskspb.CreateTaskRequest) codes.Code) {
	t.Helper()
	server := newTaskServer(manual)
	t.Cleanup(server.close)
	return server, func(r *cloudtaskspb.CreateTaskRequest) codes.Code {
		_, err := taskService{TaskServer: server}.CreateTask(t.Context(), r)
		return status.Code(err)
	}
}

// TestNamesAreNotUsedTwice within a day of the task's end.
func TestNamesAreNotUsedTwice(t *testing.T) {
	server, create := startTasks(t, true)
	now := time.Now()
	server.now = func() time.Time { return now }
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer target.Close()
	request := newRequest("t", target.URL, time.Time{})
	same(t, "created, and there", []codes.Code{codes.OK, codes.AlreadyExists}, []codes.Code{create(request), create(request)})
	if _, err := server.Deliver(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	ended := now
	for after, want := range map[time.Duration]codes.Code{0: codes.AlreadyExists, 24*time.Hour - 1: codes.AlreadyExists} {
		now = ended.Add(after)
		same(t, after.String(), want, create(request))
	}
	now = ended.Add(24 * time.Hour)
	same(t, "a day later", codes.OK, create(request))
}

// TestDeadlineOfADelivery has a task of which the deadline is over at once, which no client can make: the least is 15 s.
func TestDeadlineOfADelivery(t *testing.T) {
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	p, err := newTask(newRequest("t", slow.URL, time.Time{}), time.Now())
	ok(t, err)
	p.DispatchDeadline = durationpb.New(time.Millisecond)
	server, _ := startTasks(t, true)
	if err := server.send(t.Context(), p); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	same(t, "the longest wait for another attempt", 10*time.Second, backoff(1000))
}

// TestCloseEndsDeliveries that are under way. Their tasks are not done.
func TestCloseEndsDeliveries(t *testing.T) {
	server, create := startTasks(t, false)
	begun := make(chan struct{})
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	}))
	defer target.Close()
	same(t, "created", codes.OK, create(newRequest("t", target.URL, time.Time{})))
	<-begun
	server.close()
	same(t, "left", 1, len(server.Pending("")))
}
