package backends

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

// process is a running program that does not outlive the process it belongs to, usually this one.
type process struct {
	pid    int    // of the program, which the shell became
	stop   func() // kills the program and waits for its end; may be called more than once
	output output
	done   chan struct{} // closed when the program has ended
	err    error         // how it ended; valid after done
}

// startProcess runs the program with the arguments for as long as this process lives.
func startProcess(program string, arguments ...string) (*process, error) {
	p, err := startProcessFor(os.Getpid(), "", program, arguments...)
	if err == nil {
		_ = os.Remove(p.output.Name()) // it stays open; at worst a file stays in the temporary folder
	}
	return p, err
}

// startProcessFor runs the program with the arguments for as long as the process parent lives, even after this one has ended. The
// program prints to a new file in a folder: a pipe would have no reader after that.
func startProcessFor(parent int, folder, program string, arguments ...string) (*process, error) {
	file, err := os.CreateTemp(folder, filepath.Base(program)+"-*.log")
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	cmd := exec.Command("sh", append([]string{"-c", leash, "sh", strconv.Itoa(parent), program}, arguments...)...)
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", program, err), file.Close(), os.Remove(file.Name()))
	}
	p := &process{pid: cmd.Process.Pid, output: output{file}, done: make(chan struct{})}
	p.stop = func() {
		_ = cmd.Process.Kill() // fails only when the process is gone: the watcher does the same
		<-p.done
	}
	go func() {
		if p.err = cmd.Wait(); p.err == nil {
			p.err = errors.New("exit status 0")
		}
		close(p.done)
	}()
	return p, nil
}

// otherProcess returns a running process that is no child of this one and that prints to a file. Its stop does nothing.
func otherProcess(pid int, file string) (*process, error) {
	printed, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	p := &process{pid: pid, output: output{printed}, done: make(chan struct{}), stop: func() {}}
	go func() {
		for range time.Tick(time.Second) {
			if !alive(pid) {
				p.err = errors.New("it is gone")
				close(p.done)
				return
			}
		}
	}()
	return p, nil
}

// alive reports whether the process exists.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// output is the file that a program prints to. It stays open as long as this process lives.
type output struct{ *os.File }

const tailBytes = 32 << 10

// String returns the end of what was printed, or the error of reading it.
func (o output) String() string {
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

// lastLines returns the last n lines of an output.
func (o output) lastLines(n int) string {
	lines := strings.Split(strings.TrimSpace(o.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
