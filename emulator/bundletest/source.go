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

// mainProgram is what Google's Go buildpack generates around the package at the module's root.
const mainProgram = `package main

import (
	"log"
	"os"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"

	_ "github.com/firesweep/firesweep"
)

func main() {
	if err := funcframework.StartHostPort("127.0.0.1", os.Getenv("PORT")); err != nil {
		log.Fatal(err)
	}
}
`

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
	files := map[string]string{
		"go.mod": filepath.Join(root, "terraform", "bundle.mod"),
		"go.sum": filepath.Join(root, "terraform", "bundle.sum"),
	}
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

// built is the folder of the program, "" until [program] has made one.
var built string

// program builds the deployed source once, as a main module of its own that requires it, and returns the program's path.
var program = sync.OnceValues(func() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "firesweep-bundle-")
	if err != nil {
		return "", err
	}
	built = dir
	source := filepath.Join(dir, "source")
	if err := unpackArchive(root, source); err != nil {
		return "", err
	}
	if output, err := GoCommand(source, "mod", "tidy", "-diff"); err != nil {
		return "", fmt.Errorf("the archive's go.mod is not tidy, run scripts/package: %w\n%s", err, output)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(source, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, 0o600)
		}
		if err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(mainProgram), 0o600); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"mod", "edit", "-module=functions.local/app", "-require=github.com/firesweep/firesweep@v0.0.0",
			"-replace=github.com/firesweep/firesweep=./source"},
		{"build", "-mod=mod", "-o", "bundle", "."},
	} {
		if output, err := GoCommand(dir, args...); err != nil {
			return "", fmt.Errorf("%w\n%s", err, output)
		}
	}
	return filepath.Join(dir, "bundle"), nil
})

// Remove deletes what [Start] built, if it did. A package's TestMain calls it when all tests have ended.
func Remove() {
	if built != "" {
		_ = os.RemoveAll(built) // at worst a file stays in the temporary folder
	}
}

// GoCommand runs go in a folder and returns what it printed.
func GoCommand(dir string, args ...string) (string, error) {
	command := exec.Command("go", args...)
	command.Dir = dir
	output, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return string(output), err
}
