package backends

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		if got, err := findFirestoreJar(context.Background(), io.Discard); got != want || err != nil {
			t.Errorf("found %q, %v; want %q", got, err, want)
		}
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
	if _, err := findFirestoreJar(context.Background(), io.Discard); err == nil {
		t.Error("a missing file was taken")
	}
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
	if err := awaitFirestore(t.Context(), p, strings.TrimPrefix(other.URL, "http://")); !errors.Is(err, errEnded) {
		t.Errorf("error %v, want %v", err, errEnded)
	}
}

func TestFirestoreStartIsCancelled(t *testing.T) {
	fakeJava(t, "sleep 600")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := startOn(ctx, t, 0)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
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
