package backends

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/process"
)

// asFirestore has the test binary run in Java's place: it answers as the emulator does, without its start that takes seconds.
const asFirestore = "Firestore"

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
