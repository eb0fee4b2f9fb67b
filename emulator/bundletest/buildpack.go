package bundletest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	// The program that is built around the functions imports this. So go.mod must require it, with all that it needs.
	_ "github.com/GoogleCloudPlatform/functions-framework-go/funcframework"
)

// This file imitates the part of Google's Go buildpack (github.com/GoogleCloudPlatform/buildpacks, cmd/go/functions_framework)
// that decides whether a function can be built, and from what.

// framework is the module that serves functions.
const framework = "github.com/GoogleCloudPlatform/functions-framework-go"

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

// buildFunctions builds the program for the functions whose source is in a folder, with the versions of modules that go.mod there
// has. The buildpack tidies go.mod once the main package exists. That removes what only tests and tools need; whatever it had to
// add would be the newest version on the day of the deployment, and here it is an error.
func buildFunctions(source, program string) error {
	imports, err := GoCommand(source, "list", "-f", "{{.ImportPath}}\n{{join .Imports \"\\n\"}}", ".")
	if err != nil {
		return fmt.Errorf("%w\n%s", err, imports)
	}
	// Without this import, the buildpack takes the entry point for an exported Go function.
	lines := strings.Fields(imports)
	if !slices.Contains(lines[1:], framework+"/functions") {
		return fmt.Errorf("no .go file at the root imports %s/functions, without which Google cannot build any function", framework)
	}
	const app = "functions.local/app" // as the buildpack calls it
	if err := writeFile(filepath.Join(source, app, "main.go"), []byte(fmt.Sprintf(mainProgram, lines[0]))); err != nil {
		return err
	}
	if output, err := GoCommand(source, "build", "-mod=readonly", "-o", program, "./"+app); err != nil {
		return fmt.Errorf("the functions cannot be built with the modules that go.mod requires: %w\n%s", err, output)
	}
	return nil
}

func writeFile(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}
