package enginetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/engine/report"
)

var update = flag.Bool("update", false, "write what runs report and request to the golden files instead of comparing it")

var moment = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)

// Golden compares what runs report and request with the file testdata/NAME.golden. A test makes its runs by it, and with
// -update it writes the file. So a change of what runs cost is one diff of files to read.
type Golden struct{ text bytes.Buffer }

// NewGolden returns the golden file of a test, which it compares when the test has ended.
func NewGolden(t testing.TB, name string) *Golden {
	t.Helper()
	g := &Golden{}
	file := filepath.Join("testdata", name+".golden")
	t.Cleanup(func() {
		t.Helper()
		if t.Failed() { // it may have ended early
			return
		}
		if *update {
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, g.text.Bytes(), 0o644)); err != nil {
				t.Error(err)
			}
			return
		}
		want, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(g.text.String(), "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s\nIf the change is meant, call go test with -update and read the file's diff.", file, diff)
		}
	})
	return g
}

// Run is [Function.RunQuery], of which the file has the report and how many requests of each method the run sent to Firestore,
// under a title.
func (g *Golden) Run(t testing.TB, title string, f *Function, query, body string) *report.Report {
	t.Helper()
	before := len(f.Request.Methods())
	rep := f.RunQuery(t, query, body)
	sent := map[string]int{}
	for _, method := range f.Request.Methods()[before:] {
		sent[method]++
	}

	text, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	unnamed := strings.NewReplacer(f.Bucket, "bucket", f.ID, "project").Replace(string(text))
	same := moment.ReplaceAllStringFunc(unnamed, func(at string) string {
		if when, err := time.Parse(time.RFC3339Nano, at); err == nil && time.Since(when).Abs() < time.Hour {
			return "just now" // an upload, whose time the test cannot choose
		}
		return at
	})
	if err := json.Unmarshal([]byte(same), &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"runId", "startedAt", "durationMs", "version"} { // they differ from run to run
		delete(fields, name)
	}
	fmt.Fprintf(&g.text, "== %s\n", title)
	lines := json.NewEncoder(&g.text)
	lines.SetEscapeHTML(false)
	lines.SetIndent("", " ")
	if err := lines.Encode(fields); err != nil {
		t.Fatal(err)
	}
	for _, method := range slices.Sorted(maps.Keys(sent)) {
		fmt.Fprintf(&g.text, "Firestore %s %d\n", method, sent[method])
	}
	return rep
}
