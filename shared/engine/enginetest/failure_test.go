package enginetest

import (
	"fmt"
	"strings"
	"testing"
)

// spy is a test that records its messages.
type spy struct {
	testing.TB
	told string
}

func (s *spy) Helper() {}

func (s *spy) Logf(format string, args ...any) { s.told += fmt.Sprintf(format, args...) }

func TestAFailedTestShowsWhatIsGrave(t *testing.T) {
	line := func(severity, message string) string {
		return fmt.Sprintf("{\"severity\":%q,\"message\":%q}\n", severity, message)
	}
	log := line("INFO", "begun") + line("WARNING", "kept") + "panic: no JSON\n" + line("ERROR", strings.Repeat("long ", 1000))
	s := &spy{TB: t}
	tellLog(s, "cleanupReports", log)
	for _, want := range []string{"cleanupReports", "kept", "panic: no JSON", "long"} {
		if !strings.Contains(s.told, want) {
			t.Errorf("told %q, want it to say %q", s.told, want)
		}
	}
	if strings.Contains(s.told, "begun") || len(s.told) > 2000 {
		t.Errorf("told %d bytes: %q", len(s.told), s.told)
	}
}
