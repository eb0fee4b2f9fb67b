package bundletest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goMod = "module example.com/bundle\n\ngo 1.26.0\n\nrequire " + framework + " v1.9.2\n"

// sourceOf writes a function's source into a new folder.
func sourceOf(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestWhatTheBuildpackRefuses has the import that it looks for in several places but the right one.
func TestWhatTheBuildpackRefuses(t *testing.T) {
	t.Parallel()
	const root = "package bundle\n"
	const imports = "import _ \"" + framework + "/functions\"\n"
	for _, tt := range []struct {
		name, want string // want is in the error; empty: there is none
		files      map[string]string
	}{
		{"the import at the root", "", map[string]string{"a.go": root, "b.go": root + imports, "go.mod": goMod}},
		{"the import in another package", "imports " + framework + "/functions", map[string]string{
			"a.go": root + "import _ \"example.com/bundle/jobs\"\n", "jobs/a.go": "package jobs\n" + imports, "go.mod": goMod}},
		{"the framework's other package", "imports " + framework + "/functions", map[string]string{
			"a.go": root + "import _ \"" + framework + "/funcframework\"\n", "go.mod": goMod}},
		{"two packages in one folder", "one folder", map[string]string{"a.go": root, "b.go": "package other\n", "go.mod": goMod}},
		{"no framework in go.mod", "nobody has tested", map[string]string{
			"a.go": root + imports, "go.mod": "module example.com/bundle\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			switch err := writeMain(sourceOf(t, tt.files)); {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestTidyingAddsNothing gives the errors of a go.mod that leaves a choice to the day of the deployment.
func TestTidyingAddsNothing(t *testing.T) {
	t.Parallel()
	tidied := map[string]string{"example.com/a": "v1.2.0", "example.com/b": "v1.0.0"}
	for name, tt := range map[string]struct {
		chosen map[string]string
		want   string // in the error; empty: none
	}{
		"as it was":       {tidied, ""},
		"more before":     {map[string]string{"example.com/a": "v1.2.0", "example.com/b": "v1.0.0", "example.com/c": "v1.0.0"}, ""},
		"one was added":   {map[string]string{"example.com/a": "v1.2.0"}, "example.com/b, and the buildpack would choose v1.0.0"},
		"another version": {map[string]string{"example.com/a": "v1.1.0", "example.com/b": "v1.0.0"}, `go.mod has "v1.1.0"`},
	} {
		switch err := wantChosen(tt.chosen, tidied); {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: error %v, want one with %q", name, err, tt.want)
		}
	}
}

// TestNothingButTheSourceIsBuilt asks Go what it sees of a module. In the source one of its files is another, and some are
// missing.
func TestNothingButTheSourceIsBuilt(t *testing.T) {
	t.Parallel()
	embeds := func(names string) string {
		return "package jobs\n\nimport _ \"embed\"\n\n//go:embed " + names + "\nvar list string\n"
	}
	files := map[string]string{
		"go.mod": goMod, "go.sum": "", "jobs/a.go": embeds("a.json"), "jobs/a.json": "{}", "jobs/b.json": "{}",
	}
	root, source := sourceOf(t, files), filepath.Join(sourceOf(t, nil), "source")
	if err := os.Rename(sourceOf(t, files), source); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		filepath.Join(root, "jobs", "c.go"): "package jobs\n", filepath.Join(root, "tool.go"): "package tool\n",
		filepath.Join(source, "jobs", "a.go"): embeds("b.json"), filepath.Join(source, "main.go"): "package main\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hiding, err := overlay(root, source)
	if err != nil {
		t.Fatal(err)
	}
	mod := filepath.Join(source, "go.mod")
	got, err := GoCommand(root, "list", "-overlay", hiding, "-modfile", mod, "-f", "{{.Name}} {{.GoFiles}} {{.EmbedFiles}}", "./...")
	if want := "main [main.go] []\njobs [a.go] [b.json]\n"; err != nil || got != want {
		t.Errorf("%v; Go sees\n%s, want\n%s", err, got, want)
	}
}
