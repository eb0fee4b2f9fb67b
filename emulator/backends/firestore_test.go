package backends

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/emulator/ports"
)

// touch makes an empty file and its folder.
func touch(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
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
	if err := os.Chmod(gcloud, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(gcloud, filepath.Join(bin, "gcloud")); err != nil {
		t.Fatal(err)
	}
	resolved, err := filepath.EvalSymlinks(onPath)
	if err != nil {
		t.Fatal(err)
	}
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
	if _, err := downloadFolder(); err == nil || !strings.Contains(err.Error(), "set FIRESTORE_EMULATOR_BINARY_PATH to its jar") {
		t.Errorf("error %v, want one that says which variable helps", err)
	}
}

// fakeJava puts a shell script in Java's place.
func fakeJava(t *testing.T, script string) {
	t.Helper()
	home := t.TempDir()
	java := touch(t, home, "bin", "java")
	if err := os.WriteFile(java, []byte("#!/bin/sh\n"+script), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(java, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("JAVA_HOME", home)
	t.Setenv("FIRESTORE_EMULATOR_BINARY_PATH", touch(t, home, "emulator.jar"))
}

const bindFailure = "echo 'java.net.BindException: Address already in use'; exit 1\n"

// startOn starts the emulator on a port, 0 being any.
func startOn(ctx context.Context, t *testing.T, port int) (*firestoreEmulator, error) {
	t.Helper()
	reserved, err := ports.Reserve(t.Context(), "127.0.0.1", port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reserved.Release)
	return startFirestore(ctx, startProcess, "127.0.0.1", port, reserved, io.Discard)
}

func TestFirestoreFailures(t *testing.T) {
	for _, test := range []struct {
		name, script string
		want         []string
	}{
		{"old Java", `
if [ "$1" = -version ]; then echo 'openjdk version "1.8.0_402"'; exit; fi
echo 'Error: java.lang.UnsupportedClassVersionError: no'; exit 1`,
			[]string{"1.8.0_402", "install Java 17"}},
		{"placeholder of macOS", "echo 'The operation could not be completed. Unable to locate a Java Runtime.'; exit 1",
			[]string{"placeholder", "brew install openjdk"}},
		{"it ends", "echo first; echo 'the reason'; exit 5", []string{"exit status 5", "first\nthe reason"}},
		{"no port stays free", bindFailure, []string{"5 attempts"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			fakeJava(t, test.script)
			_, err := startOn(context.Background(), t, 0)
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want one with %q", err, want)
				}
			}
		})
	}
}

func TestFirestorePortTakenAfterTheCheck(t *testing.T) {
	fakeJava(t, bindFailure)
	port := freePort(t)
	_, err := startOn(context.Background(), t, port)
	var taken PortsInUseError
	if !errors.As(err, &taken) || !slices.Equal(taken, PortsInUseError{{"Firestore", port}}) {
		t.Errorf("error %v", err)
	}
}

// TestFirestoreTriesAnotherPort has the first program find its port taken.
func TestFirestoreTriesAnotherPort(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	starts := javaAnswersAsFirestore(t, fmt.Sprintf("if [ ! -e '%s' ]; then : >'%s'; %s fi", mark, mark, bindFailure))
	e, err := startOn(context.Background(), t, 0)
	if err != nil {
		t.Fatal(err)
	}
	e.process.stop()
	if all := started(t, starts); len(all) != 2 {
		t.Errorf("programs %v were started, want one that ends and one more", all)
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
	p, err := startProcess("sh", "-c", "echo '"+firestoreStarted+"'; exec sleep 600")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-asked
		p.stop()
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
	if _, err := findJava(); err == nil || !strings.Contains(err.Error(), "apt-get install default-jre-headless") {
		t.Errorf("error %v", err)
	}
	t.Setenv("JAVA_HOME", t.TempDir())
	if _, err := findJava(); err == nil || !strings.Contains(err.Error(), "JAVA_HOME") {
		t.Errorf("error %v", err)
	}
}

// freePort returns a port that nobody else is given before the test ends.
func freePort(t *testing.T) int {
	t.Helper()
	reserved, err := ports.Reserve(t.Context(), "127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reserved.Release)
	return reserved.Port
}
