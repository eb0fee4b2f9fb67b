package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/logging"
	"github.com/firesweep/firesweep/shared/manifest"
)

// output collects what the command prints.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// isolate keeps a command's environment from the other tests, the Firebase Emulator Suite's from it, and the functions' log out
// of the tests' output.
func isolate(t *testing.T) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "functions.log"))
	ok(t, err)
	stderr := os.Stderr
	os.Stderr = log
	t.Cleanup(func() {
		os.Stderr = stderr
		_ = log.Close() // it is of no use any more
	})
	for _, name := range []string{backends.FirestoreHost, backends.StorageHost, backends.FirebaseStorageHost,
		backends.AuthHost, backends.TasksHost, projectVariable, bucketVariable} {
		t.Setenv(name, "")
	}
}

var ok = check.OK

var freePorts = []string{"--firestore-port=0", "--auth-port=0", "--storage-port=0", "--tasks-port=0", "--functions-port=0"}

// TestDemoEndsAsTheSampleMust runs it where emulators that are gone and settings of the user's are in the environment.
func TestDemoEndsAsTheSampleMust(t *testing.T) {
	isolate(t)
	temporary := t.TempDir()
	for name, value := range map[string]string{
		"TMPDIR": temporary, backends.FirestoreHost: "127.0.0.1:1", backends.TasksHost: "127.0.0.1:1", "DRY_RUN": "true",
		"FIRESTORE_DATABASE": "elsewhere", "MAX_ACTIONS": "1",
	} {
		t.Setenv(name, value)
	}
	var out output
	if err := run(t.Context(), []string{"--demo"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, e := range functions.All() {
		want := "\n" + e.Name + " (" + e.Schedule + " " + e.TimeZone + ")\n"
		switch {
		case e.Trigger == manifest.Tasks:
			want = " handed to " + e.Name
		case !slices.Contains(sampledata.Jobs(), e.Name):
			want = "\n" + e.Name + " is left out"
		}
		check.Same(t, want+": how often it is in\n"+out.String(), 1, strings.Count(out.String(), want))
	}
	for _, want := range []string{"Everything is as it should be", "two days ahead", "with an empty database",
		"And the run of checkGhostCircles taken back", "that it had deleted or changed are as they were before the run",
		"the undo holds the job until firesweep resume"} {
		check.Holds(t, out.String(), want)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
			t.Errorf("%d columns: %s", n, line)
		}
		if regexp.MustCompile(`(^|[ (])0[ \n]`).MatchString(line) && !strings.Contains(line, " * * ") { // which a schedule has
			t.Errorf("a figure is zero: %s", line)
		}
	}
	files := regexp.MustCompile(
		`cleanupOrphanedMedia, aborted: of ([1-9]\d*) files of the bucket (\d+) are left`).FindStringSubmatch(out.String())
	if files == nil || files[1] != files[2] {
		t.Errorf("the demo does not show that an empty database leaves every file: %q", files)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("the demo leaves %v, %v in the temporary folder", left, err)
	}
}

func TestEmulatorsOfTheEnvironmentThatAreGone(t *testing.T) {
	isolate(t)
	t.Setenv(backends.FirestoreHost, "127.0.0.1:1")
	t.Setenv(backends.StorageHost, "http://127.0.0.1:1/")
	err := run(t.Context(), append([]string{"--sample", "--ahead", "1h"}, freePorts...), &output{})
	for _, want := range []string{backends.FirestoreHost + " is 127.0.0.1:1", backends.StorageHost + " is http://127.0.0.1:1/",
		"unset it"} {
		check.Fails(t, err, want)
	}
}

// TestTasksAreSentByTheProjectOfTheEnvironment where that names another one than the default.
func TestTasksAreSentByTheProjectOfTheEnvironment(t *testing.T) {
	isolate(t)
	t.Setenv(projectVariable, "my-app")
	const sender = "TASKS_SERVICE_ACCOUNT_job"
	t.Setenv(sender, "")
	t.Setenv("TASKS_LOCATION_job", "")
	ok(t, setEnvironment(functions.List{All: []manifest.Entry{{Name: "job"}}}, map[string]string{}, "127.0.0.1:1"))
	check.Same(t, sender, "tasks@my-app.iam.gserviceaccount.com", os.Getenv(sender))
}

func TestTakenPortsAreAllReportedWithTheirFlags(t *testing.T) {
	isolate(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	defer func() { _ = taken.Close() }() // it was only held
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	err = run(t.Context(), []string{"--firestore-port=" + port, "--auth-port=" + port, "--storage-port=0", "--tasks-port=0",
		"--functions-port=" + port}, &output{})
	for _, want := range []string{
		"port " + port + " for Firestore is in use", "port " + port + " for Authentication is in use", "port " + port +
			" for the functions is in use",
		"choose another port with --firestore-port, --auth-port, --functions-port",
	} {
		check.Fails(t, err, want)
	}
}

// call sends a request and returns the answer.
func call(t *testing.T, method, url, body string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	ok(t, err)
	answer, err := http.DefaultClient.Do(r)
	ok(t, err)
	read, err := io.ReadAll(answer.Body)
	ok(t, errors.Join(err, answer.Body.Close()))
	return answer.StatusCode, string(read)
}

func TestServesUntilStopped(t *testing.T) {
	isolate(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out output
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, append([]string{"--sample", "--ahead", "1h"}, freePorts...), &out) }()
	for !strings.Contains(out.String(), "\nready\n") {
		select {
		case err := <-ended:
			t.Fatalf("ended before it was ready: %v\n%s", err, out.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	urls := regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+`).FindAllString(out.String(), -1)
	jobs := slices.DeleteFunc(functions.All(), func(e manifest.Entry) bool { return e.Trigger != manifest.Schedule })
	if len(urls) != len(jobs) {
		t.Fatalf("%d URLs shown for %d jobs", len(urls), len(jobs))
	}
	for i, url := range urls {
		status, body := call(t, http.MethodPost, url, `{"dryRun":true}`)
		// Every job has something to do at once, objects too; but not every rule of one's own has a part in the sample.
		due := slices.Contains(sampledata.Jobs(), jobs[i].Name)
		if status != http.StatusOK || due != strings.Contains(body, `"plan":[{`) {
			t.Errorf("%s on the sample data: %d %s", url, status, body)
		}
		if jobs[i].Name == "cleanupOrphanedMedia" && !strings.Contains(body, "delete post media") {
			t.Errorf("the sample's files are not old enough: %s", body)
		}
	}
	page := regexp.MustCompile(`Look at it: (http://127\.0\.0\.1:\d+/) \(it plans and runs as of 1h0m0s later\)\n`).FindStringSubmatch(out.String())[1]
	if status, body := call(t, http.MethodGet, page, ""); status != http.StatusOK || !strings.HasPrefix(body, "<!") {
		t.Errorf("where one is to look: %d %s", status, body)
	}
	status, body := call(t, http.MethodPost, strings.TrimSuffix(urls[0], path.Base(urls[0]))+"cleanupreports", "")
	check.Same(t, "an unknown function", http.StatusNotFound, status)
	if !regexp.MustCompile(`the functions are .*cleanupReports`).MatchString(body) {
		t.Errorf("an unknown function: %s, want the names of those that there are", body)
	}
	stop()
	if err := <-ended; err != nil || !strings.Contains(out.String(), "\nstopped: ") {
		t.Errorf("stopped: %v\n%s", err, out.String())
	}
}

// TestRules serves a user's rules, with the jobs that they enable and these jobs' workers, and nothing else.
func TestRules(t *testing.T) {
	const rule = `{"name": "cleanupDrafts", "schedule": "0 4 * * *", "collection": "drafts", "age": {"field": "at", "days": 9}}`
	names := func(text string) (served []string, err error) {
		file := filepath.Join(t.TempDir(), "firesweep.json")
		ok(t, os.WriteFile(file, []byte(text), 0o600))
		list, err := listOf(file)
		for _, e := range list.All {
			served = append(served, e.Name)
		}
		return served, err
	}
	for text, want := range map[string][]string{
		`{"rules":[` + rule + `]}`:                            {"cleanupDrafts"},
		`{"rules":[], "enabled": ["cleanupReports"]}`:         {"cleanupReports"},
		`{"rules":[], "enabled": ["deleteInactiveProjects"]}`: {"deleteInactiveProjects", "sendInactiveProjectWarning"},
	} {
		served, err := names(text)
		check.Same(t, text, []any{want, nil}, []any{served, err})
	}
	for text, want := range map[string]string{
		`{"rules":[]}`: "has no rule and enables no job", `{"rules": [`: "line 1, column 12",
		`{"rules":[` + strings.Replace(rule, "field", "fild", 1) + `]}`: `is it "field"`,
	} {
		_, err := names(text)
		check.Fails(t, err, want)
	}
	var out output
	if err := run(t.Context(), []string{"--rules=none.json"}, &out); !errors.Is(err, fs.ErrNotExist) || out.String() != "" {
		t.Errorf("a file that is not there: %v\n%s", err, out.String())
	}
}

// TestShortLog: what JSON says in a line, in the words that matter, and nothing of what users wrote as a command to the terminal.
func TestShortLog(t *testing.T) {
	var out bytes.Buffer
	log := logging.New(shortLog{&out})
	log.Info("testJob started", slog.Bool("dryRun", true), logging.Labels(slog.String("job", "testJob")))
	log.Warn("reports: kept 2, createdAt is missing or not a timestamp")
	log.Error("a\x1b[2Jb\u202ec")
	got := regexp.MustCompile(`\d\d:\d\d:\d\d`).ReplaceAllString(out.String(), "TIME")
	want := "TIME testJob started\nTIME WARNING reports: kept 2, createdAt is missing or not a timestamp\nTIME ERROR a\\x1b[2Jb\\u202ec\n"
	check.Same(t, "short log", want, got)
	out.Reset()
	_, err := (shortLog{&out}).Write([]byte("no JSON\n"))
	check.Same(t, "another's line", []any{"no JSON\n", nil}, []any{out.String(), err})
}

func TestWrongArguments(t *testing.T) {
	for _, args := range [][]string{{"--bogus"}, {"extra"}, {"--auth-port=x"}, {"--demo", "--sample"}, {"--demo", "--auth-port=9"}} {
		err := run(t.Context(), args, &output{})
		check.Fails(t, err, "--help")
	}
	var out output
	if err := run(t.Context(), []string{"--help"}, &out); err != nil || !strings.Contains(out.String(), "-demo") {
		t.Errorf("--help: %v\n%s", err, out.String())
	}
}
