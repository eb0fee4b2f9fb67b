// Package process runs programs that do not outlive the process that they belong to.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// leash is the shell script that starts a child process. The shell starts a watcher and then becomes the child itself. Its first
// argument is the process that the child must not outlive by more than a second. However that one ends (kill -9 and panics
// included), the watcher, which looks every second, kills its process group, which is the child and itself. The child leads a
// group of its own, so that a terminal's Ctrl-C reaches this process only. The watcher does not hold the child's output open.
const leash = `{ while kill -0 "$1" && kill -0 $$; do sleep 1; done; kill -KILL 0; } </dev/null >/dev/null 2>&1 &
shift
exec "$@"`

// Process is a running program that does not outlive the process it belongs to, usually this one.
type Process struct {
	PID    int    // of the program, which the shell became
	Stop   func() // kills the program and waits for its end; may be called more than once
	Output Output
	Done   chan struct{} // closed when the program has ended
	Err    error         // how it ended; valid after Done
}

// Start runs the program with the arguments for as long as this process lives.
func Start(program string, arguments ...string) (*Process, error) {
	p, err := StartFor(os.Getpid(), "", nil, program, arguments...)
	if err == nil {
		_ = os.Remove(p.Output.Name()) // it stays open; at worst a file stays in the temporary folder
	}
	return p, err
}

// StartFor runs the program with the arguments for as long as the process parent lives, even after this one has ended. The
// environment is nil for that of this process. The program prints to a new file in a folder: a pipe would have no reader after
// that.
func StartFor(parent int, folder string, environment []string, program string, arguments ...string) (*Process, error) {
	file, err := os.CreateTemp(folder, filepath.Base(program)+"-*.log")
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	cmd := exec.Command("sh", append([]string{"-c", leash, "sh", strconv.Itoa(parent), program}, arguments...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = environment, file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", program, err), file.Close(), os.Remove(file.Name()))
	}
	p := &Process{PID: cmd.Process.Pid, Output: Output{file}, Done: make(chan struct{})}
	p.Stop = func() {
		_ = cmd.Process.Kill() // fails only when the process is gone: the watcher does the same
		<-p.Done
	}
	go func() {
		if p.Err = cmd.Wait(); p.Err == nil {
			p.Err = errors.New("exit status 0")
		}
		close(p.Done)
	}()
	return p, nil
}

// Other returns a running process that is no child of this one and that prints to a file. Its Stop does nothing.
func Other(pid int, file string) (*Process, error) {
	printed, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	p := &Process{PID: pid, Output: Output{printed}, Done: make(chan struct{}), Stop: func() {}}
	go func() {
		for range time.Tick(time.Second) {
			if !Alive(pid) {
				p.Err = errors.New("it is gone")
				close(p.Done)
				return
			}
		}
	}()
	return p, nil
}

// Alive reports whether the process exists.
func Alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// Output is the file that a program prints to. It stays open as long as this process lives.
type Output struct{ *os.File }

const tailBytes = 32 << 10

// String returns the end of what was printed, or the error of reading it.
func (o Output) String() string {
	info, err := o.Stat()
	if err != nil {
		return err.Error()
	}
	text := make([]byte, min(info.Size(), tailBytes))
	n, err := o.ReadAt(text, info.Size()-int64(len(text)))
	if n < len(text) {
		return err.Error()
	}
	return string(text)
}

// LastLines returns the last n lines of an output.
func (o Output) LastLines(n int) string {
	lines := strings.Split(strings.TrimSpace(o.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Memory returns a process's resident memory, and its peak, in bytes. It works on Linux only, and while the process is alive.
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
