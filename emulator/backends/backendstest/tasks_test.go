package backendstest_test

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	cloudtasks "cloud.google.com/go/cloudtasks/apiv2"
	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/backends/backendstest"
)

// The suite's emulator of Cloud Tasks speaks no gRPC, so these tests have ours only.

// queue is one of a project's, through Google's client, with the server to tell when to deliver.
type queue struct {
	*cloudtasks.Client
	server *backends.TaskServer
	name   string
}

func newQueue(t *testing.T) queue {
	t.Helper()
	p := backendstest.Start(t)
	if p.Tasks() == nil {
		t.Skip("another Cloud Tasks is used, which cannot be told when to deliver")
	}
	client, err := cloudtasks.NewClient(t.Context(), option.WithEndpoint(p.Environment[backends.TasksHost]),
		option.WithoutAuthentication(), option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	ok(t, err)
	t.Cleanup(func() { ok(t, client.Close()) })
	return queue{client, p.Tasks(), "projects/" + p.ID + "/locations/asia-northeast1/queues/q"}
}

// request makes a request for a task; id "" leaves the name to the server, the zero time has no schedule.
func (q queue) request(id, url string, at time.Time) *cloudtaskspb.CreateTaskRequest {
	task := &cloudtaskspb.Task{MessageType: &cloudtaskspb.Task_HttpRequest{HttpRequest: &cloudtaskspb.HttpRequest{Url: url}}}
	if id != "" {
		task.Name = q.name + "/tasks/" + id
	}
	if !at.IsZero() {
		task.ScheduleTime = timestamppb.New(at)
	}
	return &cloudtaskspb.CreateTaskRequest{Parent: q.name, Task: task}
}

func (q queue) create(t *testing.T, request *cloudtaskspb.CreateTaskRequest) *cloudtaskspb.Task {
	t.Helper()
	task, err := q.CreateTask(t.Context(), request)
	ok(t, err)
	return task
}

// deliver wants so many deliveries until a time, and an error that has a text.
func (q queue) deliver(t *testing.T, until time.Time, want int, fails string) {
	t.Helper()
	n, err := q.server.Deliver(t.Context(), until)
	if n != want || !strings.Contains(fmt.Sprint(err), cmp.Or(fails, "<nil>")) {
		t.Fatalf("until %v: delivered %d, want %d; %v", until, n, want, err)
	}
}

func (q queue) pending() []string {
	ids := []string{}
	for _, task := range q.server.Pending(q.name) {
		ids = append(ids, task.Name[strings.LastIndex(task.Name, "/")+1:])
	}
	return ids
}

// target is an HTTP server that tasks are delivered to. Each request is answered with the next status, the last one again and
// again; 0 breaks the connection.
type target struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
	statuses []int
}

func newTarget(t *testing.T, statuses ...int) *target {
	t.Helper()
	s := &target{statuses: statuses}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests, s.bodies = append(s.requests, r), append(s.bodies, string(body))
		if s.statuses[0] == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(s.statuses[0])
		if len(s.statuses) > 1 {
			s.statuses = s.statuses[1:]
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// received returns something of each request.
func (s *target) received(of func(*http.Request) string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := []string{}
	for _, r := range s.requests {
		got = append(got, of(r))
	}
	return got
}

func path(r *http.Request) string { return r.URL.Path }

// TestDelivery: a task is sent at its time, with the headers that Cloud Tasks adds and those of its own that it may have.
func TestDelivery(t *testing.T) {
	q, target := newQueue(t), newTarget(t, 200)
	at := time.Now().Add(time.Hour)
	request := q.request("t-1", target.URL+"/work?a=b", at)
	work := request.Task.GetHttpRequest()
	work.HttpMethod = cloudtaskspb.HttpMethod_PUT
	work.Body = []byte(`{"x":1}`)
	work.Headers = map[string]string{"Content-Type": "application/json", "X-Own": "y",
		// What a task cannot set:
		"Host": "elsewhere", "User-Agent": "x", "content-length": "1", "x-google-iap": "x", "X-AppEngine-QueueName": "x",
		"X-CloudTasks-TaskRetryCount": "99", "X-CloudScheduler": "true", "X-CloudScheduler-ScheduleTime": "2020-01-01T00:00:00Z"}
	same(t, "deadline unless it is set", 10*time.Minute, q.create(t, request).DispatchDeadline.AsDuration())
	q.deliver(t, at.Add(-time.Microsecond), 0, "")
	q.deliver(t, at, 1, "")
	same(t, "left", []string{}, q.pending())
	same(t, "requests", []string{"PUT " + strings.TrimPrefix(target.URL, "http://") + "/work?a=b"},
		target.received(func(r *http.Request) string { return r.Method + " " + r.Host + r.URL.RequestURI() }))
	same(t, "bodies", []string{`{"x":1}`}, target.bodies)
	got := target.requests[0].Header
	got.Del("Accept-Encoding") // of the transport
	same(t, "headers", http.Header{
		"Content-Length": {"7"}, "Content-Type": {"application/json"}, "X-Own": {"y"}, "User-Agent": {"Google-Cloud-Tasks"},
		"X-Cloudtasks-Queuename": {"q"}, "X-Cloudtasks-Taskname": {"t-1"},
	}, got)
}

// TestDeliveryInOrder: by time, then by creation; what has no time comes first, and what comes up meanwhile is delivered, too.
func TestDeliveryInOrder(t *testing.T) {
	q, target := newQueue(t), newTarget(t, 204)
	now := time.Now()
	for i, delay := range []time.Duration{3, 1, 2, 1, 5} {
		q.create(t, q.request(fmt.Sprint(i), fmt.Sprintf("%s/%d", target.URL, i), now.Add(delay*time.Second)))
	}
	first := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if _, err := q.CreateTask(t.Context(), q.request("6", target.URL+"/6", now)); err != nil {
			t.Error(err)
		}
	}))
	defer first.Close()
	q.create(t, q.request("5", first.URL, time.Time{}))
	same(t, "pending", []string{"5", "1", "3", "2", "0", "4"}, q.pending())
	q.deliver(t, now.Add(3*time.Second), 6, "")
	same(t, "delivered", []string{"/6", "/1", "/3", "/2", "/0"}, target.received(path))
	same(t, "left", []string{"4"}, q.pending())
}

// TestRetries: what no 2xx answers is sent again, each time later.
func TestRetries(t *testing.T) {
	q, target := newQueue(t), newTarget(t, 503, 302, 500, 200)
	at := time.Now().Add(time.Minute)
	q.create(t, q.request("t", target.URL, at))
	const ms = time.Millisecond
	for _, step := range []struct {
		until     time.Duration
		delivered int
		fails     string
		next      time.Duration // when it is due then; 0: it is done
	}{
		{0, 0, "503", 100 * ms},
		{100*ms - 1, 0, "", 100 * ms},
		{200 * ms, 0, "302", 400 * ms},
		{400 * ms, 0, "500", 800 * ms},
		{time.Second, 1, "", 0},
	} {
		q.deliver(t, at.Add(step.until), step.delivered, step.fails)
		left := q.server.Pending("")
		if step.next == 0 {
			same(t, "left", 0, len(left))
		} else if len(left) != 1 || !left[0].ScheduleTime.AsTime().Equal(at.Add(step.next)) {
			t.Errorf("until %v: left %v", step.until, left)
		}
	}
	same(t, "requests", 4, len(target.received(path)))
}

// TestInvalidTasks: what Cloud Tasks refuses is not created.
func TestInvalidTasks(t *testing.T) {
	q := newQueue(t)
	limit := time.Now().Add(30 * 24 * time.Hour)
	change := func(do func(*cloudtaskspb.CreateTaskRequest)) *cloudtaskspb.CreateTaskRequest {
		r := q.request("t", "http://x/", time.Time{})
		do(r)
		return r
	}
	deadline := func(seconds time.Duration) *cloudtaskspb.CreateTaskRequest {
		return change(func(r *cloudtaskspb.CreateTaskRequest) {
			r.Task.DispatchDeadline = durationpb.New(seconds * time.Second)
		})
	}
	for name, request := range map[string]*cloudtaskspb.CreateTaskRequest{
		"queue":          change(func(r *cloudtaskspb.CreateTaskRequest) { r.Parent = "projects/demo-a/queues/q" }),
		"no task":        change(func(r *cloudtaskspb.CreateTaskRequest) { r.Task = nil }),
		"other queue":    change(func(r *cloudtaskspb.CreateTaskRequest) { r.Parent += "2" }),
		"character":      q.request("a.b", "http://x/", time.Time{}),
		"long name":      q.request(strings.Repeat("x", 501), "http://x/", time.Time{}),
		"no URL":         q.request("t", "", time.Time{}),
		"relative URL":   q.request("t", "/work", time.Time{}),
		"other scheme":   q.request("t", "ftp://x/", time.Time{}),
		"far ahead":      q.request("t", "http://x/", limit.Add(time.Minute)),
		"short deadline": deadline(14), "long deadline": deadline(31 * 60),
		"body of a GET": change(func(r *cloudtaskspb.CreateTaskRequest) {
			r.Task.GetHttpRequest().HttpMethod, r.Task.GetHttpRequest().Body = cloudtaskspb.HttpMethod_GET, []byte("x")
		}),
		"no HTTP": change(func(r *cloudtaskspb.CreateTaskRequest) {
			r.Task.MessageType = &cloudtaskspb.Task_AppEngineHttpRequest{AppEngineHttpRequest: &cloudtaskspb.AppEngineHttpRequest{}}
		}),
	} {
		_, err := q.CreateTask(t.Context(), request)
		same(t, name, codes.InvalidArgument, status.Code(err))
	}
	same(t, "created all the same", []string{}, q.pending())
	q.create(t, q.request(strings.Repeat("x", 500), "http://x/", limit.Add(-time.Minute)))
}
