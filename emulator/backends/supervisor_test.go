package backends

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/process"
)

// helperVariable makes the test binary run as a process that has backends, which a test then ends.
const helperVariable = "FIRESWEEP_TEST_HELPER"

// TestHelper is no test but the helper process: it starts a child, prints its process id and ends as it is told to.
func TestHelper(t *testing.T) {
	how := os.Getenv(helperVariable)
	if how == "" {
		t.Skip("only run by other tests")
	}
	var child *process.Process
	switch how {
	case asFirestore:
		t.Fatal(serveAsFirestore())
	case "backends":
		b, err := Start(context.Background(), Options{})
		ok(t, err)
		child = b.firestore.process
	default:
		var err error
		if child, err = process.Start("sleep", "600"); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Printf("child %d\n", child.PID)
	switch how {
	case "exit":
		os.Exit(3)
	case "panic":
		panic("as told")
	case "return":
		return
	}
	select {} // until killed
}

// startHelper runs the helper in a process group of its own and returns it and its child's process id.
func startHelper(t *testing.T, how string) (*exec.Cmd, int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelper$", "-test.v")
	cmd.Env = append(os.Environ(), helperVariable+"="+how)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, nextChild(t, cmd, startCommand(t, cmd))
}

// startCommand starts the command and returns its output.
func startCommand(t *testing.T, cmd *exec.Cmd) *bufio.Scanner {
	t.Helper()
	output, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // gone already unless the test failed
	return bufio.NewScanner(output)
}

// nextChild returns the process id of the next child that helpers tell of.
func nextChild(t *testing.T, cmd *exec.Cmd, output *bufio.Scanner) int {
	t.Helper()
	for output.Scan() {
		if text, is := strings.CutPrefix(output.Text(), "child "); is {
			pid, err := strconv.Atoi(text)
			ok(t, err)
			return pid
		}
	}
	t.Fatalf("the helper ended without a child: %v", cmd.Wait())
	return 0
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("still not so: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// gone reports whether a process has ended. One that nobody has waited for has ended too.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // elsewhere than on Linux, init waits for orphans
	if err != nil {
		return false
	}
	_, state, _ := bytes.Cut(stat, []byte(") "))
	return bytes.HasPrefix(state, []byte("Z"))
}

func TestChildEndsWithItsParent(t *testing.T) {
	kill := func(cmd *exec.Cmd) error { return cmd.Process.Kill() }
	interruptGroup := func(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	byItself := func(*exec.Cmd) error { return nil }
	for _, test := range []struct {
		name, how string
		end       func(*exec.Cmd) error
	}{
		{"killed", "wait", kill},
		{"interrupted", "wait", interruptGroup},
		{"exit", "exit", byItself},
		{"panic", "panic", byItself},
		{"end of the test run", "return", byItself},
		{"killed, with all backends", "backends", kill},
		{"interrupted, with all backends", "backends", interruptGroup},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.how == "backends" { // what Java runs makes no difference
				javaAnswersAsFirestore(t, "")
			} else {
				t.Parallel()
			}
			if signal.Ignored(os.Interrupt) && strings.HasPrefix(test.name, "interrupted") {
				t.Skip("who runs the tests has them ignore Ctrl-C, and so does what they start")
			}
			cmd, child := startHelper(t, test.how)
			ok(t, test.end(cmd))
			err := cmd.Wait()
			eventually(t, "the child is gone", func() bool { return gone(child) })
			t.Logf("the helper ended: %v", err)
		})
	}
}
