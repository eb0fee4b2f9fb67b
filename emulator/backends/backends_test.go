package backends

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/emulator/process"
)

// embedded says which backends were started here.
type embedded struct{ Firestore, Storage, Auth, Tasks bool }

func embeddedIn(b *Backends) embedded {
	return embedded{b.EmbedsFirestore(), b.Storage() != nil, b.Auth() != nil, b.Tasks() != nil}
}

func TestStartAndClose(t *testing.T) {
	b, err := Start(context.Background(), Options{})
	ok(t, err)
	environment := b.Environment()
	for key, want := range map[string]string{
		FirestoreHost: "127.0.0.1:", StorageHost: "http://127.0.0.1:", FirebaseStorageHost: "127.0.0.1:",
		AuthHost: "127.0.0.1:", TasksHost: "127.0.0.1:",
	} {
		if !strings.HasPrefix(environment[key], want) {
			t.Errorf("%s=%s", key, environment[key])
		}
	}
	same(t, "embedded", embedded{true, true, true, true}, embeddedIn(b))
	select {
	case <-b.Done():
		t.Errorf("done at once: %v", b.Err())
	default:
	}
	pid := b.firestore.process.PID
	connections := map[string]net.Conn{}
	for _, key := range []string{FirestoreHost, FirebaseStorageHost, AuthHost, TasksHost} {
		connections[key], err = net.Dial("tcp", environment[key])
		ok(t, err)
	}
	for range 2 {
		ok(t, b.Close())
	}
	<-b.Done()
	same(t, "after Close", nil, b.Err())
	same(t, "Java is gone", true, gone(pid))
	// The ports themselves may be somebody else's by now.
	for key, connection := range connections {
		ok(t, connection.SetDeadline(time.Now().Add(time.Minute)))
		_, err := io.Copy(io.Discard, connection)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			t.Errorf("%s still holds its connections", key)
		}
		_ = connection.Close() // it is of no use any more
	}
}

func TestDeathOfJavaIsNoticed(t *testing.T) {
	javaAnswersAsFirestore(t, "")
	b, err := Start(context.Background(), Options{})
	ok(t, err)
	ok(t, syscall.Kill(b.firestore.process.PID, syscall.SIGKILL))
	<-b.Done()
	wantError(t, b.Err(), "Firestore emulator died")
	check.Fails(t, b.Close())
}

// clearEnvironment hides the Firebase Emulator Suite from a test that runs under it.
func clearEnvironment(t *testing.T) {
	t.Helper()
	for _, key := range []string{FirestoreHost, StorageHost, FirebaseStorageHost, AuthHost, TasksHost} {
		t.Setenv(key, "")
	}
}

func TestMissingUsesWhatIsThere(t *testing.T) {
	for _, test := range []struct{ name, key, value string }{
		{"as Google's client has it", StorageHost, "http://127.0.0.1:3"},
		{"without a scheme", StorageHost, "127.0.0.1:3"},
		{"as the Firebase CLI has it", FirebaseStorageHost, "127.0.0.1:3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			clearEnvironment(t)
			t.Setenv(FirestoreHost, "127.0.0.1:1")
			t.Setenv(AuthHost, "127.0.0.1:2")
			t.Setenv(TasksHost, "127.0.0.1:4")
			t.Setenv(test.key, test.value)
			b, err := Start(context.Background(), Options{Missing: true})
			ok(t, err)
			want := map[string]string{
				FirestoreHost: "127.0.0.1:1", AuthHost: "127.0.0.1:2", TasksHost: "127.0.0.1:4",
				StorageHost: "http://127.0.0.1:3", FirebaseStorageHost: "127.0.0.1:3",
			}
			same(t, "environment", want, b.Environment())
			same(t, "started", embedded{}, embeddedIn(b))
			ok(t, b.Close())
		})
	}
}

// withoutFirestore starts the backends that start at once and stops them at the test's end.
func withoutFirestore(t *testing.T) *Backends {
	t.Helper()
	clearEnvironment(t)
	t.Setenv(FirestoreHost, "127.0.0.1:1")
	b, err := Start(context.Background(), Options{Missing: true})
	ok(t, err)
	t.Cleanup(func() { ok(t, b.Close()) })
	for key, value := range b.Environment() {
		t.Setenv(key, value)
	}
	return b
}

func TestUnknownRoutesSaySo(t *testing.T) {
	b := withoutFirestore(t)
	for _, url := range []string{
		b.Environment()[StorageHost] + "/storage/v1/b/bucket/iam",
		b.Environment()[StorageHost] + "/v0/b/bucket/o",
		"http://" + b.Environment()[AuthHost] + "/identitytoolkit.googleapis.com/v1/projects/p/tenants",
		"http://" + b.Environment()[AuthHost] + "/elsewhere",
	} {
		_, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
		status, text := call(t, http.MethodPost, url, "{}")
		if status != http.StatusNotImplemented || !strings.Contains(text, "POST /"+path) {
			t.Errorf("%s: %d %s", url, status, text)
		}
	}
}

// TestInvalidPagesOfUsers: a page has from 1 to 1000 users, and there is no token but one that a page came with.
func TestInvalidPagesOfUsers(t *testing.T) {
	b := withoutFirestore(t)
	for query, want := range map[string]int{
		"maxResults=1": 200, "maxResults=1000": 200, "nextPageToken=page:u10": 200,
		"maxResults=0": 400, "maxResults=1001": 400, "maxResults=x": 400, "maxResults=-1": 400,
		"nextPageToken=u10": 400, "nextPageToken=page:": 400,
	} {
		status, text := call(t, http.MethodGet,
			"http://"+b.Environment()[AuthHost]+"/identitytoolkit.googleapis.com/v1/projects/demo-a/accounts:batchGet?"+query, "")
		same(t, query+": "+text, want, status)
	}
}

// call sends a request, which may be changed, and returns the answer.
func call(t *testing.T, method, url, body string, change ...func(*http.Request)) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	ok(t, err)
	for _, f := range change {
		f(request)
	}
	response, err := http.DefaultClient.Do(request)
	ok(t, err)
	answer, err := io.ReadAll(response.Body)
	ok(t, errors.Join(err, response.Body.Close()))
	return response.StatusCode, string(answer)
}

var (
	ok        = check.OK
	same      = check.Same
	wantError = check.Fails
)

// TestOtherOriginsAreRefused: all that is served here over HTTP is behind [Guard], of which the page's tests tell more. SDKs name
// no origin.
func TestOtherOriginsAreRefused(t *testing.T) {
	environment := withoutFirestore(t).Environment()
	for what, tt := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"an SDK":                 {func(*http.Request) {}, http.StatusOK},
		"another origin":         {func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, http.StatusForbidden},
		"a name that leads here": {func(r *http.Request) { r.Host = "rebound.example" }, http.StatusForbidden},
	} {
		for _, url := range []string{
			environment[StorageHost] + "/upload/storage/v1/b/demo-b/o?uploadType=resumable&name=a",
			"http://" + environment[AuthHost] + "/identitytoolkit.googleapis.com/v1/projects/demo-p/accounts:batchDelete",
		} {
			status, text := call(t, http.MethodPost, url, `{"localIds":["u"],"force":true}`, func(r *http.Request) {
				r.Header.Set("Content-Type", "text/plain") // for which a browser asks nobody first
				tt.change(r)
			})
			same(t, what+", "+url+": "+text, tt.want, status)
		}
	}
}

// What clients of Cloud Storage see is tested in backendstest. This is what only the server in this process has.

// TestPathsOfNodesClient: the client of Node leaves /storage/v1 out where it asks an emulator.
func TestPathsOfNodesClient(t *testing.T) {
	b := withoutFirestore(t)
	ok(t, b.Storage().Put("demo", "a/b.txt", map[string]string{"k": "v"}))
	for _, ask := range []struct {
		method, path, want string
		status             int
	}{
		{"GET", "/o/a%2Fb.txt?alt=media", "", 200},
		{"GET", "/o/a%2Fb.txt", `"metadata":{"k":"v"}`, 200},
		{"GET", "/o?prefix=a/", `"name":"a/b.txt"`, 200},
		{"DELETE", "/o/a%2Fb.txt", "", 204},
		{"GET", "/o/a%2Fb.txt", "", 404},
	} {
		status, text := call(t, ask.method, b.Environment()[StorageHost]+"/b/demo"+ask.path, "")
		if status != ask.status || !strings.Contains(text, ask.want) {
			t.Errorf("%s %s: %d %s", ask.method, ask.path, status, text)
		}
	}
}

func TestInvalidStorageRequests(t *testing.T) {
	b := withoutFirestore(t)
	base := b.Environment()[StorageHost]
	long := strings.Repeat("x", 1025)
	for _, test := range []struct {
		method, path, header, body string
		want                       int
	}{
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable", "", "{}", 400},              // no name
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=" + long, "", "{}", 400}, // too long
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=a%0Ab", "", "{}", 400},   // a line break
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=%FF", "", "{}", 400},     // no UTF-8
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=..", "", "{}", 400},      // reserved
		{"POST", "/upload/storage/v1/b/b/o?uploadType=media&name=a", "", "x", 400},            // no such form
		{"POST", "/upload/storage/v1/b/b/o?uploadType=multipart&name=a", "", "{}", 400},       // no parts
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable", "", `{"name":7}`, 400},      // no name
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=a", "", `{"met`, 400},    // no JSON
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=a", "", `{"metadata":{"a":1}}`, 400},
		{"PUT", "/upload/storage/v1/b/b/o?uploadType=resumable&upload_id=x", "", "x", 404},
		{"PUT", "/upload/storage/v1/b/b/o?uploadType=resumable&upload_id=x", "bytes 0-9/10", "x", 400},
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=a&ifGenerationMatch=x", "", "{}", 400},
		{"GET", "/storage/v1/b/b/o?maxResults=0", "", "", 400},
		{"GET", "/storage/v1/b/b/o?pageToken=%21", "", "", 400},
		{"GET", "/storage/v1/b/b/o?fields=items(", "", "", 400},
		{"GET", "/storage/v1/b/b/o?versions=true&delimiter=/", "", "", 200},
		{"GET", "/storage/v1/b/b/o?fields=items(name),prefixes", "", "", 200},
		{"GET", "/storage/v1/b/b/o?matchGlob=*", "", "", 501},
		{"GET", "/storage/v1/b/b/o/a?ifGenerationNotMatch=1", "", "", 501},
		{"POST", "/storage/v1/b/b/o/a/restore?generation=1&copySourceAcl=true", "", "", 501},
		{"PUT", "/storage/v1/b/b/o/missing", "", "{}", 501},
		{"GET", "/storage/v1/b/b/o?startOffset=a%00", "", "", 400},
		{"GET", "/storage/v1/b/b/o?startOffset=a%0Ab", "", "", 400},
		{"GET", "/storage/v1/b/b/o?endOffset=a%0D", "", "", 400},
		{"GET", "/storage/v1/b/b/o?startOffset=%FF", "", "", 400},
		{"GET", "/storage/v1/b/b/o?startOffset=" + long, "", "", 400},
		{"GET", "/storage/v1/b/b/o?startOffset=" + long[:1024], "", "", 200},
		{"GET", "/storage/v1/b/b/o?projection=some", "", "", 400},
		{"GET", "/storage/v1/b/b/o?projection=noAcl", "", "", 200},
		{"PATCH", "/storage/v1/b/b/o/missing", "", "{}", 404},
		{"PATCH", "/storage/v1/b/b/o/missing", "", "{", 400},
		{"GET", "/storage/v1/b", "", "", 501},
		{"GET", "/v0/b/b/o/a", "", "", 501},
		{"GET", "/storage/v1/b/b", "", "", 200},
		{"GET", "/storage/v1/b/b/o", "", "", 200},
	} {
		status, text := call(t, test.method, base+test.path, test.body, func(r *http.Request) {
			if test.header != "" {
				r.Header.Set("Content-Range", test.header)
			}
		})
		same(t, fmt.Sprintf("%s %.80s: %s", test.method, test.path, text), test.want, status)
	}
}

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
	_, err := server.Deliver(t.Context(), now)
	ok(t, err)
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
	check.Is(t, "sent", server.send(t.Context(), p), context.DeadlineExceeded)
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

// helperVariable makes the test binary run as a process that has backends, which a test then ends.
const helperVariable = "FIRESWEEP_TEST_HELPER"

// TestHelper is no test but the helper process: it starts a child, prints its process id and ends as it is told to.
func TestHelper(t *testing.T) {
	how := os.Getenv(helperVariable)
	if how == "" {
		t.Skip("only run by other tests")
	}
	var child *process.Process
	switch how {
	case asFirestore:
		t.Fatal(serveAsFirestore())
	case "backends":
		b, err := Start(context.Background(), Options{})
		ok(t, err)
		child = b.firestore.process
	default:
		var err error
		child, err = process.Start("sleep", "600")
		ok(t, err)
	}
	fmt.Printf("child %d\n", child.PID)
	switch how {
	case "exit":
		os.Exit(3)
	case "panic":
		panic("as told")
	case "return":
		return
	}
	select {} // until killed
}

// startHelper runs the helper in a process group of its own and returns it and its child's process id.
func startHelper(t *testing.T, how string) (*exec.Cmd, int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelper$", "-test.v")
	cmd.Env = append(os.Environ(), helperVariable+"="+how)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, nextChild(t, cmd, startCommand(t, cmd))
}

// startCommand starts the command and returns its output.
func startCommand(t *testing.T, cmd *exec.Cmd) *bufio.Scanner {
	t.Helper()
	output, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // gone already unless the test failed
	return bufio.NewScanner(output)
}

// nextChild returns the process id of the next child that helpers tell of.
func nextChild(t *testing.T, cmd *exec.Cmd, output *bufio.Scanner) int {
	t.Helper()
	for output.Scan() {
		if text, is := strings.CutPrefix(output.Text(), "child "); is {
			pid, err := strconv.Atoi(text)
			ok(t, err)
			return pid
		}
	}
	t.Fatalf("the helper ended without a child: %v", cmd.Wait())
	return 0
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("still not so: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// gone reports whether a process has ended. One that nobody has waited for has ended too.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // elsewhere than on Linux, init waits for orphans
	if err != nil {
		return false
	}
	_, state, _ := bytes.Cut(stat, []byte(") "))
	return bytes.HasPrefix(state, []byte("Z"))
}

func TestChildEndsWithItsParent(t *testing.T) {
	kill := func(cmd *exec.Cmd) error { return cmd.Process.Kill() }
	interruptGroup := func(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	byItself := func(*exec.Cmd) error { return nil }
	for _, test := range []struct {
		name, how string
		end       func(*exec.Cmd) error
	}{
		{"killed", "wait", kill},
		{"interrupted", "wait", interruptGroup},
		{"exit", "exit", byItself},
		{"panic", "panic", byItself},
		{"end of the test run", "return", byItself},
		{"killed, with all backends", "backends", kill},
		{"interrupted, with all backends", "backends", interruptGroup},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.how == "backends" { // what Java runs makes no difference
				javaAnswersAsFirestore(t, "")
			} else {
				t.Parallel()
			}
			if signal.Ignored(os.Interrupt) && strings.HasPrefix(test.name, "interrupted") {
				t.Skip("who runs the tests has them ignore Ctrl-C, and so does what they start")
			}
			cmd, child := startHelper(t, test.how)
			ok(t, test.end(cmd))
			err := cmd.Wait()
			eventually(t, "the child is gone", func() bool { return gone(child) })
			t.Logf("the helper ended: %v", err)
		})
	}
}
