package backends

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/process"
)

// The helpers of these tests. Each runs this test binary as another program.
const (
	asFirestore = "Firestore" // in Java's place: it answers as the emulator does, without its start that takes seconds
	asSharer    = "sharer"    // a test process that shares an emulator; it prints "child" and the emulator's process id
)

// serveAsFirestore is what asFirestore does.
func serveAsFirestore() error {
	flags := map[string]string{}
	for _, argument := range os.Args {
		name, value, _ := strings.Cut(argument, "=")
		flags[name] = value
	}
	fmt.Println(firestoreStarted)
	server := &http.Server{Addr: flags["--host"] + ":" + flags["--port"], Handler: http.NotFoundHandler(),
		ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}

// javaAnswersAsFirestore puts asFirestore in Java's place. Each process first writes its id to the file whose name is returned,
// and runs the script.
func javaAnswersAsFirestore(t *testing.T, script string) (starts string) {
	t.Helper()
	starts = filepath.Join(t.TempDir(), "starts")
	fakeJava(t, fmt.Sprintf("echo $$ >>'%s'\n%s\n%s=%s exec '%s' -test.run='^TestHelper$' -- \"$@\"",
		starts, script, helperVariable, asFirestore, os.Args[0]))
	return starts
}

// started returns the process ids that javaAnswersAsFirestore's file holds.
func started(t *testing.T, starts string) []int {
	t.Helper()
	text, err := os.ReadFile(starts)
	ok(t, err)
	var pids []int
	for line := range strings.Lines(string(text)) {
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		ok(t, err)
		pids = append(pids, pid)
	}
	return pids
}

// aGoTest is a process in the place of "go test", which ends with the test at the latest.
func aGoTest(t *testing.T) goTest {
	t.Helper()
	p, err := process.Start("sleep", "600")
	ok(t, err)
	t.Cleanup(p.Stop)
	return goTest{pid: p.PID, folder: t.TempDir()}
}

// share is what a test process does for its emulator.
func share(command goTest) (*firestoreEmulator, error) {
	on, err := listen(context.Background(), 0)
	if err != nil {
		return nil, err
	}
	return sharedFirestore(context.Background(), command, io.Discard, on)
}

func mustShare(t *testing.T, command goTest) *firestoreEmulator {
	t.Helper()
	e, err := share(command)
	ok(t, err)
	return e
}

// endsWith checks that the emulator lives as long as its "go test".
func endsWith(t *testing.T, command goTest, emulator int) {
	t.Helper()
	if gone(emulator) {
		t.Error("the emulator has ended before its go test")
	}
	ok(t, syscall.Kill(command.pid, syscall.SIGKILL))
	eventually(t, "the emulator is gone", func() bool { return gone(emulator) })
}

func TestSharedFirestoreThatDied(t *testing.T) {
	javaAnswersAsFirestore(t, "echo the last words")
	command := aGoTest(t)
	starter, other := mustShare(t, command), mustShare(t, command)
	ok(t, syscall.Kill(starter.process.PID, syscall.SIGKILL))
	for name, p := range map[string]*process.Process{"starter": starter.process, "other": other.process} {
		<-p.Done
		if p.Err == nil || !strings.Contains(p.Output.String(), "the last words") {
			t.Errorf("%s: %v, printed %q", name, p.Err, p.Output)
		}
	}
	next := mustShare(t, command)
	if next.process.PID == starter.process.PID {
		t.Error("the dead one is used")
	}
	endsWith(t, command, next.process.PID)
}

// goScript stands in the place of the command go. It runs a test process that is killed while its emulator starts, two that
// are not, and waits for the end of its input.
const goScript = `#!/bin/sh
"$@" & killed=$!
until [ -s "$STARTS" ]; do sleep 0.1; done
kill -KILL $killed
wait $killed
rm "$HANG"
"$@"
"$@"
read -r end
exit 0
`

// TestSharedFirestoreOfTestProcesses has real processes for all that take part.
func TestSharedFirestoreOfTestProcesses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere a script has the name of its shell")
	}
	hang := touch(t, t.TempDir(), "hang")
	starts := javaAnswersAsFirestore(t, fmt.Sprintf("if [ -e '%s' ]; then exec sleep 600; fi", hang))
	script := touch(t, t.TempDir(), "go")
	ok(t, errors.Join(os.WriteFile(script, []byte(goScript), 0o600), os.Chmod(script, 0o755)))
	program := filepath.Join(t.TempDir(), "go-build1", "b001", "x.test")
	ok(t, os.MkdirAll(filepath.Dir(program), 0o755))
	if err := os.Link(os.Args[0], program); err != nil {
		t.Skipf("the test binary cannot be linked to: %v", err)
	}
	cmd := exec.Command(script, program, "-test.run=^TestHelper$", "-test.v")
	cmd.Env = append(os.Environ(), helperVariable+"="+asSharer, "HANG="+hang, "STARTS="+starts)
	input, err := cmd.StdinPipe()
	ok(t, err)
	output := startCommand(t, cmd)
	first, second := nextChild(t, cmd, output), nextChild(t, cmd, output)
	same(t, "the emulators of two test processes", first, second)
	all := started(t, starts)
	if len(all) != 2 || all[1] != first {
		t.Fatalf("emulators %v were started, want one by the process that was killed and then %d", all, first)
	}
	for _, pid := range all {
		if gone(pid) {
			t.Errorf("emulator %d has ended before the command go", pid)
		}
	}
	ok(t, input.Close())
	for output.Scan() { // to the end, which would not come while an emulator had the same output
	}
	ok(t, cmd.Wait())
	for _, pid := range all {
		eventually(t, "the emulator is gone", func() bool { return gone(pid) })
	}
}

// TestFirestoreIsNotSharedByOtherProcesses: what a test starts is not the command go's process, nor is what nobody tested.
func TestFirestoreIsNotSharedByOtherProcesses(t *testing.T) {
	javaAnswersAsFirestore(t, "")
	cmd, child := startHelper(t, asSharer)
	ok(t, cmd.Wait())
	eventually(t, "the emulator is gone", func() bool { return gone(child) })
}
