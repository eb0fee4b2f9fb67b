package bundletest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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

// registersFunctions returns an error unless the root package itself imports the framework's package functions. Without that, the
// buildpack takes the entry point for an exported Go function. It reads only the .go files of the root folder, and all of them,
// whatever their build constraints. files are the archive's, by their names there.
func registersFunctions(files map[string]string) error {
	name, registers := "", false
	for place, path := range files {
		if strings.Contains(place, "/") || !strings.HasSuffix(place, ".go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		if name != "" && name != file.Name.Name {
			return fmt.Errorf("the packages %s and %s are in one folder", name, file.Name.Name)
		}
		name = file.Name.Name
		registers = registers || slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool {
			return spec.Path.Value == strconv.Quote(framework+"/functions")
		})
	}
	if !registers {
		return fmt.Errorf("no .go file at the root imports %s/functions, without which Google cannot build any function", framework)
	}
	return nil
}

// mainProgram is the program around the functions. Unlike the buildpack's, it can be reached from this machine only.
const mainProgram = `package main

import (
	"log"
	"os"

	"` + framework + `/funcframework"
	_ %q
)

func main() {
	if err := funcframework.StartHostPort("127.0.0.1", os.Getenv("PORT")); err != nil {
		log.Fatal(err)
	}
}
`

// writeMain writes the main package for the functions of the module at root into a folder.
func writeMain(root, folder string, files map[string]string) error {
	if err := registersFunctions(files); err != nil {
		return err
	}
	module, err := GoCommand(root, "list", "-m")
	if err != nil {
		return fmt.Errorf("%w\n%s", err, module)
	}
	if output, err := GoCommand(root, "list", "-m", framework); err != nil {
		return fmt.Errorf("go.mod does not require %s, and the buildpack would take a version that nobody has tested: "+
			"require one: %w\n%s", framework, err, output)
	}
	text := fmt.Sprintf(mainProgram, strings.TrimSpace(module))
	return os.WriteFile(filepath.Join(folder, "main.go"), []byte(text), 0o600)
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

// requirements returns the modules that a go.mod requires, with their versions.
func requirements(mod string) (map[string]string, error) {
	text, err := os.ReadFile(mod)
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

// buildFunctions builds the program for the functions of the module at root from the archive's files, with the help of a folder.
func buildFunctions(root, folder string, files map[string]string, program string) error {
	if err := writeMain(root, folder, files); err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(files[name])
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	hiding, err := overlay(root, folder, files, map[string]string{appFolder + "/main.go": "main.go"})
	if err != nil {
		return err
	}
	// The buildpack tidies go.mod once the main package exists. This removes what only tests and tools need. It must add nothing,
	// because an added version would be the newest one on the day of the deployment.
	mod := filepath.Join(folder, "go.mod")
	chosen, err := requirements(mod)
	if err != nil {
		return err
	}
	if output, err := GoCommand(root, "mod", "tidy", "-overlay", hiding, "-modfile", mod); err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	tidied, err := requirements(mod)
	if err == nil {
		err = wantChosen(chosen, tidied)
	}
	if err != nil {
		return err
	}
	output, err := GoCommand(root, "build", "-overlay", hiding, "-modfile", mod, "-o", program, "./"+appFolder)
	if err != nil {
		return fmt.Errorf("the functions cannot be built: %w\n%s", err, output)
	}
	return nil
}
