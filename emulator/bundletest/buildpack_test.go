package bundletest

import (
	"path/filepath"
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
)

// TestWhatTheBuildpackRefuses has the import that it looks for in several places but the right one, and lacks modules in go.mod.
func TestWhatTheBuildpackRefuses(t *testing.T) {
	t.Parallel()
	const root, goMod = "package bundle\n", "module example.com/bundle\n\ngo 1.26.0\n"
	const imports = "import _ \"" + framework + "/functions\"\n"
	for _, tt := range []struct {
		name, want string // want is in the error
		files      map[string]string
	}{
		{"the import at the root, and no framework in go.mod", "the modules that go.mod requires", map[string]string{
			"a.go": root, "b.go": root + imports, "go.mod": goMod}},
		{"the import in another package", "imports " + framework + "/functions", map[string]string{
			"a.go": root + "import _ \"example.com/bundle/jobs\"\n", "jobs/a.go": "package jobs\n" + imports, "go.mod": goMod}},
		{"the framework's other package", "imports " + framework + "/functions", map[string]string{
			"a.go": root + "import _ \"" + framework + "/funcframework\"\n", "go.mod": goMod}},
		{"two packages in one folder", "found packages", map[string]string{"a.go": root, "b.go": "package other\n", "go.mod": goMod}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			source := t.TempDir()
			for name, text := range tt.files {
				check.OK(t, writeFile(filepath.Join(source, name), []byte(text)))
			}
			err := buildFunctions(source, filepath.Join(t.TempDir(), "main"))
			check.Fails(t, err, tt.want)
		})
	}
}
