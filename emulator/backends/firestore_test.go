package backends

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		if got, err := findFirestoreJar(context.Background(), slog.New(slog.DiscardHandler)); got != want || err != nil {
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
	newest := touch(t, folder, "cloud-firestore-emulator-v1.19.8.jar")
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
	if _, err := findFirestoreJar(context.Background(), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a missing file was taken")
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

func TestFirestoreFailures(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }() // it was only held
	port := taken.Addr().(*net.TCPAddr).Port
	for _, test := range []struct {
		name, script string
		port         int
		want         []string
	}{
		{"old Java", `
if [ "$1" = -version ]; then echo 'openjdk version "1.8.0_402"'; exit; fi
echo 'Error: java.lang.UnsupportedClassVersionError: no'; exit 1`, 0,
			[]string{"1.8.0_402", "install Java 17"}},
		{"placeholder of macOS", "echo 'The operation could not be completed. Unable to locate a Java Runtime.'; exit 1", 0,
			[]string{"placeholder", "brew install openjdk"}},
		{"it ends", "echo first; echo 'the reason'; exit 5", 0, []string{"exit status 5", "first\nthe reason"}},
		{"port in use", "exit 9", port, []string{fmt.Sprint(port), "Firebase Emulator Suite", "choose another"}},
		{"no port stays free", bindFailure, 0, []string{"5 attempts"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			fakeJava(t, test.script)
			_, err := startFirestore(context.Background(), "127.0.0.1", test.port, slog.New(slog.DiscardHandler))
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
	_, err := startFirestore(context.Background(), "127.0.0.1", port, slog.New(slog.DiscardHandler))
	if !errors.Is(err, errPortTaken) || !strings.Contains(err.Error(), fmt.Sprint(port)) {
		t.Errorf("error %v", err)
	}
}

func TestFirestoreTriesAnotherPort(t *testing.T) {
	java, err := findJava()
	if err != nil {
		t.Fatal(err)
	}
	jar, err := findFirestoreJar(context.Background(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(t.TempDir(), "mark")
	fakeJava(t, fmt.Sprintf("if [ ! -e '%s' ]; then : >'%s'; %s fi\nexec '%s' \"$@\"", mark, mark, bindFailure, java))
	t.Setenv("FIRESTORE_EMULATOR_BINARY_PATH", jar)
	e, err := startFirestore(context.Background(), "127.0.0.1", 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	e.process.stop()
}

func TestFirestoreStartIsCancelled(t *testing.T) {
	fakeJava(t, "sleep 600")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := startFirestore(ctx, "127.0.0.1", 0, slog.New(slog.DiscardHandler))
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

// freePort returns a port that is likely to be free.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().(*net.TCPAddr).Port
}
