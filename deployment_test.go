package firesweep_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// archivedFiles returns what Terraform puts into the source archive, by the rule that it reads too: the names there,
// and where each comes from.
func archivedFiles() (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join("terraform", "source.json"))
	if err != nil {
		return nil, err
	}
	var rule struct{ Include, Exclude string }
	if err := json.Unmarshal(text, &rule); err != nil {
		return nil, err
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
	return files, err
}

// unpackArchive writes what is deployed into a new folder.
func unpackArchive(dir string) error {
	files, err := archivedFiles()
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
	files, err := archivedFiles()
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Keys(files))
	if !slices.Equal(got, want) {
		t.Errorf("terraform/source.json selects\n%s\nthe functions are compiled from\n%s", strings.Join(got, " "), strings.Join(want, " "))
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
