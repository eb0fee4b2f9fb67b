package backends

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/firesweep/firesweep/emulator/process"
)

// goTest is the "go test" that runs this process.
type goTest struct {
	pid    int
	folder string // for the programs that it builds; it deletes the folder at its end
}

// findGoTest returns the "go test" that runs this process. There is none if the test was built beforehand, if another program
// runs it (go test -exec), and in processes that a test starts.
func findGoTest() (goTest, bool) {
	program, err := os.Executable()
	if err != nil {
		return goTest{}, false
	}
	command := goTest{pid: os.Getppid(), folder: filepath.Dir(filepath.Dir(program))} // of …/go-build123/b001/x.test
	return command, strings.HasPrefix(filepath.Base(command.folder), "go-build") && programName(command.pid) == "go"
}

// programName returns the name of the program that a process runs; "" if it cannot be found out.
func programName(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil { // not Linux
		name, err = exec.Command("ps", "-o", "comm=", "-p", strconv.Itoa(pid)).Output()
	}
	if err != nil {
		return ""
	}
	return filepath.Base(strings.TrimSpace(string(name)))
}

// shared is what the processes of one "go test" tell each other of their Firestore emulator.
type shared struct {
	PID     int
	Address string
	Output  string // the file that it prints to
}

// sharedFirestore returns the Firestore emulator that all processes of the "go test" share. The first of them starts it, or the
// first that finds it dead. It ends when the "go test" has ended.
//
// The processes tell each other about it in a file, and whoever holds the file's lock is the first. If that process ends before
// the emulator answers, the system releases the lock, the file names no emulator, and another process is the first.
func sharedFirestore(ctx context.Context, command goTest, log io.Writer, on net.Listener) (_ *firestoreEmulator, err error) {
	defer func() { _ = on.Close() }() // Java has it, or nobody needs it
	file, err := os.OpenFile(filepath.Join(command.folder, "firestore-emulator.json"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("share a Firestore emulator: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }() // this releases the lock
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("share a Firestore emulator: %w", err)
	}
	var there shared
	// If it is no JSON, there is none, or its starter was killed writing.
	if err := json.Unmarshal(text, &there); err == nil && process.Alive(there.PID) {
		other, err := process.Other(there.PID, there.Output)
		return &firestoreEmulator{process: other, address: there.Address}, err
	}
	start := func(program string, arguments ...string) (*process.Process, error) {
		return process.StartFor(command.pid, command.folder, nil, program, arguments...)
	}
	e, err := startFirestore(ctx, start, 0, on, log)
	if err != nil {
		return nil, err
	}
	if text, err = json.Marshal(shared{PID: e.process.PID, Address: e.address, Output: e.process.Output.Name()}); err != nil {
		return nil, err
	}
	if err := os.WriteFile(file.Name(), text, 0o600); err != nil {
		return nil, fmt.Errorf("share a Firestore emulator: %w", err)
	}
	return e, nil
}
