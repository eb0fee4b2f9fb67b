package enginetest

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
)

// maxShown is how many lines of a log a failed test shows.
const maxShown = 20

// tellLog says where the log of a failed test's function is, and shows the lines that are warnings or errors.
func tellLog(t testing.TB, job, text string) {
	t.Helper()
	var grave []string
	n := 0
	for line := range strings.Lines(text) {
		n++
		var parsed struct{ Severity string }
		if json.Unmarshal([]byte(line), &parsed) != nil || parsed.Severity != "INFO" && parsed.Severity != "DEBUG" {
			grave = append(grave, shortened(line))
		}
	}
	path, err := keepLog(t, job, text)
	if err != nil {
		t.Errorf("keep the log of %s: %v", job, err)
	}
	more := ""
	if len(grave) > maxShown {
		more = "  …\n"
		grave = grave[len(grave)-maxShown:]
	}
	t.Logf("the log of %s, %d lines: %s; its last warnings and errors:\n%s%s", job, n, path, more, strings.Join(grave, ""))
}

// longestLine is how many bytes of a line are shown: a report may name a thousand documents.
const longestLine = 600

func shortened(line string) string {
	line = strings.TrimSuffix(line, "\n")
	if len(line) > longestLine {
		line = strings.ToValidUTF8(line[:longestLine], "") + "…"
	}
	return "  " + line + "\n"
}

// keepLog writes the log to a file that stays when the test has ended. With go test's -artifacts it is in the test's
// artifacts, otherwise in the folder for temporary files.
func keepLog(t testing.TB, job, text string) (string, error) {
	folder := ""
	if f := flag.Lookup("test.artifacts"); f != nil && f.Value.String() == "true" {
		folder = t.ArtifactDir()
	}
	file, err := os.CreateTemp(folder, "firesweep-"+job+"-*.log")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return file.Name(), err
}
