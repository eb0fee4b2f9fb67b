package firesweep_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/bundletest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/emulator/process"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

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
			if e.Trigger == manifest.Tasks {
				if body = task; task == "" {
					t.Fatalf("bundle_test.go, tasks, does not say what %s is called with", e.Name)
				}
			}
			rep := bundletest.Start(t, e.Name, p.Environment).Run(t, body, now)
			check.Same(t, "job and status", []any{e.Name, report.Completed}, []any{rep.Job, rep.Status})
		})
	}
}

func TestWithoutCredentialsTheErrorIsReadable(t *testing.T) {
	t.Parallel()
	p := bundletest.Start(t, "cleanupReports", map[string]string{"GOOGLE_CLOUD_PROJECT": "nobody", "DRY_RUN": "false"})
	for range 2 {
		code, answer, err := p.Post(t.Context(), "", now)
		ok(t, err)
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
	ok(t, err)
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

var due = flag.Int("due", 2000, "how many documents are deleted among three times as many, a multiple of 1000")

// TestManyDueReportsAmongThreeTimesAsMany fills each page that is read, and reads one more that is empty.
func TestManyDueReportsAmongThreeTimesAsMany(t *testing.T) {
	t.Parallel()
	project := backendstest.Start(t)
	db := project.Firestore(t)
	n := *due
	writeReports(t, project, 3*n)
	p := bundletest.Start(t, "cleanupReports", project.Environment)

	rep := p.Run(t, "", now)
	if rep.Status != report.Completed || rep.Scanned != 3*n ||
		rep.Actions["delete report"] != (report.Counts{Planned: n, Done: n}) {
		t.Errorf("report %+v", rep)
	}
	left := reportCounts(t, db)
	check.Same(t, "left", map[string]int{"reviewed": n, "pending": n}, left)
	check.Same(t, "kept", left["reviewed"]+left["pending"], rep.Kept["not due"])
	// The due documents, twice, and their index entries, a read for each thousand, with an empty page after them, counts of three
	// times as many, twice, once and once as many, a read for each thousand, the lease and the two records of all jobs; a look at
	// these three every five seconds at most, whether the run is to stop. The writes are that of the lease, the two of its end, and
	// for undoing one for each commit.
	counts := 7 * n / 1000
	reads := int64(2*n + n/1000 + 1 + counts + 3)
	looks := rep.DurationMs / 5000
	if u := rep.Usage; u.FirestoreReads < reads || u.FirestoreReads > reads+3*looks ||
		u.FirestoreDeletes != int64(n) || u.FirestoreWrites < int64(4+n/200) || u.FirestoreWrites > int64(4+n/40) {
		t.Errorf("usage %+v in %d ms", u, rep.DurationMs)
	}
	if runtime.GOOS == "linux" { // elsewhere there is no such file
		if _, peak, err := process.Memory(p.PID); err != nil || peak > 128<<20 {
			t.Errorf("the process held %d MiB, want at most 128; %v", peak>>20, err)
		} else {
			t.Logf("peak memory %d MiB", peak>>20)
		}
	}
}

// awaitBegun waits until a run over 6000 reports has deleted the oldest, with which it begins.
func awaitBegun(t *testing.T, db *firestore.Client) {
	t.Helper()
	oldest := db.Doc("reports/r05997")
	deadline := time.Now().Add(5 * time.Minute)
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
	p := bundletest.Start(t, "cleanupReports", environment)
	type answer struct {
		body []byte
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		_, body, err := p.Post(t.Context(), "", now)
		answered <- answer{body, err}
	}()
	awaitBegun(t, db)
	ok(t, syscall.Kill(p.PID, syscall.SIGTERM))
	got := <-answered
	var rep report.Report
	if err := json.Unmarshal(got.body, &rep); err != nil || rep.Status != report.Partial {
		t.Fatalf("answered %v %s, want a partial report", got.err, got.body)
	}
	if <-p.Done; p.Err.Error() != "signal: terminated" {
		t.Errorf("the process ended with %v", p.Err)
	}
	left := reportCounts(t, db)["due"]
	if done := rep.Actions["delete report"].Done; left == 0 || done+left != 2000 {
		t.Errorf("%d done, %d left of 2000", done, left)
	}
	again := bundletest.Start(t, "cleanupReports", project.Environment).Run(t, "", now)
	check.Same(t, "the next run, at once", []any{report.Completed, left}, []any{again.Status, again.Actions["delete report"].Done})
}
