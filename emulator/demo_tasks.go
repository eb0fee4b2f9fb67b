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

// longestWait is how long the demo waits for tasks. The sample's last task is due after a few seconds.
const longestWait = 5 * time.Minute

// awaitTasks waits until Cloud Tasks has delivered a job's tasks, and shows what the worker decided, as the functions' log says.
func (l *local) awaitTasks(ctx context.Context, out *screen.Printer, worker string, n int, logFile string) error {
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
	lines, err := decisions(logFile, worker)
	if err != nil {
		return err
	}
	for _, line := range lines {
		out.Say("", 4, 2, "%s", line)
	}
	return nil
}

// decisions returns what a worker's log says about the item of each task.
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
		// Lines of the framework are no JSON. A line with a target and a reason says what the worker did or kept.
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
