package backends

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// embedded says which backends were started here.
type embedded struct{ Firestore, Storage, Auth, Tasks bool }

func embeddedIn(b *Backends) embedded {
	return embedded{b.EmbedsFirestore(), b.Storage() != nil, b.Auth() != nil, b.Tasks() != nil}
}

func TestStartAndClose(t *testing.T) {
	b, err := Start(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
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
		if connections[key], err = net.Dial("tcp", environment[key]); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	<-b.Done()
	if err := b.Err(); err != nil {
		t.Errorf("after Close: %v", err)
	}
	if !gone(pid) {
		t.Error("Java is still there")
	}
	// The ports themselves may be somebody else's by now.
	for key, connection := range connections {
		if err := connection.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(b.firestore.process.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-b.Done()
	if err := b.Err(); err == nil || !strings.Contains(err.Error(), "Firestore emulator died") {
		t.Errorf("error %v", err)
	}
	if err := b.Close(); err == nil {
		t.Error("Close does not tell")
	}
}

func TestPortsInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }() // it was only held
	port := taken.Addr().(*net.TCPAddr).Port
	for service, options := range map[string]Options{
		"Firestore": {FirestorePort: port}, "Storage": {StoragePort: port},
		"Authentication": {AuthPort: port}, "Cloud Tasks": {TasksPort: port},
	} {
		b, err := Start(context.Background(), options)
		if err == nil {
			t.Errorf("%s started, closed: %v", service, b.Close())
			continue
		}
		want := PortsInUseError{{Service: service, Port: port}}
		var got PortsInUseError
		if !errors.As(err, &got) || !slices.Equal(got, want) {
			t.Errorf("error %q, want one about %v", err, want)
		}
		if says := fmt.Sprintf("port %d for %s is in use", port, service); !strings.Contains(err.Error(), says) {
			t.Errorf("error %q, want one with %q", err, says)
		}
	}
	_, err = Start(context.Background(), Options{FirestorePort: port, StoragePort: port, AuthPort: port, TasksPort: port})
	var got PortsInUseError
	if want := (PortsInUseError{{"Firestore", port}, {"Storage", port}, {"Authentication", port},
		{"Cloud Tasks", port}}); !errors.As(err, &got) || !slices.Equal(got, want) {
		t.Errorf("error %q, want one about %v", err, want)
	}
}

// clearEnvironment hides the Firebase Emulator Suite from a test that runs under it.
func clearEnvironment(t *testing.T) {
	t.Helper()
	for _, key := range []string{FirestoreHost, StorageHost, FirebaseStorageHost, AuthHost, TasksHost} {
		t.Setenv(key, "")
	}
}

func TestGivenPorts(t *testing.T) {
	clearEnvironment(t)
	t.Setenv(FirestoreHost, "127.0.0.1:1") // not started for this test
	ports := freePorts(t, 3)
	b, err := Start(context.Background(), Options{Missing: true, StoragePort: ports[0], AuthPort: ports[1], TasksPort: ports[2]})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		FirestoreHost: "127.0.0.1:1",
		StorageHost:   fmt.Sprintf("http://127.0.0.1:%d", ports[0]), FirebaseStorageHost: fmt.Sprintf("127.0.0.1:%d", ports[0]),
		AuthHost: fmt.Sprintf("127.0.0.1:%d", ports[1]), TasksHost: fmt.Sprintf("127.0.0.1:%d", ports[2]),
	}
	same(t, "environment", want, b.Environment())
	if err := b.Close(); err != nil {
		t.Error(err)
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
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{
				FirestoreHost: "127.0.0.1:1", AuthHost: "127.0.0.1:2", TasksHost: "127.0.0.1:4",
				StorageHost: "http://127.0.0.1:3", FirebaseStorageHost: "127.0.0.1:3",
			}
			same(t, "environment", want, b.Environment())
			same(t, "started", embedded{}, embeddedIn(b))
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// withoutFirestore starts the backends that start at once and stops them at the test's end.
func withoutFirestore(t *testing.T) *Backends {
	t.Helper()
	clearEnvironment(t)
	t.Setenv(FirestoreHost, "127.0.0.1:1")
	b, err := Start(context.Background(), Options{Missing: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
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

// call sends a request, which may be changed, and returns the answer.
func call(t *testing.T, method, url, body string, change ...func(*http.Request)) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(request)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

// same compares what is there with what is wanted.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
