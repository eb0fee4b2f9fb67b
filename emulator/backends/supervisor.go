package backends

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// leash is the shell script that starts a child process. The shell starts a watcher and then becomes the child itself. The
// watcher reads from descriptor 3, the reading end of a pipe whose writing end only this process holds. However this process
// ends (kill -9 and panics included), the system closes that end, the read returns, and the watcher kills its process group,
// which is the child and itself. The child leads a group of its own, so that a terminal's Ctrl-C reaches this process only. The
// watcher does not hold the child's output open, because Wait waits for the end of that.
const leash = `{ read -r line; kill -KILL 0; } <&3 >/dev/null 2>&1 &
exec 3<&-
exec "$@"`

// longLeash is leash for a child that lives as long as another process, the first argument, or until it ends by itself. There is
// no pipe that only the other process holds, so the watcher checks every second.
const longLeash = `{ while kill -0 "$1" && kill -0 $$; do sleep 1; done; kill -KILL 0; } </dev/null >/dev/null 2>&1 &
shift
exec "$@"`

// process is a running program that does not outlive the process it belongs to, usually this one.
type process struct {
	pid    int    // of the program, which the shell became
	stop   func() // kills the program and waits for its end; may be called more than once
	output output
	done   chan struct{} // closed when the program has ended
	err    error         // how it ended; valid after done
}

// output is what a program printed.
type output interface {
	String() string // the end of it
}

// startProcess runs the program with the arguments for as long as this process lives. It keeps the last part of the program's
// output.
func startProcess(program string, arguments ...string) (*process, error) {
	watched, held, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	cmd := exec.Command("sh", append([]string{"-c", leash, "sh", program}, arguments...)...)
	cmd.ExtraFiles = []*os.File{watched} // descriptor 3
	printed := &tail{}
	cmd.Stdout, cmd.Stderr = printed, printed
	p, err := run(cmd, printed, held)
	if err := errors.Join(err, watched.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", program, err), held.Close())
	}
	return p, nil
}

// startProcessFor runs the program with the arguments for as long as the process parent lives, even after this one has ended.
// The program's output goes to the file, because a pipe would have no reader after that.
func startProcessFor(parent int, file *os.File, program string, arguments ...string) (*process, error) {
	cmd := exec.Command("sh", append([]string{"-c", longLeash, "sh", strconv.Itoa(parent), program}, arguments...)...)
	cmd.Stdout, cmd.Stderr = file, file
	p, err := run(cmd, logFile(file.Name()), nil)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return p, nil
}

// run starts the command. leash, if there is one, is the end of the pipe that this process holds.
func run(cmd *exec.Cmd, printed output, leash *os.File) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{pid: cmd.Process.Pid, output: printed, done: make(chan struct{})}
	p.stop = func() {
		if leash != nil {
			_ = leash.Close() // fails only when closed before
		}
		_ = cmd.Process.Kill() // fails only when the process is gone: the watcher does the same
		<-p.done
	}
	go func() {
		p.err = cmd.Wait()
		if p.err == nil {
			p.err = errors.New("exit status 0")
		}
		close(p.done)
	}()
	return p, nil
}

// otherProcess returns a running process that is no child of this one and that prints to a file. Its stop does nothing.
func otherProcess(pid int, file string) *process {
	p := &process{pid: pid, output: logFile(file), done: make(chan struct{}), stop: func() {}}
	go func() {
		for range time.Tick(time.Second) {
			if !alive(pid) {
				p.err = errors.New("it is gone")
				close(p.done)
				return
			}
		}
	}()
	return p
}

// alive reports whether the process exists.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// lastLines returns the last n lines of an output.
func lastLines(printed output, n int) string {
	lines := strings.Split(strings.TrimSpace(printed.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// logFile is the name of a file that a program prints to.
type logFile string

// String returns the end of the file, or the error of reading it.
func (name logFile) String() string {
	text, err := os.ReadFile(string(name))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-tailBytes):])
}

// tail keeps the last part of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 32 << 10

// Write implements io.Writer. It never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if extra := len(t.text) - tailBytes; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(b), nil
}

// String returns all that is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
