package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/harmless"
	"github.com/firesweep/firesweep/shared/logging"
)

// functionsLog returns the functions' log: standard error, in short lines if it is a terminal, else in the JSON that Cloud
// Logging reads.
func functionsLog(asJSON bool) io.Writer {
	if info, err := os.Stderr.Stat(); asJSON || err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return logging.Stderr{}
	}
	return shortLog{os.Stderr}
}

// shortLog writes the time and the message of each line of JSON, and the severity unless it is INFO.
type shortLog struct{ w io.Writer }

// Write implements io.Writer. It is called with one line at a time, as slog does.
func (l shortLog) Write(text []byte) (int, error) {
	var line struct {
		Time              time.Time
		Severity, Message string
	}
	if json.Unmarshal(text, &line) != nil || line.Message == "" {
		return l.w.Write(text)
	}
	severity := strings.TrimPrefix(line.Severity+" ", "INFO ")
	_, err := fmt.Fprintln(l.w, line.Time.Local().Format(time.TimeOnly), severity+harmless.Text(line.Message))
	return len(text), err
}
