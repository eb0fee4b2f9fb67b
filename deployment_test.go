package firesweep_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/sweep"
)

// archivedFiles returns what Terraform puts into the source archive, by the rule that it reads too: the names there,
// and where each comes from.
func archivedFiles(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("terraform", "source.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rule struct{ Include, Exclude string }
	if err := json.Unmarshal(text, &rule); err != nil {
		t.Fatal(err)
	}
	include, exclude := regexp.MustCompile(rule.Include), regexp.MustCompile(rule.Exclude)
	files := map[string]string{
		"go.mod": filepath.Join("terraform", "bundle.mod"),
		"go.sum": filepath.Join("terraform", "bundle.sum"),
	}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if name := filepath.ToSlash(path); err == nil && !d.IsDir() && include.MatchString(name) && !exclude.MatchString(name) {
			files[name] = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestTheArchiveHoldsExactlyWhatTheFunctionsNeed compares it with what the compiler reads.
func TestTheArchiveHoldsExactlyWhatTheFunctionsNeed(t *testing.T) {
	t.Parallel()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	output, err := goCommand(".", "list", "-deps", "-f",
		`{{if not .Standard}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}`, ".")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	want := []string{"go.mod", "go.sum"}
	for line := range strings.Lines(output) {
		if name, ours := strings.CutPrefix(strings.TrimSpace(line), root+"/"); ours {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	var got []string
	for name := range archivedFiles(t) {
		got = append(got, name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("terraform/source.json selects\n%s\nthe functions are compiled from\n%s", strings.Join(got, " "), strings.Join(want, " "))
	}
}

// TestTheArchiveIsDeployable does with the archive what Google's buildpack does, and calls every entry point.
func TestTheArchiveIsDeployable(t *testing.T) {
	t.Parallel()
	source := t.TempDir()
	for name, from := range archivedFiles(t) {
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Join(source, filepath.Dir(name)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(source, name), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if output, err := goCommand(source, "mod", "tidy", "-diff"); err != nil {
		t.Fatalf("the archive's go.mod is not tidy: run scripts/package (%v)\n%s", err, output)
	}
	program, err := buildpack(source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.RemoveAll(filepath.Dir(program)) // at worst a file stays in the temporary folder
	})

	project := backendstest.Start(t)
	for _, e := range functions.All() {
		t.Run(e.Name, func(t *testing.T) {
			p := startProgram(t, program, e.Name, project.Environment)
			if e.Trigger == "schedule" {
				if report := p.run(t, `{"dryRun":true}`, now); report.Job != e.Name || report.Status != sweep.Completed {
					t.Errorf("report %+v", report)
				}
				return
			}
			// A worker refuses what is no task of its own, which shows that it is there.
			code, answer, err := p.post(t.Context(), `[]`, now)
			if err != nil {
				t.Fatal(err)
			}
			if code == http.StatusNotFound || !json.Valid(answer) {
				t.Errorf("%d %s", code, answer)
			}
		})
	}
}

func TestTheArchiveHasTheVersionsThatWereTested(t *testing.T) {
	t.Parallel()
	versions := func(name string) map[string]string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, m := range regexp.MustCompile(`(?m)^(?:require |\t)(\S+) (v\S+)`).FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = m[2]
		}
		return found
	}
	tested, deployed := versions("go.mod"), versions(filepath.Join("terraform", "bundle.mod"))
	if len(deployed) < 10 {
		t.Fatalf("only %d modules found in terraform/bundle.mod", len(deployed))
	}
	for module, version := range deployed {
		if tested[module] != version {
			t.Errorf("%s %s is deployed, %q is tested: run scripts/package", module, version, tested[module])
		}
	}
}

// TestNothingIsPublic finds what the Terraform tests, which look at known resources, would not.
func TestNothingIsPublic(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("terraform/*.tf")
	modules, err2 := filepath.Glob("terraform/*/*.tf")
	if err != nil || err2 != nil || len(files) == 0 || len(modules) == 0 {
		t.Fatalf("%v, %v, %d files, %d in modules", err, err2, len(files), len(modules))
	}
	for _, file := range append(files, modules...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, everybody := range []string{"allUsers", "allAuthenticatedUsers", "ALLOW_ALL"} {
			if strings.Contains(string(text), everybody) {
				t.Errorf("%s names %s", file, everybody)
			}
		}
	}
}
