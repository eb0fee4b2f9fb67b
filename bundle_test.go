package firesweep_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/functions/reports"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// mainProgram is what Google's Go buildpack generates around the package at the module's root.
const mainProgram = `package main

import (
	"log"
	"os"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"

	_ "github.com/firesweep/firesweep"
)

func main() {
	if err := funcframework.StartHostPort("127.0.0.1", os.Getenv("PORT")); err != nil {
		log.Fatal(err)
	}
}
`

// bundle builds the deployed source once, the way the buildpack does: a main module of its own that requires it.
var bundle = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "firesweep-bundle-")
	if err != nil {
		return "", err
	}
	source := filepath.Join(dir, "source")
	if err := unpackArchive(source); err != nil {
		return "", err
	}
	if output, err := goCommand(source, "mod", "tidy", "-diff"); err != nil {
		return "", fmt.Errorf("the archive's go.mod is not tidy, run scripts/package: %w\n%s", err, output)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(source, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, 0o600)
		}
		if err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(mainProgram), 0o600); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"mod", "edit", "-module=functions.local/app", "-require=github.com/firesweep/firesweep@v0.0.0",
			"-replace=github.com/firesweep/firesweep=./source"},
		{"build", "-mod=mod", "-o", "bundle", "."},
	} {
		if output, err := goCommand(dir, args...); err != nil {
			return "", fmt.Errorf("%w\n%s", err, output)
		}
	}
	return filepath.Join(dir, "bundle"), nil
})

// goCommand runs go in a folder and returns what it printed.
func goCommand(dir string, args ...string) (string, error) {
	command := exec.Command("go", args...)
	command.Dir = dir
	output, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return string(output), err
}

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := bundle(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path)) // at worst a file stays in the temporary folder
	}
	os.Exit(code)
}

// process is the bundle running with one FUNCTION_TARGET.
type process struct {
	command *exec.Cmd
	url     string
	log     *bytes.Buffer
}

// startProcess starts the bundle with nothing in its environment but what is given.
func startProcess(t *testing.T, target string, environment map[string]string) *process {
	t.Helper()
	path, err := bundle()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	p := &process{url: "http://127.0.0.1:" + port + "/", log: &bytes.Buffer{}}
	p.command = exec.CommandContext(context.WithoutCancel(t.Context()), path)
	p.command.Env = []string{"PORT=" + port, "FUNCTION_TARGET=" + target, "HOME=" + t.TempDir()}
	for name, value := range environment {
		p.command.Env = append(p.command.Env, name+"="+value)
	}
	p.command.Stdout, p.command.Stderr = p.log, p.log
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("the function's log:\n%.4000s", p.log)
		}
	})
	deadline := time.Now().Add(20 * time.Second)
	for {
		connection, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = connection.Close() // that it opened is all that matters
			return p
		}
		if time.Now().After(deadline) {
			t.Fatalf("the bundle does not listen: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (p *process) kill() {
	_ = p.command.Process.Kill() // it may have ended already
	_ = p.command.Wait()         // its error says that it was killed
}

// post calls the function and returns the answer's status and body.
func (p *process) post(ctx context.Context, body string, now time.Time) (int, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("X-CloudScheduler-ScheduleTime", now.Format(time.RFC3339))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it has been read
	return resp.StatusCode, answer, err
}

func (p *process) run(t *testing.T, body string, now time.Time) *sweep.Report {
	t.Helper()
	code, answer, err := p.post(t.Context(), body, now)
	if err != nil {
		t.Fatal(err)
	}
	var report sweep.Report
	if err := json.Unmarshal(answer, &report); err != nil || report.RunID == "" {
		t.Fatalf("%d %s: not a report", code, answer)
	}
	return &report
}

var now = time.Date(2026, 1, 10, 15, 0, 0, 0, time.UTC)

// tasks are what the workers are called with: about things that do not exist.
var tasks = map[string]string{
	"sendInactiveProjectWarning": `{"project_id":"none","deletion_date":"2026-02-28"}`,
	"deletePlaceholderUser":      `{"placeholder_user_id":"none"}`,
}

func TestEveryEntryPointServesFromTheBundle(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	for _, e := range functions.All() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			body, task := `{"dryRun":true}`, tasks[e.Name]
			if e.Trigger == functions.Tasks {
				body = task
			}
			report := startProcess(t, e.Name, p.Environment).run(t, body, now)
			if report.Job != e.Name || report.Status != sweep.Completed {
				t.Errorf("report %+v", report)
			}
		})
	}
}

func TestWithoutCredentialsTheErrorIsReadable(t *testing.T) {
	t.Parallel()
	p := startProcess(t, "cleanupReports", map[string]string{"GOOGLE_CLOUD_PROJECT": "nobody"})
	for range 2 {
		code, answer, err := p.post(t.Context(), "", now)
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			Error struct{ Code, Message string }
		}
		if err := json.Unmarshal(answer, &body); err != nil || code != http.StatusInternalServerError ||
			body.Error.Code != "unavailable" || !strings.Contains(body.Error.Message, "credentials") {
			t.Errorf("%d %s, want 500 that speaks of credentials", code, answer)
		}
	}
}

// writeReports writes n reports; of every three one is due, one young and one pending.
func writeReports(t *testing.T, project *backendstest.Project, n int) {
	t.Helper()
	project.SetMany(t, n, func(i int) (string, map[string]any) {
		data := map[string]any{"status": "reviewed", "createdAt": now.AddDate(0, -2, 0).Add(-time.Duration(i) * time.Second)}
		switch i % 3 {
		case 1:
			data["createdAt"] = now.Add(-time.Duration(i) * time.Second)
		case 2:
			data["status"] = "pending"
		}
		return fmt.Sprintf("reports/r%05d", i), data
	})
}

func reportCounts(t *testing.T, db *firestore.Client) map[string]int {
	t.Helper()
	documents, err := db.Collection("reports").Documents(t.Context()).GetAll()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, d := range documents {
		kind, _ := d.Data()["status"].(string)
		if kind == "reviewed" && d.Data()["createdAt"].(time.Time).Before(now.AddDate(0, -1, 0)) {
			kind = "due"
		}
		counts[kind]++
	}
	return counts
}

func TestTenThousandDueReportsAmongThirtyThousand(t *testing.T) {
	t.Parallel()
	project := backendstest.Start(t)
	db := project.Firestore(t)
	writeReports(t, project, 30_000)
	p := startProcess(t, "cleanupReports", project.Environment)

	report := p.run(t, "", now)
	if report.Status != sweep.Completed || report.Scanned != 30_000 ||
		report.Actions["delete report"] != (sweep.Counts{Planned: 10_000, Done: 10_000}) {
		t.Errorf("report %+v", report)
	}
	left := reportCounts(t, db)
	if left["due"] != 0 || left["reviewed"] != 10_000 || left["pending"] != 10_000 {
		t.Errorf("left %v, want 10000 young and 10000 pending", left)
	}
	if report.Kept["not older than 1 month"] != left["reviewed"] || report.Kept["status is neither reviewed nor dismissed"] != left["pending"] {
		t.Errorf("kept %v, the database holds %v", report.Kept, left)
	}
	// 10,000 documents in full pages and an empty one after them, counts of 30, 20, 10 and 10 thousand, the lease twice.
	if u := report.Usage; u.FirestoreReads != 10_000+1+70+2 || u.FirestoreDeletes != 10_000 || u.FirestoreWrites != 3 {
		t.Errorf("usage %+v", u)
	}
	if runtime.GOOS == "linux" { // elsewhere there is no such file
		if peak := peakMemory(t, p.command.Process.Pid); peak > 128<<20 {
			t.Errorf("the process held %d MiB, want at most 128", peak>>20)
		} else {
			t.Logf("peak memory %d MiB", peak>>20)
		}
	}
}

// peakMemory returns the most memory that a process has had resident, in bytes.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kilobytes, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// awaitBegun waits until a run over 6000 reports has deleted the oldest, with which it begins.
func awaitBegun(t *testing.T, db *firestore.Client) {
	t.Helper()
	oldest := db.Doc("reports/r05997")
	deadline := time.Now().Add(30 * time.Second)
	for {
		_, err := oldest.Get(t.Context())
		if status.Code(err) == codes.NotFound {
			return
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the run does not begin to delete: %v", err)
		}
	}
}

// TestTerminatedProcessLeavesNoLease sends SIGTERM, as Cloud Run does before it kills: the run ends in order, and the next
// one need not wait.
func TestTerminatedProcessLeavesNoLease(t *testing.T) {
	t.Parallel()
	project := backendstest.Start(t)
	db := project.Firestore(t)
	writeReports(t, project, 6000)
	environment := maps.Clone(project.Environment)
	environment["K_SERVICE"] = "cleanup-reports"
	p := startProcess(t, "cleanupReports", environment)
	type answer struct {
		body []byte
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		_, body, err := p.post(t.Context(), "", now)
		answered <- answer{body, err}
	}()
	awaitBegun(t, db)
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	got := <-answered
	var report sweep.Report
	if err := json.Unmarshal(got.body, &report); err != nil || report.Status != sweep.Partial {
		t.Fatalf("answered %v %s, want a partial report", got.err, got.body)
	}
	if err := p.command.Wait(); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("the process ended with %v", err)
	}
	left := reportCounts(t, db)["due"]
	if done := report.Actions["delete report"].Done; left == 0 || done+left != 2000 {
		t.Errorf("%d done, %d left of 2000", done, left)
	}
	again := startProcess(t, "cleanupReports", project.Environment).run(t, "", now)
	if again.Status != sweep.Completed || again.Actions["delete report"].Done != left {
		t.Errorf("the next run, at once: %+v", again)
	}
}

func TestKilledProcessIsFollowedByOneThatFinishes(t *testing.T) {
	t.Parallel()
	project := backendstest.Start(t)
	db := project.Firestore(t)
	writeReports(t, project, 6000)
	first := startProcess(t, "cleanupReports", project.Environment)
	ended := make(chan error, 1)
	go func() {
		_, _, err := first.post(t.Context(), "", now)
		ended <- err
	}()
	// At Firestore's rate 2000 deletions take some four seconds: kill it when it has begun.
	awaitBegun(t, db)
	first.kill()
	if err := <-ended; err == nil {
		t.Fatal("the run had ended before it was killed")
	}
	second := startProcess(t, "cleanupReports", project.Environment)
	if got := second.run(t, "", now); got.Status != sweep.Skipped {
		t.Errorf("while the dead run's lease lasts: %s, want skipped", got.Status)
	}
	// Not sooner: the emulator may still have been at what the dead process had sent.
	half := reportCounts(t, db)
	if half["due"] == 0 || half["due"] == 2000 || half["pending"] != 2000 || half["reviewed"] != 2000 {
		t.Fatalf("after the kill %v, want some of the due ones gone and nothing else", half)
	}
	later := sweeptest.On(t, functions.New(reports.Job), project)
	later.Now = now
	later.Clock = func() time.Time { return time.Now().Add(later.Timeout + time.Minute) }
	got := later.Run(t, "")
	// What the dead process had sent may have taken effect after they were counted.
	if done := got.Actions["delete report"].Done; got.Status != sweep.Completed || done == 0 || done > half["due"] {
		t.Errorf("after its expiry: %+v, want the others done, at most %d", got, half["due"])
	}
	if left := reportCounts(t, db); left["due"] != 0 || left["pending"] != 2000 || left["reviewed"] != 2000 {
		t.Errorf("left %v", left)
	}
}
