// Package bundletest builds what is deployed the way Google's buildpack does, and runs it as processes of their own, for
// tests of what only a process can show: that it starts, what it holds in memory, and that it may be killed.
package bundletest

import (
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
)

// ArchivedFiles returns what Terraform puts into the source archive of the module at root, by the rule that it reads too: the
// names there, and where each comes from.
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

// unpackArchive writes what is deployed into a new folder.
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

// built is what [program] has made.
var (
	building sync.Once
	built    struct {
		folder, program string
		err             error
	}
)

// program builds the deployed source once and returns the program's path. One that registers its functions is the same for all
// of them.
func program(target string) (string, error) {
	building.Do(func() { built.program, built.err = build(target) })
	return built.program, built.err
}

func build(target string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	if built.folder, err = os.MkdirTemp("", "firesweep-bundle-"); err != nil {
		return "", err
	}
	if err := unpackArchive(root, built.folder); err != nil {
		return "", err
	}
	return buildFunction(built.folder, target)
}

// Remove deletes what [Start] built, if it did. A package's TestMain calls it when all tests have ended.
func Remove() {
	if built.folder != "" {
		_ = os.RemoveAll(built.folder) // at worst a file stays in the temporary folder
	}
}

// GoCommand runs go in a folder, whatever its user prefers elsewhere, and returns what it printed.
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
