package firesweep_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/emulator/bundletest"
)

// TestTheArchiveHoldsExactlyWhatTheFunctionsNeed compares it with what the compiler reads.
func TestTheArchiveHoldsExactlyWhatTheFunctionsNeed(t *testing.T) {
	t.Parallel()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	output, err := bundletest.GoCommand(".", "list", "-deps", "-f",
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
	files, err := bundletest.ArchivedFiles(".")
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Keys(files))
	if !slices.Equal(got, want) {
		t.Errorf("terraform/source.json selects\n%s\nthe functions are compiled from\n%s", strings.Join(got, " "), strings.Join(want, " "))
	}
}

// TestTheRuntimeHasTheGoOfTheArchive: an older Go than go.mod asks for would refuse to build it.
func TestTheRuntimeHasTheGoOfTheArchive(t *testing.T) {
	t.Parallel()
	find := func(name, pattern string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(pattern).FindStringSubmatch(string(text))
		if m == nil {
			t.Fatalf("%s has nothing like %s", name, pattern)
		}
		return m[1]
	}
	runtime := find(filepath.Join("terraform", "function", "main.tf"), `runtime\s+= "(go\d+)"`)
	version := find("go.mod", `(?m)^go (\d+\.\d+)`)
	if want := "go" + strings.ReplaceAll(version, ".", ""); runtime != want {
		t.Errorf("terraform/function/main.tf chooses the runtime %s, and go.mod asks for Go %s: it must be %s", runtime, version, want)
	}
}

// TestNothingIsPublic finds what the Terraform tests, which look at known resources, would not.
func TestNothingIsPublic(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"terraform/*.tf", "terraform/*/*.tf"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
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

// TestTheModulesPageNamesWhatItTakes: roles, APIs and examples are written by hand.
func TestTheModulesPageNamesWhatItTakes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("terraform/README.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	resources := regexp.MustCompile(`(?m)^resource "(google_\w+)"|"([a-z]+\.googleapis\.com)"`)
	for _, pattern := range []string{"terraform/*.tf", "terraform/function/*.tf"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range resources.FindAllStringSubmatch(string(text), -1) {
				named["`"+found[1]+found[2]+"`"] = true
			}
		}
	}
	examples, err := os.ReadDir("terraform/examples")
	if err != nil || len(examples) == 0 {
		t.Fatalf("%d examples, %v", len(examples), err)
	}
	for _, example := range examples {
		named["(examples/"+example.Name()+")"] = true
	}
	for name := range named {
		if !strings.Contains(string(page), name) {
			t.Errorf("terraform/README.md does not name %s", name)
		}
	}
}
