// Package mutants proves that the tests of the engine find careless versions of it: each mutant is a small change of one of its
// functions, with the test that must fail then. What no test finds could be lost in the next change.
package mutants_test

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Where the mutated functions are, in any package, and where the tests are.
const (
	engine = "../../shared/engine"
	jobs   = "../../functions"
)

var full = flag.Bool("full", false, "run the test that must find each mutant; else only look whether both are there")

// A mutant is a careless version of a function.
type mutant struct {
	what string
	in   string // the function or method; of several of that name, the one with the text
	from string // a text that occurs once in it
	to   string
	dies string // the test that fails, or Test/subtest; package.Test where several packages have one
}

// function is a function of the engine.
type function struct{ file, text string }

// source is what is known of the engine's code.
type source struct {
	functions map[string][]function
	tests     map[string][]string // the folders that have a test, by its name and by package.Test
}

func readSource(t *testing.T) source {
	t.Helper()
	s := source{map[string][]function{}, map[string][]string{}}
	for _, root := range []string{engine, jobs} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			return s.read(path, root == engine)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// read adds the functions of a file, if they may be mutated, or its tests.
func (s source) read(path string, mutable bool) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		switch {
		case !ok:
		case strings.HasSuffix(path, "_test.go"):
			for _, name := range []string{f.Name.Name, strings.TrimSuffix(file.Name.Name, "_test") + "." + f.Name.Name} {
				s.tests[name] = append(s.tests[name], filepath.Dir(path))
			}
		case mutable:
			body := string(text[files.Position(f.Pos()).Offset:files.Position(f.End()).Offset])
			s.functions[f.Name.Name] = append(s.functions[f.Name.Name], function{path, body})
		}
	}
	return nil
}

// find returns the function that is mutated.
func (s source) find(t *testing.T, m mutant) function {
	t.Helper()
	var found []function
	for _, f := range s.functions[m.in] {
		if strings.Count(f.text, m.from) == 1 {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d functions %s of shared/engine have once\n\t%s\nIf the code has changed, change the mutant with it.", len(found), m.in, m.from)
	}
	return found[0]
}

// folder returns the folder of the test that must fail.
func (s source) folder(t *testing.T, m mutant) string {
	t.Helper()
	name, _, _ := strings.Cut(m.dies, "/")
	if len(s.tests[name]) != 1 {
		t.Fatalf("%d tests of shared/engine and functions are called %s", len(s.tests[name]), name)
	}
	return s.tests[name][0]
}

// TestMutants tries each mutant. Without -full it only looks whether the code and the test are still there.
func TestMutants(t *testing.T) {
	s := readSource(t)
	for _, m := range mutants {
		t.Run(m.what, func(t *testing.T) {
			f, folder := s.find(t, m), s.folder(t, m)
			if *full {
				m.try(t, f, folder)
			}
		})
	}
}

// TestWhatMutantsDieOf runs the tests on the engine as it is: what fails anyway finds nothing.
func TestWhatMutantsDieOf(t *testing.T) {
	if !*full {
		t.Skip("with -full")
	}
	s, tried := readSource(t), map[string]bool{}
	for _, m := range mutants {
		if tried[m.dies] {
			continue
		}
		tried[m.dies] = true
		if out, err := run(t, s.folder(t, m), m.pattern()); err != nil {
			t.Errorf("%s: %v\n%s", m.dies, err, out)
		}
	}
}

// pattern returns what go test -run takes for the test.
func (m mutant) pattern() string {
	name := m.dies[strings.LastIndexByte(m.dies, '.')+1:]
	return "^" + strings.ReplaceAll(name, "/", "$/^") + "$"
}

// failed is what go test says of a test that failed, not of code that does not compile.
var failed = regexp.MustCompile(`(?m)^(--- FAIL: |panic: )`)

// try runs the test with the mutant in place of the function, and fails if the test does not.
func (m mutant) try(t *testing.T, f function, folder string) {
	t.Helper()
	text, err := os.ReadFile(f.file)
	if err != nil {
		t.Fatal(err)
	}
	mutated := filepath.Join(t.TempDir(), "mutated.go")
	changed := strings.Replace(string(text), f.text, strings.Replace(f.text, m.from, m.to, 1), 1)
	if err := os.WriteFile(mutated, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	original, err := filepath.Abs(f.file)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: mutated}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, folder, m.pattern(), "-overlay="+list)
	switch {
	case err == nil:
		t.Errorf("%s does not find it:\n- %s\n+ %s", m.dies, m.from, m.to)
	case !failed.Match(out):
		t.Errorf("the mutant does not run: %v\n%s", err, out)
	}
}

// run runs a test of a folder.
func run(t *testing.T, folder, pattern string, options ...string) ([]byte, error) {
	t.Helper()
	args := append([]string{"test", "-count=1", "-vet=off", "-failfast", "-timeout=5m", "-run", pattern}, options...)
	command := exec.CommandContext(t.Context(), "go", append(args, ".")...)
	command.Dir = folder
	return command.CombinedOutput()
}
