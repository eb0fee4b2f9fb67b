package load_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/bundletest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// What a process had resident at most is told by Linux, so this test is for Linux.

// TestUndo has a run delete many documents, shows by the command what would come back, brings it back, twice, and runs the job
// again. Neither the function's process nor the command's may hold more than the function is given.
func TestUndo(t *testing.T) {
	besideOthers(t, *reportCount <= 1_000)
	w := world{Project: backendstest.Start(t)}
	if !w.EmbeddedFirestore() {
		t.Skip("what is measured is the function and the command on the embedded backends")
	}
	n := *reportCount
	w.SetMany(t, n, func(i int) (string, map[string]any) { return fmt.Sprintf("reports/r%06d", i), w.report(t, i) })
	environment := maps.Clone(w.Environment)
	environment["TIMEOUT_SECONDS"] = "1740" // the emulator is slower than Google's service
	run := func(what string, now time.Time) *report.Report {
		p := bundletest.Start(t, reports, environment)
		defer p.Stop()
		samples := sample(p.PID)
		rep := p.Run(t, "", now)
		memory := samples()
		logRun(t, what, rep)
		logMemory(t, memory)
		return rep
	}
	deleted := run("deletes", reportsNow)
	if want := (report.Counts{Planned: n, Done: n}); deleted.Status != report.Completed || deleted.Actions["delete report"] != want {
		t.Fatalf("%s: %+v", deleted.Status, deleted.Actions)
	}
	if writes := deleted.Usage.FirestoreWrites - 4; writes*40 > int64(n) {
		t.Errorf("%d writes keep %d documents, want at most one for 40", writes, n)
	}
	if left := w.names(t, "reports"); len(left) != 0 {
		t.Fatalf("%d reports are left", len(left))
	}
	command, err := bundletest.Build("./scripts/firesweep")
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{"undo", "--yes", deleted.RunID}, {"undo", "--yes", "--json", deleted.RunID}} {
		execute(t, command, w.Environment, arguments...)
	}
	w.wantReports(t, n)
	next := run("keeps what came back", reportsNow.Add(24*time.Hour))
	if next.Status != report.Completed || len(next.Actions) != 0 {
		t.Errorf("the next run: %s, actions %v; want completed, and none", next.Status, next.Actions)
	}
	if kept := slices.Collect(maps.Values(next.Kept)); !slices.Contains(kept, n) {
		t.Errorf("the next run kept %v, want all %d", next.Kept, n)
	}
}

// execute runs the command in a process of its own, and checks how much memory that held.
func execute(t *testing.T, path string, environment map[string]string, arguments ...string) {
	t.Helper()
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), path, arguments...)
	command.Env = []string{"HOME=" + t.TempDir()}
	for name, value := range environment {
		command.Env = append(command.Env, name+"="+value)
	}
	command.Stdout, command.Stderr = output, output
	begun := time.Now()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	samples := sample(command.Process.Pid)
	err = command.Wait()
	t.Logf("firesweep %s: %s", strings.Join(arguments[:len(arguments)-1], " "), time.Since(begun).Round(100*time.Millisecond))
	logMemory(t, samples())
	if closed := output.Close(); closed != nil {
		t.Error(closed)
	}
	if err != nil {
		text, _ := os.ReadFile(output.Name()) // it is only shown
		t.Fatalf("firesweep %s: %v\n%.2000s", strings.Join(arguments, " "), err, text)
	}
}
