package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
)

// warnings is the log of a plan. It keeps the messages of warnings and errors, without the summary, which repeats the report.
type warnings struct {
	mu       sync.Mutex
	messages []string
}

// Write implements io.Writer. Each call is one line, as slog writes them.
func (w *warnings) Write(line []byte) (int, error) {
	var entry struct {
		Severity, Message string
		Report            json.RawMessage
	}
	err := json.Unmarshal(bytes.TrimSpace(line), &entry)
	if err == nil && entry.Report == nil && (entry.Severity == "WARNING" || entry.Severity == "ERROR") {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.messages = append(w.messages, strings.TrimSpace(entry.Message))
	}
	return len(line), nil
}

func (w *warnings) lines() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.messages
}
