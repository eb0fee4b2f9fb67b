package bundletest

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/process"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// Process is a process of the bundle, with one FUNCTION_TARGET.
type Process struct {
	*process.Process
	url string
}

// Starting a program takes long on a busy machine.
const (
	startTimeout = 5 * time.Minute
	attempts     = 5 // to find a port that nobody takes before the program does
)

// Start starts the bundle with only the given environment. The process ends with the test.
func Start(t testing.TB, target string, environment map[string]string) *Process {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	for range attempts {
		p := start(t, path, target, environment)
		if p.listens(t) {
			return p
		}
		if !strings.Contains(p.Output.String(), "address already in use") {
			t.Fatalf("the bundle ended before it listened: %v", p.Err)
		}
	}
	t.Fatalf("no port stayed free in %d attempts", attempts)
	return nil
}

func start(t testing.TB, path, target string, environment map[string]string) *Process {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	variables := []string{"PORT=" + port, "FUNCTION_TARGET=" + target, "HOME=" + t.TempDir()}
	for name, value := range environment {
		variables = append(variables, name+"="+value)
	}
	run, err := process.StartFor(os.Getpid(), t.TempDir(), variables, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		run.Stop()
		if t.Failed() {
			t.Logf("the end of the function's log:\n%s", run.Output)
		}
	})
	return &Process{Process: run, url: "http://" + free.Addr().String()}
}

// listens returns true when the process listens, and false if it ends before.
func (p *Process) listens(t testing.TB) bool {
	t.Helper()
	deadline := time.Now().Add(startTimeout)
	for {
		connection, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		if err == nil {
			_ = connection.Close() // it matters only that it opened
		}
		select {
		case <-p.Done: // another program answered
			return false
		case <-time.After(10 * time.Millisecond):
		}
		if err == nil {
			return true
		}
		if time.Now().After(deadline) {
			t.Fatalf("the bundle does not listen: %v", err)
		}
	}
}

// Post calls the function as Cloud Scheduler does and returns the answer's status and body.
func (p *Process) Post(ctx context.Context, body string, now time.Time) (int, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("X-CloudScheduler-ScheduleTime", now.Format(time.RFC3339))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it has been read
	return resp.StatusCode, answer, err
}

// Run calls the function and returns its report.
func (p *Process) Run(t testing.TB, body string, now time.Time) *report.Report {
	t.Helper()
	code, answer, err := p.Post(t.Context(), body, now)
	if err != nil {
		t.Fatal(err)
	}
	var rep report.Report
	if err := json.Unmarshal(answer, &rep); err != nil || rep.RunID == "" {
		t.Fatalf("%d %s: not a report", code, answer)
	}
	return &rep
}
