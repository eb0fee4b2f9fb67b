// Package bundletest builds the bundle as Google's buildpack does, and runs it in processes, for tests of what only a process can
// show: that it starts, how much memory it takes, and that it may be killed.
package bundletest

import (
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

// moduleRoot returns the folder of the go.mod that the package under test belongs to.
func moduleRoot() (string, error) {
	mod, err := GoCommand(".", "env", "GOMOD")
	return filepath.Dir(strings.TrimSpace(mod)), err
}

// program builds the deployed source once, from a copy of the archive's files alone, and returns the path of the program, which
// serves all functions.
var program = sync.OnceValues(func() (path string, err error) {
	err = withFolder("bundle", func(root, folder string) error {
		files, err := ArchivedFiles(root)
		source := filepath.Join(folder, "source")
		if err = errors.Join(err, os.RemoveAll(source)); err != nil {
			return err
		}
		for name, from := range files {
			text, err := os.ReadFile(from)
			if err == nil {
				err = writeFile(filepath.Join(source, name), text)
			}
			if err != nil {
				return err
			}
		}
		path = filepath.Join(folder, "main")
		return buildFunctions(source, path)
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
// time, among the user's caches: Go compiles and links again what is not there any more.
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
