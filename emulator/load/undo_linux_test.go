package load_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/bundletest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/emulator/each"
	"github.com/firesweep/firesweep/emulator/process"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

const (
	reports    = "cleanupReports"
	fewReports = 1000
)

var reportCount = flag.Int("reports", fewReports, "how many documents a run deletes, all of which are taken back, at most 100,000")

var reportsNow = time.Date(2026, 1, 10, 15, 0, 0, 0, time.UTC)

// due returns a report that is due: some 400 bytes of all that a document holds.
func due(db *firestore.Client, i int) map[string]any {
	return map[string]any{
		"status": "reviewed", "createdAt": reportsNow.AddDate(0, -2, 0).Add(-time.Duration(i) * time.Second),
		"reporter": db.Doc(fmt.Sprintf("users/u%05d", i%1000)), "score": 0.5 + float64(i),
		"text": strings.Repeat(fmt.Sprintf("報告 %d ", i*7919), 10), "tags": []any{"spam", int64(i), nil, map[string]any{"n": int64(i)}},
	}
}

// wantReports compares each report with what it was.
func wantReports(t *testing.T, db *firestore.Client, n int) {
	t.Helper()
	i := 0
	byID := db.Collection("reports").OrderBy(firestore.DocumentID, firestore.Asc)
	for d, err := range each.Of(byID.Documents(t.Context())) {
		check.OK(t, err)
		if diff := cmp.Diff(due(db, i), d.Data(), enginetest.SameReference); d.Ref.ID != fmt.Sprintf("r%06d", i) || diff != "" {
			t.Fatalf("report %d is %s (-want +got):\n%s", i, d.Ref.ID, diff)
		}
		i++
	}
	enginetest.Want(t, "reports that are back", n, i)
}

// What a process had resident at most is told by Linux, so this test is for Linux.

// TestUndo has a run delete many documents, shows by the command what would come back, brings it back, twice, and runs the job
// again, which is held. Neither the function's process nor the command's may hold more than the function is given.
func TestUndo(t *testing.T) {
	n := *reportCount
	if n == fewReports {
		t.Parallel()
	}
	p := backendstest.Start(t)
	if !p.EmbeddedFirestore() {
		t.Skip("what is measured is the function and the command on the embedded backends")
	}
	db := p.Firestore(t)
	p.SetMany(t, n, func(i int) (string, map[string]any) { return fmt.Sprintf("reports/r%06d", i), due(db, i) })
	environment := maps.Clone(p.Environment)
	environment["TIMEOUT_SECONDS"] = "1740" // the emulator is slower than Google's service
	deleted := measured(t, environment, reports, reportsNow)
	enginetest.WantReport(t, deleted, report.Completed, enginetest.Done("delete report", n))
	if writes := deleted.Usage.FirestoreWrites - 4; writes*40 > int64(n) {
		t.Errorf("%d writes keep %d documents, want at most one for 40", writes, n)
	}
	wantSame(t, "reports", nil, names(t, p, "reports"))
	command, err := bundletest.Build("./scripts/firesweep")
	check.OK(t, err)
	execute(t, command, p.Environment, "undo", "--yes", deleted.RunID)
	execute(t, command, p.Environment, "undo", "--yes", "--json", deleted.RunID)
	wantReports(t, db, n)
	enginetest.WantReport(t, measured(t, environment, reports, reportsNow.Add(24*time.Hour)), report.Skipped, map[string]report.Counts{})
	wantReports(t, db, n)
}

// execute runs the command in a process of its own, and checks how much memory that held.
func execute(t *testing.T, path string, environment map[string]string, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), path, arguments...)
	command.Env = []string{"HOME=" + t.TempDir()}
	for name, value := range environment {
		command.Env = append(command.Env, name+"="+value)
	}
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	begun := time.Now()
	check.OK(t, command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	var err error
	held := 0
	for running := true; running; {
		select {
		case err = <-ended:
			running = false
		case <-time.After(5 * time.Millisecond):
			_, peak, _ := process.Memory(command.Process.Pid) // none, once it has ended
			held = max(held, peak)
		}
	}
	t.Logf("firesweep %s: %s", strings.Join(arguments[:len(arguments)-1], " "), time.Since(begun).Round(100*time.Millisecond))
	checkMemory(t, held)
	if err != nil {
		t.Fatalf("firesweep %s: %v\n%.2000s", strings.Join(arguments, " "), err, output.String())
	}
}
