package backends

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"
)

// jarVariable names the emulator's jar file. The Firebase CLI reads it, too.
const jarVariable = "FIRESTORE_EMULATOR_BINARY_PATH"

// findFirestoreJar returns the emulator's jar file: the one that the environment names, the Firebase CLI's, gcloud's, or one
// that it downloads into the user's cache.
func findFirestoreJar(ctx context.Context, log io.Writer) (string, error) {
	if path := os.Getenv(jarVariable); path != "" {
		if !isFile(path) {
			return "", fmt.Errorf("%s=%s is not a file", jarVariable, path)
		}
		return path, nil
	}
	if path := newestJar(firebaseCache()); path != "" {
		if filepath.Base(path) == firestoreDownload.name { // the sums of others are not known here; the CLI checks its downloads
			return path, firestoreDownload.verify(path)
		}
		return path, nil
	}
	for _, root := range gcloudRoots() {
		path := filepath.Join(root, "platform", "cloud-firestore-emulator", "cloud-firestore-emulator.jar")
		if isFile(path) {
			return path, nil
		}
	}
	folder, err := downloadFolder()
	if err != nil {
		return "", err
	}
	return firestoreDownload.fetch(ctx, folder, log)
}

// downloadFolder returns the folder for a downloaded emulator.
func downloadFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place for the Firestore emulator: %w; set %s to its jar", err, jarVariable)
	}
	return filepath.Join(cache, "firesweep", "emulators"), nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// firebaseCache returns the folder in which the Firebase CLI keeps emulators.
func firebaseCache() string {
	if path := os.Getenv("FIREBASE_EMULATORS_PATH"); path != "" {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "" // no home, no cache
	}
	return filepath.Join(home, ".cache", "firebase", "emulators")
}

// newestJar returns the emulator of the highest version in the folder; "" if there is none.
func newestJar(folder string) (newest string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "" // no such folder: the Firebase CLI has downloaded nothing
	}
	version := ""
	for _, entry := range entries {
		of, isJar := strings.CutSuffix(strings.TrimPrefix(entry.Name(), "cloud-firestore-emulator-"), ".jar")
		if isJar && semver.Compare(of, version) > 0 {
			newest, version = filepath.Join(folder, entry.Name()), of
		}
	}
	return newest
}

// gcloudRoots returns the folders in which the Google Cloud SDK is installed: the one that the environment names, and that of the
// gcloud on PATH.
func gcloudRoots() []string {
	var roots []string
	if root := os.Getenv("CLOUDSDK_ROOT_DIR"); root != "" {
		roots = append(roots, root)
	}
	if path, err := exec.LookPath("gcloud"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			roots = append(roots, filepath.Dir(filepath.Dir(path)))
		}
	}
	return roots
}

const installJava = "install Java 17 or later (Debian, Ubuntu: apt-get install default-jre-headless; " +
	"macOS: brew install openjdk) and make sure that java is on PATH or JAVA_HOME is set"

// findJava returns the path of java: that of JAVA_HOME, otherwise that on PATH.
func findJava() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java := filepath.Join(home, "bin", "java")
		if _, err := exec.LookPath(java); err != nil {
			return "", fmt.Errorf("the Firestore emulator needs Java, and JAVA_HOME=%s holds none (%w): correct or unset it, or %s",
				home, err, installJava)
		}
		return java, nil
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("the Firestore emulator needs Java, and none was found: %s", installJava)
	}
	return java, nil
}
