package enginetest

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// How many warnings and errors of a log a failed test shows, and how many bytes of each: a report may name a thousand documents.
const (
	maxShown    = 20
	longestLine = 600
)

// tellLog says where the log of a failed test's function is, which go test keeps with -artifacts, and shows its last warnings and
// errors.
func tellLog(t testing.TB, job, text string) {
	t.Helper()
	var grave []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.Contains(line, `"severity":"INFO"`) || strings.Contains(line, `"severity":"DEBUG"`) {
			continue
		}
		grave = append(grave, "  "+strings.ToValidUTF8(line[:min(len(line), longestLine)], ""))
	}
	file, err := os.CreateTemp(t.ArtifactDir(), job+"-*.log")
	name := "it is"
	if err == nil {
		name = file.Name()
		_, err = file.WriteString(text)
		err = errors.Join(err, file.Close())
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) { // without -artifacts, the folder goes with the first function of a test
		t.Errorf("keep the log of %s: %v", job, err)
		return
	}
	grave = grave[max(0, len(grave)-maxShown):]
	t.Logf("the log of %s: %s (kept with go test -artifacts); its last warnings and errors:\n%s", job, name, strings.Join(grave, "\n"))
}
