package backends

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// download is a file that is downloaded once and checked.
type download struct {
	url    string
	name   string // in the cache
	bytes  int64
	sha256 string // hexadecimal
}

// firestoreDownload is the emulator that the Firebase CLI 14.27.0 downloads.
var firestoreDownload = download{
	url:    "https://storage.googleapis.com/firebase-preview-drop/emulator/cloud-firestore-emulator-v1.19.8.jar",
	name:   "cloud-firestore-emulator-v1.19.8.jar",
	bytes:  63_634_791,
	sha256: "9d43599ed6151199e8d604dc87fac51218e49e5f3a48519b1ae560bbe5e3382d",
}

// fetch returns the file's path in the folder, and downloads it first if it is missing. Several processes may do so at the same
// time: the file gets its name only when it is whole and checked.
func (d download) fetch(ctx context.Context, folder string, log io.Writer) (string, error) {
	path := filepath.Join(folder, d.name)
	if d.verify(path) == nil { // else it is missing, or somebody put another one there
		return path, nil
	}
	fmt.Fprintf(log, "downloading the Firestore emulator, once: %s, %d MB, to %s\n", d.url, d.bytes/1_000_000, path)
	if err := d.save(ctx, path); err != nil {
		return "", fmt.Errorf("the Firestore emulator was not found on this machine, and downloading it failed: %w\n"+
			"Any of these provides it:\n"+
			"  npm install -g firebase-tools && firebase setup:emulators:firestore\n"+
			"  gcloud components install cloud-firestore-emulator (or the package google-cloud-cli-firestore-emulator)\n"+
			"  FIRESTORE_EMULATOR_BINARY_PATH=/path/to/cloud-firestore-emulator.jar", err)
	}
	return path, nil
}

// verify returns an error unless the file at the path is the one that was meant.
func (d download) verify(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); sum != d.sha256 {
		return fmt.Errorf("%s: SHA-256 is %s, want %s: delete it", path, sum, d.sha256)
	}
	return nil
}

func (d download) save(ctx context.Context, path string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(path), d.name+".part-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = part.Close()           // closed already, or the copy's error says more
			_ = os.Remove(part.Name()) // a leftover does no harm
		}
	}()
	if err := cmp.Or(d.copyTo(ctx, part), part.Close()); err != nil {
		return err
	}
	if err := d.verify(part.Name()); err != nil {
		return err
	}
	return os.Rename(part.Name(), path)
}

// copyTo writes what is downloaded to w: at most a byte more than the file has.
func (d download) copyTo(ctx context.Context, w io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", d.url, response.Status)
	}
	if n, err := io.Copy(w, io.LimitReader(response.Body, d.bytes+1)); err != nil {
		return fmt.Errorf("GET %s: after %d bytes: %w", d.url, n, err)
	}
	return nil
}
