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

// leash is the shell script that a child process is started through. The shell leaves a watcher behind and becomes the
// child itself. The watcher reads from descriptor 3, the reading end of a pipe whose writing end only this process
// holds: however this process ends (kill -9 and panics included), the system closes that end, the read returns, and the
// watcher kills its process group, which is the child and itself. The child is the group's leader, so that a
// terminal's Ctrl-C reaches this process alone. The watcher holds none of the child's output, for which Wait waits.
const leash = `{ read -r line; kill -KILL 0; } <&3 >/dev/null 2>&1 &
exec 3<&-
exec "$@"`

// longLeash is leash for a child that lives as long as another process, the first argument, or until it ends by itself.
// There is no pipe that only the other process holds, so the watcher looks every second.
const longLeash = `{ while kill -0 "$1" && kill -0 $$; do sleep 1; done; kill -KILL 0; } </dev/null >/dev/null 2>&1 &
shift
exec "$@"`

// process is a running program that does not outlive the process it belongs to, which most often is this one.
type process struct {
	pid    int    // the shell became the program
	stop   func() // kills it and waits until it is gone; may be called more than once
	output output
	done   chan struct{} // closed when the program is gone
	err    error         // how it ended; to be read after done
}

// output is what a program printed.
type output interface {
	String() string // the end of it
}

// startProcess runs the program with the arguments for as long as this process lives. It keeps the end of what the program
// prints.
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

// startProcessFor runs the program with the arguments for as long as the process parent lives, also after this one has ended.
// What the program prints goes to the file: nobody could wait for the end of a pipe that both processes held.
func startProcessFor(parent int, file *os.File, program string, arguments ...string) (*process, error) {
	cmd := exec.Command("sh", append([]string{"-c", longLeash, "sh", strconv.Itoa(parent), program}, arguments...)...)
	cmd.Stdout, cmd.Stderr = file, file
	p, err := run(cmd, logFile(file.Name()), nil)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return p, nil
}

// run starts the command. Its leash, if it has one, is what this process holds.
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

// otherProcess is a running process that is no child of this one, and that prints to a file. It is not to be stopped here.
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

// alive reports whether there is such a process.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// lastLines returns at most n last lines of what was printed.
func lastLines(printed output, n int) string {
	lines := strings.Split(strings.TrimSpace(printed.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// logFile is the name of a file that a program prints to.
type logFile string

// String returns the end of the file. An error stands in its place.
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
