package functions_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/manifest"
)

// judged are the fields that jobs read, by collection; "inquiries/messages" is the subcollection of every inquiry. A collection
// without any is one that they read or write all the same.
type judged map[string]map[string]bool

func (j judged) add(collection string, fields ...string) {
	if j[collection] == nil {
		j[collection] = map[string]bool{}
	}
	for _, f := range fields {
		first, _, _ := strings.Cut(f, ".")
		j[collection][strings.TrimSuffix(first, "[]")] = true
	}
}

// whatJobsJudge derives from the code of the jobs and from the declared rules of manifest.json which fields they read, and from
// the sample in which collections these are. A field that a job reads is taken to be read in each collection of its sample that
// has the field, which is more than there is, and never less.
func whatJobsJudge(t *testing.T) judged {
	t.Helper()
	all := judged{}
	documents := map[string][]sampledata.Document{} // by package
	fields, named := map[string]map[string]bool{}, map[string]bool{}
	shared := map[string]bool{} // fields that the jobs' shared packages read
	for _, folder := range []string{"notifications", "posts", "../shared/cascade", "../shared/orphans"} {
		scan(t, folder, all, shared, named)
	}
	for _, e := range upstream(t) {
		if e.Rule != nil {
			for collection, fields := range e.Judged() {
				all.add(collection, fields...)
			}
		}
		if e.Package != "" && fields[e.Package] == nil {
			fields[e.Package] = map[string]bool{}
			scan(t, e.Package, all, fields[e.Package], named)
		}
		if e.Trigger == manifest.Schedule {
			of := e.Package
			if e.Rule != nil {
				of = e.Name
			}
			documents[of] = append(documents[of], sampledata.Job(e.Name, time.Now(), "bucket").Documents...)
		}
	}
	for of, documents := range documents {
		found := map[string]bool{}
		for _, d := range documents {
			collection := collectionOf(d.Path)
			all.add(collection)
			for _, values := range []map[string]any{d.Before, d.After} {
				for field := range values {
					if fields[of][field] || shared[field] {
						all.add(collection, field)
						found[field] = true
					}
				}
			}
		}
		for field := range fields[of] {
			if !found[field] && !all.has(field) {
				t.Errorf("%s reads the field %s, which no document of its sample has: emulator/sampledata must show where it is", of, field)
			}
		}
	}
	for field := range shared {
		if !all.has(field) {
			t.Errorf("a package that jobs share reads the field %s, which no document of the sample has", field)
		}
	}
	for _, path := range collections.Documents() {
		all.add(collectionOf(path))
	}
	for collection := range named {
		if all[collection] == nil {
			t.Errorf("a job reads or writes %s: emulator/sampledata must have a document of it", collection)
		}
	}
	return all
}

func (j judged) has(field string) bool {
	for _, fields := range j {
		if fields[field] {
			return true
		}
	}
	return false
}

// collectionOf returns the names of the collections that a path leads through.
func collectionOf(path string) string {
	var names []string
	for i, part := range strings.Split(path, "/") {
		if i%2 == 0 {
			names = append(names, part)
		}
	}
	return strings.Join(names, "/")
}

// readers are the methods by which a document's field is read.
var readers = []string{"Value", "Text", "Time", "Instant", "Number", "Whole", "Bool"}

// places are lists of collection.field, as PLACEHOLDER_REFERENCES has them.
var places = regexp.MustCompile(`^\w+\.\w+(,\w+\.\w+)+$`)

// scan adds to fields what a package reads of documents, and to named the collections that it names.
func scan(t *testing.T, folder string, all judged, fields, named map[string]bool) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v", folder, err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(set, name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	texts := constants(files)
	for _, file := range files {
		imports := map[string]bool{}
		for _, i := range file.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			imports[path[strings.LastIndexByte(path, '/')+1:]] = true
		}
		read := func(name ast.Expr) {
			if s, ok := name.(*ast.SelectorExpr); ok && s.Sel.Name == "Field" {
				return // of a list that says it where it is made
			}
			values := texts.of(name)
			if len(values) == 0 {
				t.Errorf("%s: a field is read whose name is not a constant: this test has to know which", set.Position(name.Pos()))
			}
			for _, v := range values {
				fields[v] = true
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				s, ok := n.Fun.(*ast.SelectorExpr)
				if !ok {
					break
				}
				if x, ok := s.X.(*ast.Ident); ok && imports[x.Name] {
					break // a function, such as clip.Text
				}
				switch {
				case slices.Contains(readers, s.Sel.Name) && len(n.Args) > 0:
					read(n.Args[0])
				case s.Sel.Name == "Unset":
					read(n.Args[2])
				}
			case *ast.IndexExpr:
				if s, ok := n.X.(*ast.SelectorExpr); ok && s.Sel.Name == "Data" {
					read(n.Index)
				}
			case *ast.KeyValueExpr:
				key, _ := n.Key.(*ast.Ident)
				values := texts.of(n.Value)
				switch {
				case key == nil:
				case key.Name == "Field" || key.Name == "Object":
					for _, v := range values {
						first, _, _ := strings.Cut(v, "[")
						fields[first] = true
					}
				case key.Name == "Collection" || key.Name == "Owners":
					for _, v := range values {
						first, _, _ := strings.Cut(v, "/")
						named[first] = true
					}
				}
			case *ast.BasicLit:
				for _, v := range texts.of(n) {
					if places.MatchString(v) {
						for _, place := range strings.Split(v, ",") {
							collection, field, _ := strings.Cut(place, ".")
							all.add(collection, field)
						}
					}
				}
			}
			return true
		})
	}
}

// known are the texts that names stand for.
type known map[string][]string

// constants returns the texts of constants, and of what ranges over a list of texts.
func constants(files []*ast.File) known {
	texts := known{}
	for range 2 { // one may name another that stands behind it
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ValueSpec:
					for i, v := range n.Values {
						if values := texts.of(v); len(values) > 0 {
							texts[n.Names[i].Name] = values
						}
					}
				case *ast.RangeStmt:
					if list, ok := n.X.(*ast.CompositeLit); ok && n.Value != nil {
						name := n.Value.(*ast.Ident).Name
						texts[name] = nil
						for _, e := range list.Elts {
							texts[name] = append(texts[name], texts.of(e)...)
						}
					}
				}
				return true
			})
		}
	}
	return texts
}

// of returns the texts that an expression may be: of a sum, how it begins.
func (k known) of(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return []string{text}
		}
	case *ast.Ident:
		return k[e.Name]
	case *ast.BinaryExpr:
		return k.of(e.X)
	}
	return nil
}
