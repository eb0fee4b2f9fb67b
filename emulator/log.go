package main

import (
	"encoding/json"
	"io"
	"os"
	"sync"
	"time"

	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/logging"
)

// functionsLog returns the functions' log: standard error, in short lines if it is a terminal, else in the JSON that Cloud
// Logging reads.
func functionsLog(asJSON bool) io.Writer {
	if asJSON || !screen.IsTerminal(os.Stderr) {
		return logging.Stderr{}
	}
	return &shortLog{p: screen.On(os.Stderr, os.Getenv)}
}

// shortLog writes the time and the message of each line of JSON, and the severity unless it is INFO.
type shortLog struct {
	mu sync.Mutex
	p  screen.Printer
}

// Write implements io.Writer. It is called with one line at a time, as slog does.
func (l *shortLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var line struct {
		Time              time.Time
		Severity, Message string
	}
	if json.Unmarshal(text, &line) != nil || line.Message == "" {
		n, err := l.p.W.Write(text)
		return n, err //nolint:wrapcheck // slog knows the line
	}
	style, severity := "", ""
	if line.Severity != "INFO" {
		severity, style = line.Severity+" ", screen.Yellow
	}
	if line.Severity == "ERROR" {
		style = screen.Red
	}
	l.p.Say(style, 0, 2, "%s %s%s", line.Time.Local().Format(time.TimeOnly), severity, line.Message)
	return len(text), nil
}
