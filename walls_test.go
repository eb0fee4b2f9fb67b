package firesweep_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
)

var (
	ok   = check.OK
	read = check.File
)

// Bounds of what one person must hold in their head.
const (
	maxNames = 45   // that a job's author may have to know
	maxAsked = 18   // methods by which a job asks something of the engine
	maxLines = 2000 // of a package
)

// source returns the files of the packages below a folder, without tests, by the package's folder.
func source(t *testing.T, below string) map[string][]*ast.File {
	t.Helper()
	all := map[string][]*ast.File{}
	files := token.NewFileSet()
	err := filepath.WalkDir(below, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		folder := filepath.ToSlash(filepath.Dir(path))
		all[folder] = append(all[folder], f)
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d packages below %s, %v", len(all), below, err)
	}
	return all
}

// ours begins the paths of this repository's packages.
const ours = "github.com/firesweep/firesweep/"

// imports returns what the packages below a folder import.
func imports(t *testing.T, below string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for folder, files := range source(t, below) {
		for _, f := range files {
			for _, spec := range f.Imports {
				path, err := strconv.Unquote(spec.Path.Value)
				ok(t, err)
				all[folder] = append(all[folder], path)
			}
		}
	}
	return all
}

// TestPagesAreNamedByAddress: whoever has only the program has no folder docs.
func TestPagesAreNamedByAddress(t *testing.T) {
	t.Parallel()
	page := regexp.MustCompile(`\bdocs/[a-z-]+\.(md|rules)`)
	for _, below := range []string{"functions", "scripts/firesweep", "shared"} {
		for folder, files := range source(t, below) {
			for _, f := range files {
				ast.Inspect(f, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.CallExpr:
						called, isOf := n.Fun.(*ast.SelectorExpr)
						return !isOf || called.Sel.Name != "Page"
					case *ast.BasicLit:
						if n.Kind == token.STRING && page.MatchString(n.Value) {
							t.Errorf("%s: %s: name the page by version.Page", folder, n.Value)
						}
					}
					return true
				})
			}
		}
	}
}

// TestWhatAJobsAuthorMustKnow counts the exported names of shared/cleanup, and the methods of its Plan.
func TestWhatAJobsAuthorMustKnow(t *testing.T) {
	t.Parallel()
	names, methods := map[string]bool{}, 0
	for _, f := range source(t, "shared/cleanup")["shared/cleanup"] {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil {
					names[n.Name.Name] = n.Name.IsExported()
				}
				return false
			case *ast.TypeSpec:
				names[n.Name.Name] = n.Name.IsExported()
				if n.Name.Name == "Plan" {
					methods = n.Type.(*ast.InterfaceType).Methods.NumFields()
				}
				return false
			case *ast.ValueSpec:
				for _, name := range n.Names {
					names[name.Name] = name.IsExported()
				}
			}
			return true
		})
	}
	maps.DeleteFunc(names, func(_ string, isExported bool) bool { return !isExported })
	if len(names) < 30 || len(names) > maxNames {
		t.Errorf("shared/cleanup exports %d names, want at most %d: %v", len(names), maxNames, names)
	}
	if methods < 10 || methods > maxAsked {
		t.Errorf("cleanup.Plan has %d methods, want at most %d", methods, maxAsked)
	}
}

// TestNoPackageIsTooLarge to be read at once.
func TestNoPackageIsTooLarge(t *testing.T) {
	t.Parallel()
	for folder := range source(t, "shared") {
		files, err := filepath.Glob(folder + "/*.go")
		ok(t, err)
		lines := 0
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				lines += strings.Count(read(t, file), "\n")
			}
		}
		if lines > maxLines {
			t.Errorf("%s has %d lines, want at most %d", folder, lines, maxLines)
		}
	}
}

// TestWalls: what jobs are made of imports nothing of the engine, which runs them. Planning and applying know nothing of each other,
// nor do the command and the emulators. Jobs meet no client library.
func TestWalls(t *testing.T) {
	t.Parallel()
	const engine, internal = "shared/engine", "shared/engine/internal/"
	for _, wall := range []struct {
		below, not string
		but        string // the package that registers jobs
	}{
		{"functions", engine, "functions"},
		{"functions", "cloud.google.com", ""}, {"functions", "firebase.google.com", ""}, {"functions", "google.golang.org", ""},
		{"shared/cleanup", engine, ""}, {"shared/cleanup", "net/http", ""},
		{"shared/orphans", engine, ""}, {"shared/cascade", engine, ""}, {"shared/declared", engine, ""}, {"shared/rule", engine, ""},
		{internal + "plan", internal + "apply", ""}, {internal + "apply", internal + "plan", ""},
		{internal + "decide", internal + "plan", ""}, {internal + "decide", internal + "apply", ""},
		{"emulator", "scripts", ""}, {"scripts", "emulator", ""},
	} {
		for folder, paths := range imports(t, wall.below) {
			for _, path := range paths {
				path = strings.TrimPrefix(path, ours)
				if folder != wall.but && (path == wall.not || strings.HasPrefix(path, wall.not+"/")) {
					t.Errorf("%s imports %s", folder, path)
				}
			}
		}
	}
}

// TestDependenciesPointDown the table of rooms in docs/contributing/design.md: no package imports one of a row above its own.
func TestDependenciesPointDown(t *testing.T) {
	t.Parallel()
	_, rooms, _ := strings.Cut(read(t, "docs/contributing/design.md"), "\n## Rooms\n")
	rooms, _, _ = strings.Cut(rooms, "\n## ")
	rows := map[string]int{} // by folder
	name := regexp.MustCompile("`([^`]+)`")
	for i, row := range strings.Split(rooms, "\n| ") {
		where, _, _ := strings.Cut(row, " | ")
		for _, m := range name.FindAllStringSubmatch(where, -1) {
			folder, _, _ := strings.Cut(m[1], "/<")
			if _, err := os.Stat(folder); err != nil {
				folder = "shared/" + folder
			}
			if _, err := os.Stat(folder); err != nil {
				t.Errorf("docs/contributing/design.md: there is no %s", m[1])
			}
			rows[strings.TrimSuffix(folder, "/")] = i
			if strings.Contains(where, "…") {
				rows["shared"] = i // all others
			}
		}
	}
	rowOf := func(folder string) int {
		for ; rows[folder] == 0; folder = filepath.ToSlash(filepath.Dir(folder)) {
			if folder == "." {
				t.Fatal("docs/contributing/design.md lists no row for it")
			}
		}
		return rows[folder]
	}
	for _, below := range []string{"functions", "shared"} {
		for folder, paths := range imports(t, below) {
			for _, path := range paths {
				path, isOurs := strings.CutPrefix(path, ours)
				// Like the programs around, enginetest imports what it needs.
				if isOurs && !strings.Contains(folder, "/enginetest") && rowOf(folder) > rowOf(path) {
					t.Errorf("%s imports %s, which docs/contributing/design.md lists above it", folder, path)
				}
			}
		}
	}
}
