package backends

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

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
			if !strings.Contains(told.String(), "downloading the Firestore emulator, once: "+server.URL) {
				t.Errorf("nobody is told of the download: %q", told.String())
			}
			switch test.want {
			case "":
				ok(t, err)
				if got, err := os.ReadFile(path); err != nil || string(got) != content {
					t.Errorf("file %q, %v", got, err)
				}
				server.Close() // the second time it is there
				if again, err := d.fetch(context.Background(), folder, io.Discard); again != path || err != nil {
					t.Errorf("second time: %q, %v", again, err)
				}
			default:
				for _, part := range []string{test.want, "firebase setup:emulators:firestore", "gcloud", "FIRESTORE_EMULATOR_BINARY_PATH"} {
					wantError(t, err, part)
				}
			}
			left, err := filepath.Glob(filepath.Join(folder, "*"))
			ok(t, err)
			if want := map[bool]int{true: 1, false: 0}[test.want == ""]; len(left) != want {
				t.Errorf("the folder holds %v", left)
			}
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
