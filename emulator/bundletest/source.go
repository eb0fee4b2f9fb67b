// Package bundletest builds the bundle as Google's buildpack does, and runs it in processes, for tests of what only a process can
// show: that it starts, how much memory it takes, and that it may be killed.
package bundletest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
)

// ArchivedFiles returns the files that Terraform puts into the source archive of the module at root: the path of each, by its
// name in the archive. It reads the same rule as Terraform.
func ArchivedFiles(root string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "terraform", "source.json"))
	if err != nil {
		return nil, err
	}
	var rule struct{ Include, Exclude string }
	if err := json.Unmarshal(text, &rule); err != nil {
		return nil, fmt.Errorf("read terraform/source.json: %w", err)
	}
	include, exclude := regexp.MustCompile(rule.Include), regexp.MustCompile(rule.Exclude)
	files := map[string]string{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if name = filepath.ToSlash(name); include.MatchString(name) && !exclude.MatchString(name) {
			files[name] = path
		}
		return err
	})
	return files, err
}

// unpackArchive writes the files of the source archive into a new folder.
func unpackArchive(root, dir string) error {
	files, err := ArchivedFiles(root)
	if err != nil {
		return err
	}
	for name, from := range files {
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// moduleRoot returns the folder of the go.mod above the working directory, which is that of the package under test.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}

// program builds the deployed source once and returns the path of the program, which serves all functions.
var program = sync.OnceValues(func() (path string, err error) {
	err = withFolder("bundle", func(root, folder string) error {
		source := filepath.Join(folder, "source")
		if err := os.RemoveAll(source); err != nil {
			return err
		}
		if err := unpackArchive(root, source); err != nil {
			return err
		}
		path = filepath.Join(folder, "main")
		return buildFunctions(root, source, path)
	})
	return path, err
})

// Build builds a program of the module, such as ./scripts/firesweep, and returns its path.
func Build(program string) (path string, err error) {
	err = withFolder(filepath.Base(program), func(root, folder string) error {
		path = filepath.Join(folder, "main")
		output, err := GoCommand(root, "build", "-o", path, program)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, output)
		}
		return nil
	})
	return path, err
}

// withFolder calls f with the module's root and with a folder, as no other process does at the time. The folder is the same each
// time, among the user's caches: Go links again what is not there any more.
func withFolder(name string, f func(root, folder string) error) (err error) {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	cache, err := os.UserCacheDir()
	if err != nil { // there is no home
		cache = os.TempDir()
	}
	folder := filepath.Join(cache, "firesweep", fmt.Sprintf("%s-%x", name, sha256.Sum256([]byte(root)))[:len(name)+17])
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // this releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	return f(root, folder)
}

// overlay writes, beside the source, the file that makes Go see the source in the place of the module at root, and returns its
// name. What is only at the root is hidden, and what differs is the source's, so nothing but the archive is built. What the tests
// have compiled, of the same files at the same place, is not compiled once more.
func overlay(root, source string) (string, error) {
	replace := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."): // where Go looks for no package
			return filepath.SkipDir
		case !d.IsDir():
			replace[path] = "" // it is not there
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	err = filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		place := filepath.Join(root, name)
		if replace[place] = path; same(path, place) {
			delete(replace, place)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	for _, name := range []string{"go.mod", "go.sum"} { // Go has a flag of its own for these
		delete(replace, filepath.Join(root, name))
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(filepath.Dir(source), "overlay.json")
	return name, os.WriteFile(name, text, 0o600)
}

// same reports whether two files hold the same. One that cannot be read does not.
func same(one, other string) bool {
	a, err := os.ReadFile(one)
	b, err2 := os.ReadFile(other)
	return err == nil && err2 == nil && bytes.Equal(a, b)
}

// GoCommand runs go in a folder, without the user's Go settings, and returns its output.
func GoCommand(dir string, args ...string) (string, error) {
	command := exec.Command("go", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	output, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return string(output), err
}
