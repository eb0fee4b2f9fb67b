// Package scripts_test runs the operator's commands against a gcloud that is a few lines of shell.
package scripts_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/functions/reports"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// fakeGcloud notes how it was called, and answers with the files in $FAKE. A log is read once in vain.
const fakeGcloud = `#!/usr/bin/env bash
printf '%s\n' "$*" >> "$FAKE/calls"
case "$1 $2 $3" in
  "config get-value project") echo configured-project ;;
  "scheduler jobs describe") cat "$FAKE/job.json" ;;
  "scheduler jobs list") echo cleanupReports ;;
  "logging read "*)
    if [ -e "$FAKE/asked" ]; then cat "$FAKE/entries.json"; else touch "$FAKE/asked"; echo '[]'; fi ;;
esac
`

const schedulerJob = `{"attemptDeadline":"330s","httpTarget":{"uri":"https://cleanupreports-x.a.run.app",
  "oidcToken":{"serviceAccountEmail":"firesweep-scheduler@p.iam.gserviceaccount.com","audience":"https://cleanupreports-x.a.run.app"}}}`

var now = time.Date(2026, 1, 10, 15, 0, 0, 0, time.UTC)

// command runs a script and returns what it printed and its exit code.
func command(t *testing.T, environment []string, name string, args ...string) (string, int) {
	t.Helper()
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq is not installed")
	}
	c := exec.Command("./"+name, args...)
	c.Env = append(os.Environ(), environment...)
	output, err := c.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited { //nolint:errorlint // Run returns it as it is
		t.Fatal(err)
	}
	return string(output), c.ProcessState.ExitCode()
}

// withGcloud puts the fake gcloud on the path, with log entries as Cloud Logging shows the lines that a function wrote.
func withGcloud(t *testing.T, lines []map[string]any) (environment []string, calls func() string) {
	t.Helper()
	dir := t.TempDir()
	entries := []map[string]any{}
	for _, line := range lines {
		entry := map[string]any{"timestamp": line["time"], "severity": line["severity"], "labels": line["logging.googleapis.com/labels"]}
		for _, name := range []string{"time", "severity", "logging.googleapis.com/labels"} {
			delete(line, name)
		}
		entry["jsonPayload"] = line
		entries = append(entries, entry)
	}
	text, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"gcloud": fakeGcloud, "job.json": schedulerJob, "entries.json": string(text)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil { //nolint:gosec // gcloud is run
			t.Fatal(err)
		}
	}
	environment = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "FAKE=" + dir, "FIRESWEEP_POLL_SECONDS=0"}
	return environment, func() string {
		text, err := os.ReadFile(filepath.Join(dir, "calls"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// project returns cleanupReports on a project with one report that is due and one that is not.
func project(t *testing.T) *sweeptest.Function {
	t.Helper()
	f := sweeptest.New(t, functions.New(reports.Job))
	f.Now = now
	f.Set(t, "reports/old", map[string]any{"status": "reviewed", "createdAt": now.AddDate(0, -2, 0)})
	f.Set(t, "reports/young", map[string]any{"status": "reviewed", "createdAt": now})
	return f
}

func wantContains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

func TestDryRunOfADeployedJob(t *testing.T) {
	t.Parallel()
	f := project(t)
	f.Run(t, `{"dryRun":true}`)
	environment, calls := withGcloud(t, f.Summaries(t))

	output, code := command(t, environment, "dry-run", "--location", "asia-northeast1")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	wantContains(t, output, "cleanupReports: completed, database (default), now 2026-01-10T15:00:00Z",
		"ACTION", "delete report  reports/old  reviewed, created 2025-11-10T15:00:00Z, older than 1 month",
		"kept  1  not older than 1 month")
	var created, ran, deleted string
	for line := range strings.Lines(calls()) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "scheduler jobs create http "):
			created = fields[4]
			wantContains(t, line, "--project=configured-project", "--location=asia-northeast1", `--message-body={"dryRun":true}`,
				"--uri=https://cleanupreports-x.a.run.app ", "--oidc-token-audience=https://cleanupreports-x.a.run.app",
				"--oidc-service-account-email=firesweep-scheduler@p.iam.gserviceaccount.com", "--max-retry-attempts=0", "--attempt-deadline=330s")
		case strings.HasPrefix(line, "scheduler jobs run "):
			ran = fields[3]
		case strings.HasPrefix(line, "scheduler jobs delete "):
			deleted = fields[3]
		}
	}
	if !strings.HasPrefix(created, "cleanupReports-dry-run-") || ran != created || deleted != created {
		t.Errorf("created %q, ran %q, deleted %q: want one temporary job", created, ran, deleted)
	}
}

func TestDryRunThatIsAborted(t *testing.T) {
	t.Parallel()
	f := project(t)
	f.Set(t, "reports/older", map[string]any{"status": "dismissed", "createdAt": now.AddDate(-1, 0, 0)})
	f.Env["MAX_ACTIONS"] = "1"
	f.Run(t, `{"dryRun":true}`)
	environment, _ := withGcloud(t, f.Summaries(t))
	output, code := command(t, environment, "dry-run", "--location", "asia-northeast1", "cleanupReports")
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	wantContains(t, output, "cleanupReports: aborted", "MAX_ACTIONS: the plan has more than 1 actions")
}

// TestWholePlanBeyondASafetyLimit follows the advice of the safety limit.
func TestWholePlanBeyondASafetyLimit(t *testing.T) {
	t.Parallel()
	f := project(t)
	f.Set(t, "reports/older", map[string]any{"status": "dismissed", "createdAt": now.AddDate(-1, 0, 0)})
	f.Env["MAX_ACTIONS"] = "1"
	url := f.Serve(t)
	if output, code := command(t, nil, "dry-run", "--local", "--url", url, "cleanupReports"); code != 1 || !strings.Contains(output, "scripts/dry-run --force") {
		t.Errorf("exit code %d, %s", code, output)
	}
	output, code := command(t, nil, "dry-run", "--local", "--force", "--url", url, "cleanupReports")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	wantContains(t, output, "cleanupReports: completed (forced: no safety limit holds it)", "reports/old ", "reports/older ")
	if len(f.Documents(t, "reports")) != 3 {
		t.Error("a preview deleted something")
	}

	f.Run(t, `{"dryRun":true,"force":true}`)
	environment, calls := withGcloud(t, f.Summaries(t)[2:])
	output, code = command(t, environment, "dry-run", "--location", "asia-northeast1", "--force", "cleanupReports")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	wantContains(t, output, "completed (forced: no safety limit holds it)", "reports/older ")
	wantContains(t, calls(), `--message-body={"dryRun":true,"force":true}`)
}

func TestDryRunOfAFunctionThatIsNotConfigured(t *testing.T) {
	t.Parallel()
	f := project(t)
	f.Env["MAX_ACTIONS"] = "none"
	f.Post(t, `{"dryRun":true}`)
	environment, _ := withGcloud(t, f.LogLines(t))
	output, code := command(t, environment, "dry-run", "--location", "asia-northeast1", "cleanupReports")
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	wantContains(t, output, "cleanupReports did not run: wrong configuration: MAX_ACTIONS")
}

func TestLogsShowWhatIsNoRun(t *testing.T) {
	t.Parallel()
	f := project(t)
	f.Env["MAX_ACTIONS"] = "none"
	f.Post(t, "")
	f.Env["MAX_ACTIONS"] = ""
	f.Post(t, `{"forced":true}`)
	report := f.Run(t, `{"force":true}`)
	var lines []map[string]any
	for _, line := range f.LogLines(t) {
		if line["report"] != nil || line["severity"] == "WARNING" && line["code"] != nil || line["problem"] != nil {
			lines = append(lines, line)
		}
	}
	environment, _ := withGcloud(t, lines)
	command(t, environment, "logs", "cleanupReports") // the fake's first answer is empty
	output, code := command(t, environment, "logs", "cleanupReports")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	wantContains(t, output, "FORCE", "completed  no       yes", "(default)", report.RunID,
		"ERROR: cleanupReports did not run: wrong configuration", `WARNING: cleanupReports refused a request: unknown field "forced"`)
}

func TestDryRunLocally(t *testing.T) {
	t.Parallel()
	f := project(t)
	output, code := command(t, nil, "dry-run", "--local", "--url", f.Serve(t), "cleanupReports")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	wantContains(t, output, "cleanupReports: completed", "delete report  reports/old")

	misconfigured := project(t)
	misconfigured.Env["MAX_ACTIONS"] = "none"
	output, code = command(t, nil, "dry-run", "--local", "--url", misconfigured.Serve(t), "cleanupReports")
	if code != 1 {
		t.Errorf("exit code %d of a function that is not configured, want 1", code)
	}
	wantContains(t, output, "cleanupReports: wrong configuration", "MAX_ACTIONS")
}

func TestNothingReachesTheTerminalAsACommand(t *testing.T) {
	t.Parallel()
	f := project(t)
	f.Set(t, "reports/\x1b[2Jhidden", map[string]any{"status": "reviewed", "createdAt": now.AddDate(-1, 0, 0)})
	f.Run(t, `{"dryRun":true}`)
	environment, _ := withGcloud(t, f.Summaries(t))
	output, _ := command(t, environment, "dry-run", "--location", "asia-northeast1", "cleanupReports")
	wantContains(t, output, "reports/ [2Jhidden")
	if strings.Contains(output, "\x1b") {
		t.Errorf("a control character was printed: %q", output)
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	f := project(t)
	f.Run(t, `{"dryRun":true}`)
	report := f.Run(t, "")
	environment, calls := withGcloud(t, f.Summaries(t))
	command(t, environment, "logs", "cleanupReports") // the fake's first answer is empty
	output, code := command(t, environment, "logs", "--project", "p", "--limit", "3", "cleanupReports")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	wantContains(t, output, "STARTED", "completed  yes", "completed  no", report.RunID, "(default)")
	wantContains(t, calls(), "--project=configured-project", "--project=p --freshness=30d --limit=3")

	environment, calls = withGcloud(t, f.LogLines(t))
	command(t, environment, "logs", "cleanupReports")
	output, code = command(t, environment, "logs", "--run", report.RunID)
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	wantContains(t, output, "cleanupReports started", "reports/old", `writes=[{"op":"delete","path":"reports/old"}]`)
	wantContains(t, calls(), `labels.runId="`+report.RunID+`"`)
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command, want string
		args          []string
	}{
		{"dry-run", "no job is called cleanupReport", []string{"--local", "cleanupReport"}},
		{"dry-run", "say where it is deployed", nil},
		{"dry-run", "unknown option --forced", []string{"--forced"}},
		{"dry-run", "--location needs a value", []string{"--location"}},
		{"logs", "--limit is many", []string{"--limit", "many"}},
		{"logs", "it must be a run's id", []string{"--run", `x" OR "`}},
		{"package", "unexpected argument", []string{"x"}},
	} {
		environment, _ := withGcloud(t, nil)
		output, code := command(t, environment, tt.command, tt.args...)
		if code != 2 || !strings.Contains(output, tt.want) {
			t.Errorf("%s %v: exit code %d, %q; want 2 and %q", tt.command, tt.args, code, output, tt.want)
		}
	}
	for _, name := range []string{"dry-run", "logs", "package"} {
		if output, code := command(t, nil, name, "--help"); code != 0 || !strings.HasPrefix(output, "Usage: scripts/"+name) {
			t.Errorf("%s --help: exit code %d, %q", name, code, output)
		}
	}
}
