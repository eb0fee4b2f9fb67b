package enginetest

import (
	"strings"
	"testing"
)

// How many warnings and errors of a log a failed test shows, and how many bytes of each: a report may name a thousand documents.
const (
	maxShown    = 20
	longestLine = 600
)

// tellLog shows the last warnings and errors of the log of a failed test's function.
func tellLog(t testing.TB, job, text string) {
	t.Helper()
	var grave []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.Contains(line, `"severity":"INFO"`) || strings.Contains(line, `"severity":"DEBUG"`) {
			continue
		}
		grave = append(grave, "  "+strings.ToValidUTF8(line[:min(len(line), longestLine)], ""))
	}
	t.Logf("the last warnings and errors of %s:\n%s", job, strings.Join(grave[max(0, len(grave)-maxShown):], "\n"))
}
