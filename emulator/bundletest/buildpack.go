package bundletest

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	"golang.org/x/mod/modfile"

	// The program that is built around the functions imports this. So go.mod must require it, with all that it needs.
	_ "github.com/GoogleCloudPlatform/functions-framework-go/funcframework"
)

// This file imitates the part of Google's Go buildpack (github.com/GoogleCloudPlatform/buildpacks, cmd/go/functions_framework)
// that decides whether a function can be built, and from what.

// framework is the module that serves functions.
const framework = "github.com/GoogleCloudPlatform/functions-framework-go"

// appFolder is the folder of the function's own module into which the buildpack writes the main package.
const appFolder = "functions.local/app"

// rootPackage is what the buildpack knows of the function's source. It reads only the .go files of the root folder, and all of
// them, whatever their build constraints.
type rootPackage struct {
	name    string
	imports map[string]bool
}

func readRootPackage(source string) (rootPackage, error) {
	files, err := filepath.Glob(filepath.Join(source, "*.go"))
	if err != nil {
		return rootPackage{}, err
	}
	p := rootPackage{imports: map[string]bool{}}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return p, err
		}
		if p.name != "" && p.name != file.Name.Name {
			return p, fmt.Errorf("the packages %s and %s are in one folder", p.name, file.Name.Name)
		}
		p.name = file.Name.Name
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return p, err
			}
			p.imports[path] = true
		}
	}
	if p.name == "" {
		return p, errors.New("there is no Go package at the root")
	}
	return p, nil
}

// mainTemplate is the program around the function. A package that itself imports the framework's package functions registers its
// functions. In any other package, the entry point must be an exported Go function. Unlike the buildpack's, this program can be
// reached from this machine only.
var mainTemplate = template.Must(template.New("main.go").Parse(`package main

import (
	"log"
	"os"

	"` + framework + `/funcframework"
{{if .Declarative}}
	_ "{{.Module}}"
{{else}}
	"context"

	userfunction "{{.Module}}"
{{end}})

func main() {
{{- if not .Declarative}}
	if err := funcframework.RegisterHTTPFunctionContext(context.Background(), "/", userfunction.{{.Target}}); err != nil {
		log.Fatal(err)
	}
{{- end}}
	if err := funcframework.StartHostPort("127.0.0.1", os.Getenv("PORT")); err != nil {
		log.Fatal(err)
	}
}
`))

// writeMain writes the main package for a function into its source.
func writeMain(source, target string) error {
	root, err := readRootPackage(source)
	if err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if _, err := os.Stat(filepath.Join(source, name)); err != nil {
			return fmt.Errorf("the source has no %s: %w", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(source, "vendor")); err == nil {
		return errors.New("the source has a folder vendor, and the buildpack's rules for that are not imitated here: remove the folder")
	}
	module, err := GoCommand(source, "list", "-m")
	if err != nil {
		return fmt.Errorf("%w\n%s", err, module)
	}
	module = strings.TrimSpace(module)
	if first, _, _ := strings.Cut(module, "/"); !strings.Contains(first, ".") {
		return fmt.Errorf("the module's path %s does not begin with a domain", module)
	}
	if output, err := GoCommand(source, "list", "-m", framework); err != nil {
		return fmt.Errorf("go.mod does not require %s, and the buildpack would take a version that nobody has tested: "+
			"require one: %w\n%s", framework, err, output)
	}
	folder := filepath.Join(source, appFolder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	var text strings.Builder
	err = mainTemplate.Execute(&text, map[string]any{
		"Module": module, "Target": target, "Declarative": root.imports[framework+"/functions"],
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "main.go"), []byte(text.String()), 0o600)
}

// tidy tidies go.mod as the buildpack does once the main package exists. This removes what only tests and tools need. It must add
// nothing, because an added version would be the newest one on the day of the deployment.
func tidy(source string) error {
	chosen, err := requirements(source)
	if err != nil {
		return err
	}
	if output, err := GoCommand(source, "mod", "tidy"); err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	tidied, err := requirements(source)
	if err != nil {
		return err
	}
	return wantChosen(chosen, tidied)
}

// wantChosen returns an error if a version was chosen by tidying.
func wantChosen(chosen, tidied map[string]string) error {
	for module, version := range tidied {
		if chosen[module] != version {
			return fmt.Errorf("the program needs %s, and the buildpack would choose %s; go.mod has %q: require it there",
				module, version, chosen[module])
		}
	}
	return nil
}

// requirements returns the modules that go.mod requires, with their versions.
func requirements(source string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for _, require := range file.Require {
		versions[require.Mod.Path] = require.Mod.Version
	}
	return versions, nil
}

// buildFunction builds the program for a function of the module at root whose source has been unpacked.
func buildFunction(root, source, target, program string) error {
	if err := writeMain(source, target); err != nil {
		return err
	}
	if err := tidy(source); err != nil {
		return err
	}
	hiding, err := overlay(root, source)
	if err != nil {
		return err
	}
	mod := filepath.Join(source, "go.mod")
	output, err := GoCommand(root, "build", "-overlay", hiding, "-modfile", mod, "-o", program, "./"+appFolder)
	if err != nil {
		return fmt.Errorf("the function %s cannot be built: %w\n%s", target, err, output)
	}
	return nil
}
