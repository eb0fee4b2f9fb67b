package backends

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// leash is the shell script that a child process is started through. The shell leaves a watcher behind and becomes the
// child itself. The watcher reads from descriptor 3, the reading end of a pipe whose writing end only this process
// holds: however this process ends (kill -9 and panics included), the system closes that end, the read returns, and the
// watcher kills its process group, which is the child and itself. The child is the group's leader, so that a
// terminal's Ctrl-C reaches this process alone. The watcher holds none of the child's output, for which Wait waits.
const leash = `{ read -r line; kill -KILL 0; } <&3 >/dev/null 2>&1 &
exec 3<&-
exec "$@"`

// process is a running child process that does not outlive this one.
type process struct {
	cmd    *exec.Cmd
	leash  *os.File
	output tail
	done   chan struct{} // closed when the child is gone and has been waited for
	err    error         // how it ended; to be read after done
}

// startProcess runs the program with the arguments. It keeps the end of what the program prints.
func startProcess(program string, arguments ...string) (*process, error) {
	watched, held, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	p := &process{leash: held, done: make(chan struct{})}
	p.cmd = exec.Command("sh", append([]string{"-c", leash, "sh", program}, arguments...)...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.ExtraFiles = []*os.File{watched} // descriptor 3
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	err = p.cmd.Start()
	if err := errors.Join(err, watched.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", program, err), held.Close())
	}
	go func() {
		p.err = p.cmd.Wait()
		if p.err == nil {
			p.err = errors.New("exit status 0")
		}
		close(p.done)
	}()
	return p, nil
}

// stop kills the process and waits until it is gone. It may be called more than once.
func (p *process) stop() {
	_ = p.leash.Close()      // fails only when closed before
	_ = p.cmd.Process.Kill() // the watcher does the same; fails only when the process is gone
	<-p.done
}

// pid returns the process id of the child: the shell became it.
func (p *process) pid() int { return p.cmd.Process.Pid }

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

// lines returns at most n last lines.
func (t *tail) lines(n int) string {
	lines := strings.Split(strings.TrimSpace(t.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
