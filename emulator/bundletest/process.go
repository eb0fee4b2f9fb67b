package bundletest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/sweep"
)

// Process is the bundle running with one FUNCTION_TARGET.
type Process struct {
	Command *exec.Cmd
	url     string
	log     *tail
}

// Start starts the bundle with nothing in its environment but what is given. It ends with the test.
func Start(t testing.TB, target string, environment map[string]string) *Process {
	t.Helper()
	path, err := program(target)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	p := &Process{url: "http://127.0.0.1:" + port + "/", log: &tail{}}
	p.Command = exec.CommandContext(context.WithoutCancel(t.Context()), path)
	p.Command.Env = []string{"PORT=" + port, "FUNCTION_TARGET=" + target, "HOME=" + t.TempDir()}
	for name, value := range environment {
		p.Command.Env = append(p.Command.Env, name+"="+value)
	}
	p.Command.Stdout, p.Command.Stderr = p.log, p.log
	if err := p.Command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("the end of the function's log:\n%s", p.log)
		}
	})
	deadline := time.Now().Add(20 * time.Second)
	for {
		connection, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = connection.Close() // that it opened is all that matters
			return p
		}
		if time.Now().After(deadline) {
			t.Fatalf("the bundle does not listen: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Kill ends the process with SIGKILL and waits for its end. It may be called more than once.
func (p *Process) Kill() {
	_ = p.Command.Process.Kill() // it may have ended already
	_ = p.Command.Wait()         // its error says that it was killed
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
func (p *Process) Run(t testing.TB, body string, now time.Time) *sweep.Report {
	t.Helper()
	code, answer, err := p.Post(t.Context(), body, now)
	if err != nil {
		t.Fatal(err)
	}
	var report sweep.Report
	if err := json.Unmarshal(answer, &report); err != nil || report.RunID == "" {
		t.Fatalf("%d %s: not a report", code, answer)
	}
	return &report
}

// Memory returns how much memory the process has resident, and the most it has had, in bytes. It works on Linux only, and
// while the process is alive.
func (p *Process) Memory() (now, peak int, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Command.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	found := map[string]int{}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && (fields[0] == "VmRSS:" || fields[0] == "VmHWM:") {
			kilobytes, err := strconv.Atoi(fields[1])
			if err != nil {
				return 0, 0, err
			}
			found[fields[0]] = kilobytes << 10
		}
	}
	if len(found) != 2 {
		return 0, 0, fmt.Errorf("process %d has no memory: it has ended", p.Command.Process.Pid)
	}
	return found["VmRSS:"], found["VmHWM:"], nil
}

// tail keeps the end of a log: a run over 100,000 objects writes megabytes.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const tailBytes = 8 << 10

// Write implements io.Writer.
func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Write(p)
	if l.buf.Len() > 2*tailBytes {
		l.buf.Next(l.buf.Len() - tailBytes)
	}
	return len(p), nil
}

// String returns the end of what was written.
func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
