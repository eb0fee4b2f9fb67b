package bundletest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goMod = "module example.com/bundle\n\ngo 1.26.0\n\nrequire " + framework + " v1.9.2\n"

// sourceOf writes a function's source into a new folder. It returns the folder, and the path of each file by its name.
func sourceOf(t *testing.T, texts map[string]string) (folder string, files map[string]string) {
	t.Helper()
	folder, files = t.TempDir(), map[string]string{}
	for name, text := range texts {
		files[name] = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(files[name]), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(files[name], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder, files
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
			root, files := sourceOf(t, tt.files)
			switch err := writeMain(root, t.TempDir(), files); {
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

// TestNothingButTheArchiveIsBuilt asks Go what it sees of a module some of whose files are not in the archive.
func TestNothingButTheArchiveIsBuilt(t *testing.T) {
	t.Parallel()
	root, files := sourceOf(t, map[string]string{
		"go.mod": goMod, "go.sum": "", "jobs/a.go": "package jobs\n\nimport _ \"embed\"\n\n//go:embed *.json\nvar list string\n",
		"jobs/a.json": "{}", "jobs/b.json": "{}", "jobs/c.go": "package jobs\n", "tool.go": "package tool\n",
	})
	for _, name := range []string{"jobs/a.json", "jobs/c.go", "tool.go"} {
		delete(files, name)
	}
	folder, _ := sourceOf(t, map[string]string{"main.go": "package main\n"})
	hiding, err := overlay(root, folder, files, map[string]string{"app/main.go": "main.go"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := GoCommand(root, "list", "-overlay", hiding, "-f", "{{.Name}} {{.GoFiles}} {{.EmbedFiles}}", "./...")
	if want := "main [main.go] []\njobs [a.go] [b.json]\n"; err != nil || got != want {
		t.Errorf("%v; Go sees\n%s, want\n%s", err, got, want)
	}
}
