package bundletest

import (
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
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/engine/report"
)

// Process is a process of the bundle, with one FUNCTION_TARGET.
type Process struct {
	command *exec.Cmd
	url     string
	log     printed
	ended   chan struct{}
	err     error // how it ended; valid after ended
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
		if !strings.Contains(p.log.String(), "address already in use") {
			t.Fatalf("the bundle ended before it listened: %v", p.err)
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
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // the process has its own
	p := &Process{url: "http://" + free.Addr().String(), log: printed(log.Name()), ended: make(chan struct{})}
	p.command = exec.CommandContext(context.WithoutCancel(t.Context()), path)
	p.command.Env = []string{"PORT=" + port, "FUNCTION_TARGET=" + target, "HOME=" + t.TempDir()}
	for name, value := range environment {
		p.command.Env = append(p.command.Env, name+"="+value)
	}
	p.command.Stdout, p.command.Stderr = log, log
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.command.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("the end of the function's log:\n%s", p.log)
		}
	})
	return p
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
		case <-p.ended: // another program answered
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

// URL is where the process listens.
func (p *Process) URL() string { return p.url }

// Signal sends the process a signal.
func (p *Process) Signal(signal os.Signal) error { return p.command.Process.Signal(signal) }

// Wait waits for the end of the process and returns how it ended.
func (p *Process) Wait() error {
	<-p.ended
	return p.err
}

// Lives reports whether the process has not ended.
func (p *Process) Lives() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Kill ends the process with SIGKILL and waits for its end. It may be called more than once.
func (p *Process) Kill() {
	_ = p.command.Process.Kill() // it may have ended already
	<-p.ended
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

// Memory returns the process's resident memory, and its peak, in bytes. It works on Linux only, and while the process is
// alive.
func (p *Process) Memory() (now, peak int, err error) { return Memory(p.command.Process.Pid) }

// Memory is [Process.Memory] of any process.
func Memory(pid int) (now, peak int, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
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
		return 0, 0, fmt.Errorf("process %d has no memory: it has ended", pid)
	}
	return found["VmRSS:"], found["VmHWM:"], nil
}

// printed is the file that a process prints to.
type printed string

const tailBytes = 8 << 10

// String returns the end of what was printed: a run on 100,000 objects prints megabytes. If it cannot be read, it says why.
func (name printed) String() string {
	text, err := os.ReadFile(string(name))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-tailBytes):])
}
