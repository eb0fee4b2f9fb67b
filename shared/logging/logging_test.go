package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
)

func line(t *testing.T, log func(*slog.Logger)) map[string]any {
	t.Helper()
	var out bytes.Buffer
	log(New(&out))
	var m map[string]any
	if err := json.Unmarshal(out.Bytes(), &m); err != nil {
		t.Fatalf("%q is not one line of JSON: %v", out.String(), err)
	}
	return m
}

func TestLineIsWhatCloudLoggingExpects(t *testing.T) {
	m := line(t, func(l *slog.Logger) {
		l.With(Labels(slog.String("job", "cleanupReports"))).Warn("kept", "error", errors.New("wrong type"))
	})
	check.Same(t, "a line without a time", false, m["time"] == nil)
	delete(m, "time")
	want := map[string]any{
		"severity": "WARNING", "message": "kept", "error": "wrong type",
		"logging.googleapis.com/labels": map[string]any{"job": "cleanupReports"},
	}
	check.Same(t, "line", want, m)
}

// TestTextsCannotForgeALine has what a user could put into an object's name.
func TestTextsCannotForgeALine(t *testing.T) {
	const name = "posts/a\r\n{\"severity\":\"ERROR\",\"message\":\"forged\"}\n\x1b[2J\x00\u2028\"}"
	m := line(t, func(l *slog.Logger) { l.Info(name, "target", name) })
	delete(m, "time")
	shown := strings.NewReplacer("\r", `\r`, "\n", " ", "\x1b", `\x1b`, "\x00", `\x00`, "\u2028", `\u2028`).Replace(name)
	check.Same(t, "line", map[string]any{"severity": "INFO", "message": shown, "target": name}, m)
}

func TestReportedAndStack(t *testing.T) {
	m := line(t, func(l *slog.Logger) { l.Error("boom", Reported(), Stack(errors.New("bad"), []byte("goroutine 1"))) })
	check.Same(t, "severity", any("ERROR"), m["severity"])
	check.Same(t, "@type", any(typeError), m["@type"])
	check.Same(t, "stack_trace", any("panic: bad\n\ngoroutine 1"), m["stack_trace"])
}

// TestLongMessages: a message has at most 400 characters, also in a logger with attributes; what is cut is in a field.
func TestLongMessages(t *testing.T) {
	for _, n := range []int{399, 400, 401, 3000} {
		text := strings.Repeat("長", n)
		m := line(t, func(l *slog.Logger) { l.With("a", 1).Warn(text) })
		message, whole := m["message"].(string), m["text"]
		if n <= MaxMessage && (message != text || whole != nil) || n > MaxMessage && (whole != text || message != strings.Repeat("長", 399)+"…") {
			t.Errorf("%d characters: a message of %d, and of the text %.20v", n, len([]rune(message)), whole)
		}
	}
}
