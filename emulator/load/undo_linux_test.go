package load_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/bundletest"
	"github.com/firesweep/firesweep/emulator/each"
	"github.com/firesweep/firesweep/shared/engine/report"
)

const reports = "cleanupReports"

var reportCount = flag.Int("reports", 1_000, "how many documents a run deletes, all of which are taken back, at most 100,000")

var reportsNow = time.Date(2026, 1, 10, 15, 0, 0, 0, time.UTC)

// report returns a report that is due: some 400 bytes of all that a document holds.
func (w world) report(t *testing.T, i int) map[string]any {
	return map[string]any{
		"status": "reviewed", "createdAt": reportsNow.AddDate(0, -2, 0).Add(-time.Duration(i) * time.Second),
		"reporter": w.Firestore(t).Doc(fmt.Sprintf("users/u%05d", i%1000)), "score": 0.5 + float64(i),
		"text": strings.Repeat(fmt.Sprintf("報告 %d ", i*7919), 10), "tags": []any{"spam", int64(i), nil, map[string]any{"n": int64(i)}},
	}
}

// wantReports compares each report with what it was.
func (w world) wantReports(t *testing.T, n int) {
	t.Helper()
	i := 0
	byID := w.Firestore(t).Collection("reports").OrderBy(firestore.DocumentID, firestore.Asc)
	for d, err := range each.Of(byID.Documents(t.Context())) {
		if err != nil {
			t.Fatal(err)
		}
		sameRef := cmp.Comparer(func(a, b *firestore.DocumentRef) bool { return a.Path == b.Path })
		if diff := cmp.Diff(w.report(t, i), d.Data(), sameRef); d.Ref.ID != fmt.Sprintf("r%06d", i) || diff != "" {
			t.Fatalf("report %d is %s (-want +got):\n%s", i, d.Ref.ID, diff)
		}
		i++
	}
	if i != n {
		t.Errorf("%d reports are back, want %d", i, n)
	}
}

// What a process had resident at most is told by Linux, so this test is for Linux.

// TestUndo has a run delete many documents, shows by the command what would come back, brings it back, twice, and runs the job
// again, which is held. Neither the function's process nor the command's may hold more than the function is given.
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
	if next := run("is held", reportsNow.Add(24*time.Hour)); next.Status != report.Skipped || len(next.Actions) != 0 {
		t.Errorf("the next run: %s, actions %v; want skipped, and none", next.Status, next.Actions)
	}
	w.wantReports(t, n)
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
