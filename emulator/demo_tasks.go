package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/firesweep/firesweep/scripts/screen"
)

// longestWait is how long the demo waits for tasks: the sample's last is due after a few seconds.
const longestWait = 5 * time.Minute

// awaitTasks waits until Cloud Tasks has delivered what a job handed over, and shows what the worker made of it.
func (l *local) awaitTasks(ctx context.Context, out *screen.Printer, worker string, n int) error {
	server := l.backends.Tasks()
	out.Say(screen.Bold, 2, 0, "%s, called %d times:", worker, n)
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	for len(server.Pending("")) > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s has not done its tasks: %w; see the functions' log", worker, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	lines, err := decisions(os.Stderr.Name(), worker)
	if err != nil {
		return err
	}
	for _, line := range lines {
		out.Say("", 4, 2, "%s", line)
	}
	return nil
}

// decisions returns what a worker said in the log file about each thing it was called for.
func decisions(logFile, function string) ([]string, error) {
	text, err := os.ReadFile(logFile)
	if err != nil {
		return nil, fmt.Errorf("read the functions' log: %w", err)
	}
	var found []string
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var line struct {
			Message, Target, Reason string
			Labels                  struct{ Job string } `json:"logging.googleapis.com/labels"`
		}
		// The framework's own lines are no JSON. Those that name a target and a reason say what the worker did or kept.
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.Labels.Job != function || line.Target == "" || line.Reason == "" {
			continue
		}
		if !strings.Contains(line.Message, line.Reason) {
			line.Message += ", " + line.Reason
		}
		found = append(found, line.Message)
	}
	return found, nil
}
