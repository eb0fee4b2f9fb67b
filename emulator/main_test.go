package main

import (
	"bytes"
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/functions"
)

// output collects what the command prints.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// isolate keeps a command's environment from the other tests, and the Firebase Emulator Suite's from it.
func isolate(t *testing.T) {
	t.Helper()
	for _, name := range []string{backends.FirestoreHost, backends.StorageHost, backends.FirebaseStorageHost,
		backends.AuthHost, backends.TasksHost, "GOOGLE_CLOUD_PROJECT", "STORAGE_BUCKET", "FUNCTION_TARGET"} {
		t.Setenv(name, "")
	}
}

var freePorts = []string{"--firestore-port=0", "--auth-port=0", "--storage-port=0", "--tasks-port=0", "--functions-port=0"}

func TestDemoEndsAsTheSampleMust(t *testing.T) {
	isolate(t)
	var out output
	if err := run(t.Context(), []string{"--demo"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, e := range functions.All() {
		want := 2 // shown and in the table
		if e.Trigger == functions.Tasks {
			want = 1 // shown with its job
		}
		if n := strings.Count(out.String(), e.Name); n < want {
			t.Errorf("the demo names %s %d times, want %d", e.Name, n, want)
		}
	}
	if !strings.Contains(out.String(), "Everything is as it should be") {
		t.Errorf("the demo printed:\n%s", out.String())
	}
}

func TestServesUntilStopped(t *testing.T) {
	isolate(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out output
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, append([]string{"--sample"}, freePorts...), &out) }()
	for !strings.Contains(out.String(), "\nready\n") {
		select {
		case err := <-ended:
			t.Fatalf("ended before it was ready: %v\n%s", err, out.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	urls := regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+`).FindAllString(out.String(), -1)
	jobs := slices.DeleteFunc(functions.All(), func(e functions.Entry) bool { return e.Trigger != functions.Schedule })
	if len(urls) != len(jobs) {
		t.Fatalf("%d URLs shown for %d jobs", len(urls), len(jobs))
	}
	for _, url := range urls {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"dryRun":true}`))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		if _, err := body.ReadFrom(resp.Body); err != nil {
			t.Error(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if resp.StatusCode != http.StatusOK || !strings.Contains(body.String(), `"plan":[{`) {
			t.Errorf("%s on the sample data: %s %s", url, resp.Status, body.String())
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("stopped: %v", err)
	}
}

func TestWrongArguments(t *testing.T) {
	for _, args := range [][]string{{"--bogus"}, {"extra"}, {"--auth-port=x"}} {
		err := run(t.Context(), args, &output{})
		if err == nil || !strings.Contains(err.Error(), "--help") {
			t.Errorf("%v: %v, want an error that leads to --help", args, err)
		}
	}
	var out output
	if err := run(t.Context(), []string{"--help"}, &out); err != nil || !strings.Contains(out.String(), "-demo") {
		t.Errorf("--help: %v\n%s", err, out.String())
	}
}
