package backends

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/emulator/process"
)

// touch makes an empty file and its folder.
func touch(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	ok(t, os.MkdirAll(filepath.Dir(path), 0o755))
	ok(t, os.WriteFile(path, nil, 0o600))
	return path
}

func TestFindFirestoreJar(t *testing.T) {
	const gcloudJar = "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar"
	home, cache, sdk, bin := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("PATH", bin)
	t.Setenv("FIRESTORE_EMULATOR_BINARY_PATH", "")
	t.Setenv("FIREBASE_EMULATORS_PATH", "")
	t.Setenv("CLOUDSDK_ROOT_DIR", "")
	expect := func(want string) {
		t.Helper()
		got, err := findFirestoreJar(context.Background(), io.Discard)
		same(t, "found", []any{want, nil}, []any{got, err})
	}
	// From the last place to the first.
	onPath := touch(t, sdk, gcloudJar)
	gcloud := touch(t, sdk, "bin", "gcloud")
	ok(t, os.Chmod(gcloud, 0o755))
	ok(t, os.Symlink(gcloud, filepath.Join(bin, "gcloud")))
	resolved, err := filepath.EvalSymlinks(onPath)
	ok(t, err)
	expect(resolved)
	root := t.TempDir()
	t.Setenv("CLOUDSDK_ROOT_DIR", root)
	expect(resolved) // nothing there yet
	expect2 := touch(t, root, gcloudJar)
	expect(expect2)
	folder := filepath.Join(home, ".cache", "firebase", "emulators")
	touch(t, folder, "cloud-firestore-emulator-v1.9.9.jar")
	newest := touch(t, folder, "cloud-firestore-emulator-v1.19.7.jar")
	touch(t, folder, "cloud-firestore-emulator-v1.2.30.jar")
	touch(t, folder, "cloud-firestore-emulator-v9.9.9.jar.part")
	touch(t, folder, "firebase-database-emulator-v4.11.2.jar")
	expect(newest)
	other := touch(t, cache, "cloud-firestore-emulator-v1.1.1.jar")
	t.Setenv("FIREBASE_EMULATORS_PATH", cache)
	expect(other)
	own := touch(t, t.TempDir(), "own.jar")
	t.Setenv("FIRESTORE_EMULATOR_BINARY_PATH", own)
	expect(own)
	t.Setenv("FIRESTORE_EMULATOR_BINARY_PATH", own+".missing")
	_, err = findFirestoreJar(context.Background(), io.Discard)
	check.Fails(t, err)
}

// TestNowhereToPutTheJar has no home folder, as services and containers may have none.
func TestNowhereToPutTheJar(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	_, err := downloadFolder()
	wantError(t, err, "set FIRESTORE_EMULATOR_BINARY_PATH to its jar")
}

// fakeJava puts a shell script in Java's place.
func fakeJava(t *testing.T, script string) {
	t.Helper()
	home := t.TempDir()
	java := touch(t, home, "bin", "java")
	ok(t, os.WriteFile(java, []byte("#!/bin/sh\n"+script), 0o600))
	ok(t, os.Chmod(java, 0o755))
	t.Setenv("JAVA_HOME", home)
	t.Setenv("FIRESTORE_EMULATOR_BINARY_PATH", touch(t, home, "emulator.jar"))
}

// startOn starts the emulator on a port, 0 being any.
func startOn(ctx context.Context, t *testing.T, port int) (*firestoreEmulator, error) {
	t.Helper()
	on, err := listen(t.Context(), port)
	ok(t, err)
	return startFirestore(ctx, process.Start, port, on, io.Discard)
}

// TestFirestoreFailures: whoever asks is told what Java said, and that it may be too old.
func TestFirestoreFailures(t *testing.T) {
	fakeJava(t, "echo first; echo 'the reason'; exit 5")
	_, err := startOn(context.Background(), t, 0)
	for _, want := range []string{"exit status 5", "first\nthe reason", "Java of version 17 or later", "brew install openjdk"} {
		wantError(t, err, want)
	}
}

// TestFirestoreTriesAnotherPort has programs end, as they do if their port is taken.
func TestFirestoreTriesAnotherPort(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	for port, want := range map[int]int{0: 2, freePorts(t, 1)[0]: 1} {
		starts := javaAnswersAsFirestore(t, fmt.Sprintf("if [ ! -e '%s' ]; then : >'%s'; exit 1; fi", mark, mark))
		e, err := startOn(context.Background(), t, port)
		if err == nil {
			e.process.Stop()
		}
		if all := started(t, starts); len(all) != want || (err == nil) != (port == 0) {
			t.Errorf("port %d: programs %v were started, want %d; error %v", port, all, want, err)
		}
		ok(t, os.Remove(mark))
	}
}

// TestWhoeverElseAnswersIsNotTaken has somebody else listen on the port, answering as Firestore does, and a program that ends.
func TestWhoeverElseAnswersIsNotTaken(t *testing.T) {
	asked := make(chan struct{})
	ended := make(chan struct{})
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-ended
		http.NotFound(w, r)
	}))
	defer other.Close()
	p, err := process.Start("sh", "-c", "echo '"+firestoreStarted+"'; exec sleep 600")
	ok(t, err)
	go func() {
		<-asked
		p.Stop()
		close(ended)
	}()
	check.Is(t, "waited for", awaitFirestore(t.Context(), p, strings.TrimPrefix(other.URL, "http://")), errEnded)
}

func TestFirestoreStartIsCancelled(t *testing.T) {
	fakeJava(t, "sleep 600")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := startOn(ctx, t, 0)
	check.Is(t, "started", err, context.Canceled)
}

func TestNoJava(t *testing.T) {
	t.Setenv("JAVA_HOME", "")
	t.Setenv("PATH", t.TempDir())
	_, err := findJava()
	wantError(t, err, "apt-get install default-jre-headless")
	t.Setenv("JAVA_HOME", t.TempDir())
	_, err = findJava()
	wantError(t, err, "JAVA_HOME")
}

// freePorts returns ports that nobody listens on, each once.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		on, err := listen(t.Context(), 0)
		ok(t, err)
		defer func() { _ = on.Close() }() // it was only held
		ports = append(ports, on.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

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
	same(t, "the emulator has ended before its go test", false, gone(emulator))
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

func TestDownload(t *testing.T) {
	const content = "the emulator"
	sum := sha256.Sum256([]byte(content))
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		want   string // in the error; "" is success
	}{
		{"good", func(w http.ResponseWriter, _ *http.Request) { write(t, w, content) }, ""},
		{"another in the cache", func(w http.ResponseWriter, _ *http.Request) { write(t, w, content) }, ""},
		{"other content", func(w http.ResponseWriter, _ *http.Request) { write(t, w, "the emulatoR") }, "SHA-256"},
		{"too long", func(w http.ResponseWriter, _ *http.Request) { write(t, w, content+"!") }, "SHA-256"},
		{"too short", func(w http.ResponseWriter, _ *http.Request) { write(t, w, content[1:]) }, "SHA-256"},
		{"broken off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(content)))
			write(t, w, content[:5])
		}, "unexpected EOF"},
		{"missing", http.NotFound, "404"},
		{"offline", nil, "connection refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(test.answer)
			defer server.Close()
			if test.answer == nil {
				server.Close()
			}
			folder := filepath.Join(t.TempDir(), "new", "folder")
			d := download{url: server.URL, name: "x.jar", bytes: int64(len(content)), sha256: hex.EncodeToString(sum[:])}
			if test.name == "another in the cache" { // of the right size
				ok(t, os.WriteFile(touch(t, folder, d.name), []byte("the emulatoR"), 0o600))
			}
			var told bytes.Buffer
			path, err := d.fetch(context.Background(), folder, &told)
			check.Holds(t, told.String(), "downloading the Firestore emulator, once: "+server.URL)
			switch test.want {
			case "":
				ok(t, err)
				got, err := os.ReadFile(path)
				same(t, "file", []any{content, nil}, []any{string(got), err})
				server.Close() // the second time it is there
				again, err := d.fetch(context.Background(), folder, io.Discard)
				same(t, "second time", []any{path, nil}, []any{again, err})
			default:
				for _, part := range []string{test.want, "firebase setup:emulators:firestore", "gcloud", "FIRESTORE_EMULATOR_BINARY_PATH"} {
					wantError(t, err, part)
				}
			}
			left, err := filepath.Glob(filepath.Join(folder, "*"))
			ok(t, err)
			same(t, "files in the folder", map[bool]int{true: 1, false: 0}[test.want == ""], len(left))
		})
	}
}

// TestTheCLIsEmulatorIsChecked where its sum is known.
func TestTheCLIsEmulatorIsChecked(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("FIREBASE_EMULATORS_PATH", folder)
	t.Setenv(jarVariable, "")
	ok(t, os.WriteFile(filepath.Join(folder, firestoreDownload.name), []byte("another"), 0o600))
	_, err := findFirestoreJar(context.Background(), io.Discard)
	wantError(t, err, "delete it")
}

func write(t *testing.T, w http.ResponseWriter, text string) {
	t.Helper()
	if _, err := w.Write([]byte(text)); err != nil {
		t.Error(err)
	}
}
