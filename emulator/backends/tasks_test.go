package backends

import (
	"cmp"
	"context"
	"errors"
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
)

const queue = "projects/demo-a/locations/asia-northeast1/queues/q"

// tasksClient returns Google's client for fresh Cloud Tasks, and the server.
func tasksClient(t *testing.T, o Options) (*cloudtasks.Client, *TaskServer) {
	t.Helper()
	b := withoutFirestore(t, o)
	client, err := cloudtasks.NewClient(context.Background(), option.WithEndpoint(b.Environment()[TasksHost]),
		option.WithoutAuthentication(), option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client, b.Tasks()
}

// received is a request as a target saw it.
type received struct {
	method, path, body string
	header             http.Header
}

// target is an HTTP server that tasks are delivered to. Each request is answered with the next status, the last one again and
// again.
type target struct {
	*httptest.Server
	mu       sync.Mutex
	requests []received
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
		s.requests = append(s.requests, received{r.Method, r.URL.RequestURI(), string(body), r.Header})
		w.WriteHeader(s.statuses[0])
		if len(s.statuses) > 1 {
			s.statuses = s.statuses[1:]
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *target) received() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received(nil), s.requests...)
}

func (s *target) paths() []string {
	paths := []string{}
	for _, r := range s.received() {
		paths = append(paths, r.path)
	}
	return paths
}

// newRequest makes a request for a task; id "" leaves the name to the server, the zero time has no schedule.
func newRequest(id, url string, at time.Time) *cloudtaskspb.CreateTaskRequest {
	task := &cloudtaskspb.Task{MessageType: &cloudtaskspb.Task_HttpRequest{HttpRequest: &cloudtaskspb.HttpRequest{Url: url}}}
	if id != "" {
		task.Name = queue + "/tasks/" + id
	}
	if !at.IsZero() {
		task.ScheduleTime = timestamppb.New(at)
	}
	return &cloudtaskspb.CreateTaskRequest{Parent: queue, Task: task}
}

func createTask(t *testing.T, client *cloudtasks.Client, request *cloudtaskspb.CreateTaskRequest) *cloudtaskspb.Task {
	t.Helper()
	task, err := client.CreateTask(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func pendingIDs(s *TaskServer, queue string) []string {
	ids := []string{}
	for _, task := range s.Pending(queue) {
		ids = append(ids, task.Name[strings.LastIndex(task.Name, "/")+1:])
	}
	return ids
}

func TestDelivery(t *testing.T) {
	client, server := tasksClient(t, Options{ManualTasks: true})
	target := newTarget(t, 200)
	at := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	request := newRequest("t-1", target.URL+"/work?a=b", at)
	work := request.Task.GetHttpRequest()
	work.HttpMethod = cloudtaskspb.HttpMethod_PUT
	work.Body = []byte(`{"x":1}`)
	work.Headers = map[string]string{"Content-Type": "application/json", "X-Own": "y",
		// What a task cannot set:
		"Host": "elsewhere", "User-Agent": "x", "content-length": "1", "x-google-iap": "x", "X-AppEngine-QueueName": "x",
		"X-CloudTasks-TaskRetryCount": "99", "X-CloudScheduler": "true", "X-CloudScheduler-ScheduleTime": "2020-01-01T00:00:00Z"}
	created := createTask(t, client, request)
	if created.DispatchDeadline.AsDuration() != 10*time.Minute {
		t.Errorf("created: %v", created)
	}
	if n, err := server.Deliver(context.Background(), at.Add(-time.Microsecond)); n != 0 || err != nil {
		t.Errorf("delivered %d before time, %v", n, err)
	}
	if n, err := server.Deliver(context.Background(), at); n != 1 || err != nil {
		t.Errorf("delivered %d, %v", n, err)
	}
	if left := server.Pending(""); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	got := target.received()
	if len(got) != 1 {
		t.Fatalf("received %v", got)
	}
	same(t, "request", [3]string{"PUT", "/work?a=b", `{"x":1}`}, [3]string{got[0].method, got[0].path, got[0].body})
	got[0].header.Del("Accept-Encoding") // of the transport
	want := map[string][]string{
		"Content-Length": {"7"}, "Content-Type": {"application/json"}, "X-Own": {"y"}, "User-Agent": {"Google-Cloud-Tasks"},
		"X-Cloudtasks-Queuename": {"q"}, "X-Cloudtasks-Taskname": {"t-1"}, "X-Cloudtasks-Taskretrycount": {"0"},
		"X-Cloudtasks-Taskexecutioncount": {"0"}, "X-Cloudtasks-Tasketa": {fmt.Sprintf("%d.%06d", at.Unix(), at.Nanosecond()/1000)},
	}
	same(t, "headers", want, map[string][]string(got[0].header))
}

func TestDeliveryInOrder(t *testing.T) {
	client, server := tasksClient(t, Options{ManualTasks: true})
	target := newTarget(t, 204)
	now := time.Now()
	for i, delay := range []time.Duration{3, 1, 2, 1, 5} {
		createTask(t, client, newRequest(fmt.Sprint(i), fmt.Sprintf("%s/%d", target.URL, i), now.Add(delay*time.Second)))
	}
	createTask(t, client, newRequest("5", target.URL+"/5", time.Time{})) // without a schedule: before all others
	same(t, "pending", []string{"5", "1", "3", "2", "0", "4"}, pendingIDs(server, queue))
	if n, err := server.Deliver(context.Background(), now.Add(3*time.Second)); n != 5 || err != nil {
		t.Errorf("delivered %d, %v", n, err)
	}
	same(t, "delivered", []string{"/5", "/1", "/3", "/2", "/0"}, target.paths())
	same(t, "left", []string{"4"}, pendingIDs(server, ""))
}

func TestDeliverAlsoDeliversWhatComesUp(t *testing.T) {
	client, server := tasksClient(t, Options{ManualTasks: true})
	second := newTarget(t, 200)
	now := time.Now()
	first := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		createTask(t, client, newRequest("second", second.URL, now))
		createTask(t, client, newRequest("later", second.URL, now.Add(time.Minute)))
	}))
	defer first.Close()
	createTask(t, client, newRequest("first", first.URL, now))
	if n, err := server.Deliver(context.Background(), now); n != 2 || err != nil {
		t.Errorf("delivered %d, %v", n, err)
	}
	same(t, "left", []string{"later"}, pendingIDs(server, ""))
}

func TestRetries(t *testing.T) {
	client, server := tasksClient(t, Options{ManualTasks: true})
	target := newTarget(t, 503, 302, 500, 200)
	at := time.Now().Add(time.Minute)
	createTask(t, client, newRequest("t", target.URL, at))
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
		n, err := server.Deliver(context.Background(), at.Add(step.until))
		if n != step.delivered || !strings.Contains(fmt.Sprint(err), cmp.Or(step.fails, "<nil>")) {
			t.Fatalf("until %v: delivered %d, %v", step.until, n, err)
		}
		left := server.Pending("")
		if step.next == 0 {
			if len(left) != 0 {
				t.Errorf("until %v: left %v", step.until, left)
			}
		} else if len(left) != 1 || !left[0].ScheduleTime.AsTime().Equal(at.Add(step.next)) {
			t.Errorf("until %v: left %v", step.until, left)
		}
	}
	same(t, "the longest backoff", 10*time.Second, backoff(1000))
	var got [][3]string
	for _, r := range target.received() {
		got = append(got, [3]string{
			r.header.Get("X-CloudTasks-TaskRetryCount"), r.header.Get("X-CloudTasks-TaskExecutionCount"), r.header.Get(
				"X-CloudTasks-TaskPreviousResponse"),
		})
	}
	same(t, "retry headers", [][3]string{{"0", "0", ""}, {"1", "1", "503"}, {"2", "2", "302"}, {"3", "3", "500"}}, got)
}

func TestNoAnswerIsRetried(t *testing.T) {
	client, server := tasksClient(t, Options{ManualTasks: true})
	broken := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer broken.Close()
	now := time.Now()
	createTask(t, client, newRequest("t", broken.URL, now))
	if n, err := server.Deliver(context.Background(), now); n != 0 || err == nil {
		t.Errorf("delivered %d, %v", n, err)
	}
	left := server.Pending("")
	if len(left) != 1 {
		t.Fatalf("left %v", left)
	}
	if left[0].DispatchCount != 1 || left[0].ResponseCount != 0 {
		t.Errorf("left with %d attempts and %d answers, want one and none", left[0].DispatchCount, left[0].ResponseCount)
	}
}

func TestDeadlineOfADelivery(t *testing.T) {
	// The least deadline is 15 s, too long for a test: what is looked at is the request's context.
	p := &cloudtaskspb.Task{
		Name: queue + "/tasks/t", DispatchDeadline: durationpb.New(time.Millisecond), ScheduleTime: timestamppb.Now(),
		MessageType: &cloudtaskspb.Task_HttpRequest{HttpRequest: &cloudtaskspb.HttpRequest{HttpMethod: cloudtaskspb.HttpMethod_POST}},
	}
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	p.GetHttpRequest().Url = slow.URL
	s := newTaskServer(true)
	defer s.close()
	if status, err := s.send(context.Background(), task{proto: p}); status != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, %v", status, err)
	}
}

func TestNamesAreNotUsedTwice(t *testing.T) {
	var mu sync.Mutex
	now := time.Now()
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	client, server := tasksClient(t, Options{ManualTasks: true})
	server.now = clock
	target := newTarget(t, 200)
	ctx := context.Background()
	create := func(id string) codes.Code {
		_, err := client.CreateTask(ctx, newRequest(id, target.URL, time.Time{}))
		return status.Code(err)
	}
	for _, want := range []codes.Code{codes.OK, codes.AlreadyExists} { // it is there
		if got := create("t"); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if _, err := server.Deliver(ctx, now); err != nil {
		t.Fatal(err)
	}
	for _, age := range []struct {
		now  time.Duration
		want codes.Code
	}{{0, codes.AlreadyExists}, {24*time.Hour - 1, codes.AlreadyExists}, {24 * time.Hour, codes.OK}} {
		mu.Lock()
		now = now.Add(age.now)
		mu.Unlock()
		if got := create("t"); got != age.want {
			t.Errorf("%v later: %v", age.now, got)
		}
		mu.Lock()
		now = now.Add(-age.now)
		mu.Unlock()
	}
}

func TestInvalidTasks(t *testing.T) {
	client, server := tasksClient(t, Options{ManualTasks: true})
	limit := time.Now().Add(30 * 24 * time.Hour)
	change := func(do func(*cloudtaskspb.CreateTaskRequest)) *cloudtaskspb.CreateTaskRequest {
		r := newRequest("t", "http://x/", time.Time{})
		do(r)
		return r
	}
	for name, request := range map[string]*cloudtaskspb.CreateTaskRequest{
		"queue":        change(func(r *cloudtaskspb.CreateTaskRequest) { r.Parent = "projects/demo-a/queues/q" }),
		"no task":      change(func(r *cloudtaskspb.CreateTaskRequest) { r.Task = nil }),
		"other queue":  change(func(r *cloudtaskspb.CreateTaskRequest) { r.Parent += "2" }),
		"character":    newRequest("a.b", "http://x/", time.Time{}),
		"long name":    newRequest(strings.Repeat("x", 501), "http://x/", time.Time{}),
		"no URL":       newRequest("t", "", time.Time{}),
		"relative URL": newRequest("t", "/work", time.Time{}),
		"other scheme": newRequest("t", "ftp://x/", time.Time{}),
		"far ahead":    newRequest("t", "http://x/", limit.Add(time.Minute)),
		"short deadline": change(func(r *cloudtaskspb.CreateTaskRequest) {
			r.Task.DispatchDeadline = durationpb.New(14 * time.Second)
		}),
		"long deadline": change(func(r *cloudtaskspb.CreateTaskRequest) {
			r.Task.DispatchDeadline = durationpb.New(31 * time.Minute)
		}),
		"body of a GET": change(func(r *cloudtaskspb.CreateTaskRequest) {
			r.Task.GetHttpRequest().HttpMethod, r.Task.GetHttpRequest().Body = cloudtaskspb.HttpMethod_GET, []byte("x")
		}),
		"no HTTP": change(func(r *cloudtaskspb.CreateTaskRequest) {
			r.Task.MessageType = &cloudtaskspb.Task_AppEngineHttpRequest{AppEngineHttpRequest: &cloudtaskspb.AppEngineHttpRequest{}}
		}),
	} {
		if _, err := client.CreateTask(context.Background(), request); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left := server.Pending(""); len(left) != 0 {
		t.Errorf("created all the same: %v", left)
	}
	createTask(t, client, newRequest(strings.Repeat("x", 500), "http://x/", limit.Add(-time.Minute)))
}

func TestFailCreates(t *testing.T) {
	client, server := tasksClient(t, Options{ManualTasks: true})
	server.ForProject("demo-b").FailCreates(func(*cloudtaskspb.Task) error { return status.Error(codes.Internal, "not for demo-a") })
	server.ForProject("demo-a").FailCreates(func(task *cloudtaskspb.Task) error {
		if strings.HasSuffix(task.Name, "/bad") {
			return status.Error(codes.ResourceExhausted, "as told")
		}
		return nil
	})
	if _, err := client.CreateTask(context.Background(), newRequest("bad", "http://x/", time.Time{})); status.Code(
		err) != codes.ResourceExhausted {
		t.Errorf("error %v", err)
	}
	createTask(t, client, newRequest("good", "http://x/", time.Time{}))
	server.ForProject("demo-a").FailCreates(nil)
	createTask(t, client, newRequest("bad", "http://x/", time.Time{}))
}

func TestProjectsTasksAreApart(t *testing.T) {
	ctx := context.Background()
	client, server := tasksClient(t, Options{ManualTasks: true})
	target := newTarget(t, 200)
	now := time.Now()
	createTask(t, client, newRequest("a", target.URL+"/a", now))
	other := newRequest("", target.URL+"/b", now)
	other.Parent = strings.Replace(queue, "demo-a", "demo-b", 1)
	createTask(t, client, other)
	a, b := server.ForProject("demo-a"), server.ForProject("demo-b")
	if n, err := a.Deliver(ctx, now); n != 1 || err != nil {
		t.Errorf("delivered %d, %v", n, err)
	}
	same(t, "delivered", []string{"/a"}, target.paths())
	a.Clear()
	same(t, "pending in a, b, all projects and a's queue", []int{0, 1, 1, 0},
		[]int{len(a.Pending("")), len(b.Pending("")), len(server.Pending("")), len(server.Pending(queue))})
	createTask(t, client, newRequest("a", target.URL+"/a", now)) // the name is forgotten
	b.Clear()
	same(t, "pending", []string{"a"}, pendingIDs(server, ""))
}

func TestDispatcher(t *testing.T) {
	client, server := tasksClient(t, Options{})
	target := newTarget(t, 500, 500, 200)
	createTask(t, client, newRequest("later", target.URL+"/later", time.Now().Add(time.Hour)))
	createTask(t, client, newRequest("soon", target.URL+"/soon", time.Now().Add(20*time.Millisecond)))
	eventually(t, "what is due is delivered", func() bool { return len(server.Pending("")) == 1 })
	same(t, "delivered", []string{"/soon", "/soon", "/soon"}, target.paths())
	createTask(t, client, newRequest("now", target.URL+"/now", time.Time{}))
	eventually(t, "what comes up is delivered", func() bool { return len(server.Pending("")) == 1 })
	same(t, "left", []string{"later"}, pendingIDs(server, ""))
}

func TestCloseEndsDeliveries(t *testing.T) {
	server := newTaskServer(false)
	begun := make(chan struct{})
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	}))
	defer target.Close()
	if _, err := (taskService{TaskServer: server}).CreateTask(context.Background(),
		newRequest("t", target.URL, time.Time{})); err != nil {
		t.Fatal(err)
	}
	<-begun
	server.close()
	if left := server.Pending(""); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}
