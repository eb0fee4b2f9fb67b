package backends

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
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
		if connections[key], err = net.Dial("tcp", environment[key]); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		ok(t, b.Close())
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
	if err := b.Close(); err == nil {
		t.Error("Close does not tell")
	}
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

// ok ends a test that cannot go on.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError wants an error that has a text.
func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want one with %q", err, text)
	}
}

// same compares what is there with what is wanted.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
