package engine_test

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// linesWith returns the log lines whose message holds a text.
func linesWith(t *testing.T, f *enginetest.Function, text string) []map[string]any {
	t.Helper()
	var found []map[string]any
	for _, line := range f.LogLines(t) {
		if message, _ := line["message"].(string); strings.Contains(message, text) {
			found = append(found, line)
		}
	}
	return found
}

// oneLine returns the only log line whose message holds a text.
func oneLine(t *testing.T, f *enginetest.Function, text string) map[string]any {
	t.Helper()
	found := linesWith(t, f, text)
	if len(found) != 1 {
		t.Fatalf("%d log lines say %q, want one: %v", len(found), text, found)
	}
	return found[0]
}

func label(line map[string]any, name string) any {
	labels, _ := line["logging.googleapis.com/labels"].(map[string]any)
	return labels[name]
}

// TestCauseComesFirst: lists of log lines and alerts show the beginning.
func TestCauseComesFirst(t *testing.T) {
	t.Parallel()
	f := fatesFunction(t, "done", "fail")
	f.Run(t, "")
	line := f.Summaries(t)[0]
	begins(t, line["message"].(string), "testJob failed: do things/b: panic: no luck")
	has(t, line["text"].(string)+"\n", "; do 1 of 2, 1 failed; kept 0; 0 ms\n")
	enginetest.Want(t, "severity", "ERROR", line["severity"])
	if p, _ := line["problem"].(string); !strings.HasPrefix(p, "do things/b: panic: no luck") || len(p) > 300 {
		t.Errorf("problem %q", p)
	}
	oneLine(t, f, "do things/b: failed, the next run tries again: panic: no luck")

	worker := newFunction(t, touchJob(fates))
	worker.Set(t, "things/t1", map[string]any{"fate": "fail"})
	worker.Run(t, `{"color":"red","thing":"t1"}`)
	oneLine(t, worker, "failed, Cloud Tasks tries again: panic: no luck")
}

// TestRetryOfAnAbortedRun: Cloud Scheduler tries again whatever is not a 2xx, and the same plan would trip the same limit.
func TestRetryOfAnAbortedRun(t *testing.T) {
	t.Parallel()
	f := newFunction(t, thingsJob(10))
	f.Env["MAX_ACTIONS"] = "1"
	seed(t, f, 2)
	if byHand, again := f.Run(t, ""), f.Run(t, ""); byHand.RunID == again.RunID {
		t.Error("without a schedule time, two calls are two runs, even within one microsecond")
	}
	f.Reset(t)
	seed(t, f, 2)
	f.Now = start.Add(-time.Minute)
	lines := len(f.Summaries(t))
	f.Run(t, `{"dryRun":true}`) // leaves nothing behind
	first := f.Run(t, "")
	if first.Status != report.Aborted {
		t.Fatalf("report %+v", first)
	}
	f.Request.Clear()
	again := f.Run(t, "")
	enginetest.Want(t, "what the retry answers", first, again)
	if f.Request.Count("RunQuery") != 0 || f.Request.Count("Commit") != 0 {
		t.Errorf("the retry planned or wrote: %v", f.Request.Methods())
	}
	if runs := f.Documents(t, "cleanupRuns"); len(runs) != 1 || enginetest.Holder(job(t, f)) != "" {
		t.Errorf("runs %v, job %v", runs, job(t, f))
	}
	enginetest.Want(t, "summaries, of which alerts are made: the preview's and the first run's", 2, len(f.Summaries(t))-lines)
	enginetest.Want(t, "severity", any("INFO"), oneLine(t, f, "is not planned again: run "+first.RunID)["severity"])

	if got := f.Run(t, `{"dryRun":true}`); got.RunID == first.RunID || got.Status != report.Aborted {
		t.Errorf("a preview is answered with %+v", got)
	}
	f.Now = start.Add(-time.Minute + time.Microsecond)
	if got := f.Run(t, ""); got.RunID == first.RunID || got.Status != report.Aborted {
		t.Errorf("another schedule time is answered with %+v", got)
	}
	enginetest.Want(t, "forced", report.Completed, f.Run(t, `{"force":true}`).Status)
	enginetest.Want(t, "left", 0, len(left(t, f)))
	f.Env["MAX_ACTIONS"] = ""
	f.Now = time.Time{} // called by hand, the clock standing still
	enginetest.Want(t, "by hand", report.Completed, f.Run(t, "").Status)
}

// TestEmptyCollection: a wrong or emptied database must never empty a bucket, however few objects there are.
func TestEmptyCollection(t *testing.T) {
	t.Parallel()
	whole := thingsJob(10)
	missing := 3
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		p.Count(cleanup.Count{Collection: "posts", Missing: missing, Exists: 3 - missing})
		p.Count(cleanup.Count{Collection: "circles", Missing: 1})
		p.Count(cleanup.Count{Collection: "tasks", Exists: 3})
		return whole.Plan(ctx, p)
	}})
	seed(t, f, 2)
	f.Set(t, "circles/c1", map[string]any{"n": 1})
	golden := enginetest.NewGolden(t, "empty-collections")
	for _, body := range []string{`{"dryRun":true}`, ""} {
		got := golden.Run(t, "a read for each collection in which nothing was found, with body "+body, f, "", body)
		if got.Status != report.Aborted || len(got.Failures) != 1 || len(left(t, f)) != 2 ||
			!strings.Contains(got.Failures[0].Error, "posts holds no document at all") || strings.Contains(got.Failures[0].Error, "circles") ||
			!strings.Contains(got.Failures[0].Error, "put a document into it") || !strings.Contains(got.Failures[0].Error, "database (default)") {
			t.Fatalf("body %s: %+v, want aborted", body, got)
		}
	}
	missing = 2
	enginetest.Want(t, "one of them exists, so the collection is not empty", report.Completed, f.Run(t, `{"dryRun":true}`).Status)
	missing = 3
	forced := f.Run(t, `{"force":true}`)
	enginetest.Want(t, "forced", report.Aborted, forced.Status)
	enginetest.Want(t, "the limit", &cleanup.LimitError{Limit: "empty collection", Collection: "posts"}, forced.Failures[0].Limit)
	enginetest.Want(t, "left", 2, len(left(t, f)))
	f.Set(t, "posts/p1", map[string]any{"n": 1})
	enginetest.Want(t, "the collection holds a document", report.Completed, f.Run(t, "").Status)
	enginetest.Want(t, "left", 0, len(left(t, f)))
}

// TestForcedPreviewShowsTheWholePlan: it is what the limit's message asks for.
func TestForcedPreviewShowsTheWholePlan(t *testing.T) {
	t.Parallel()
	f := newFunction(t, thingsJob(10))
	f.Env["MAX_ACTIONS"] = "2"
	seed(t, f, 25)
	tripped := f.Run(t, `{"dryRun":true}`)
	if tripped.Status != report.Aborted {
		t.Fatalf("report %+v", tripped)
	}
	line := f.Summaries(t)[0]
	enginetest.Want(t, "severity", "WARNING", line["severity"])
	if line["@type"] != nil {
		t.Errorf("@type: %v", line["@type"])
	}
	if line["problem"] == nil {
		t.Error("no problem")
	}
	if m := line["message"].(string); !strings.HasPrefix(m, "testJob aborted (dry run), nothing was deleted or changed: MAX_ACTIONS") ||
		!strings.Contains(m, "safety_limits.max_actions") || !strings.Contains(m, "firesweep plan testJob --force") {
		t.Errorf("message %q", m)
	}
	advised := regexp.MustCompile(`\{"dryRun":true,"force":true\}`).FindString(tripped.Failures[0].Error)
	got := f.Run(t, advised)
	enginetest.Want(t, "status", report.Completed, got.Status)
	enginetest.Want(t, "dry run", true, got.DryRun)
	enginetest.Want(t, "force", true, got.Force)
	enginetest.Want(t, "plan", 25, len(got.Plan))
	enginetest.Want(t, "delete thing", report.Counts{Planned: 25}, got.Actions["delete thing"])
	if len(left(t, f)) != 25 || len(f.Documents(t, "cleanupJobs")) != 0 {
		t.Error("a preview wrote something")
	}
}

func TestPartialAgainAndAgain(t *testing.T) {
	t.Parallel()
	f := thingsFunction(t, 2, 5)
	wall := start
	f.Clock = func() time.Time { return wall }
	f.Hooks.BeforeApply = func() { wall = wall.Add(f.Timeout) }
	alerts := func() []map[string]any {
		return slices.DeleteFunc(f.LogLines(t), func(line map[string]any) bool { return line["alert"] != "behind" })
	}
	for n := 1; n <= 4; n++ {
		got := f.Run(t, "")
		if got.Status != report.Partial || got.PartialRuns != n {
			t.Fatalf("run %d: %s, partial %d times", n, got.Status, got.PartialRuns)
		}
		if want := max(0, n-2); len(alerts()) != want {
			t.Fatalf("%d lines need a person after %d partial runs, want %d", len(alerts()), n, want)
		}
		f.Run(t, `{"dryRun":true}`) // counts for nothing
	}
	line := alerts()[0]
	if line["severity"] != "WARNING" || label(line, "runId") == nil || line["left"] != 5.0 ||
		!strings.Contains(line["message"].(string), "partial 3 times in a row, this time out of time after 5m0s, 5 planned actions left") {
		t.Errorf("line %v", line)
	}
	begins(t, f.Summaries(t)[0]["message"].(string), "testJob partial: out of time after 5m0s, 5 planned actions left; delete thing 0 of 5")
	f.Hooks.BeforeApply = nil
	if got := f.Run(t, ""); got.Status != report.Completed || got.PartialRuns != 0 {
		t.Errorf("report %+v", got)
	}
	f.Hooks.BeforeApply = func() { wall = wall.Add(f.Timeout) }
	seed(t, f, 1)
	enginetest.Want(t, "partial in a row after a run that completed", 1, f.Run(t, "").PartialRuns)
}

// TestStopTimeReached: a job that is given a time of its own is late as soon as it needs all of it.
func TestStopTimeReached(t *testing.T) {
	t.Parallel()
	f := newFunction(t, thingsJob(2))
	f.StopAfter = time.Minute
	seed(t, f, 3)
	wall := start
	f.Clock = func() time.Time { return wall }
	f.Hooks.BeforeApply = func() { wall = start.Add(time.Minute) }
	enginetest.Want(t, "status", report.Partial, f.Run(t, "").Status)
	enginetest.Want(t, "left", 3, len(left(t, f)))
	enginetest.Want(t, "alert", any("behind"), oneLine(t, f, "does not keep up")["alert"])
}

// TestLeaseThatNoRunCanHold: it is no run that will end; and the request that the message gives mends it.
func TestLeaseThatNoRunCanHold(t *testing.T) {
	t.Parallel()
	for name, record := range map[string]map[string]any{
		"for a century":    enginetest.Leased("testJob-x", start.AddDate(100, 0, 0)),
		"foreign":          {"until": "mine"},
		"wrong checkpoint": {"checkpoint": 7},
	} {
		f := thingsFunction(t, 10, 1)
		f.Set(t, "cleanupJobs/testJob", record)
		got := f.Run(t, "")
		if got.Status != report.Failed || len(got.Failures) != 1 {
			t.Fatalf("%s: %s %v, want failed", name, got.Status, got.Failures)
		}
		enginetest.Want(t, name+": left", 1, len(left(t, f)))
		if f.Documents(t, "cleanupRuns")[got.RunID] == nil {
			t.Errorf("%s: the report is not saved", name)
		}
		line := oneLine(t, f, "take lease cleanupJobs/testJob: failed, and so will every run until somebody fixes it")
		enginetest.Want(t, "severity", any("ERROR"), line["severity"])
		address := regexp.MustCompile(`'(http://[^']+)'`).FindStringSubmatch(got.Failures[0].Error)
		if address == nil {
			t.Fatalf("%s: no request in %q", name, got.Failures[0].Error)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, address[1], strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer owner")
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %s", name, address[1], resp.Status)
		}
		enginetest.Want(t, name+", mended: status", report.Completed, f.Run(t, "").Status)
		enginetest.Want(t, name+", mended: left", 0, len(left(t, f)))
	}
}

func TestOldScheduleTimeIsSaid(t *testing.T) {
	t.Parallel()
	for ago, want := range map[time.Duration]int{24 * time.Hour: 0, 24*time.Hour + time.Microsecond: 1, -24 * time.Hour: 0} {
		f := newFunction(t, thingsJob(10))
		f.Now = start.Add(-ago)
		f.Run(t, "")
		if lines := linesWith(t, f, "days ago"); len(lines) != want || want == 1 && lines[0]["severity"] != "WARNING" {
			t.Errorf("%s ago: %v, want %d lines", ago, lines, want)
		}
	}
}
