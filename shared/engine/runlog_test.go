package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
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
	enginetest.Want(t, "first run", report.Aborted, first.Status)
	f.Request.Clear()
	again := f.Run(t, "")
	enginetest.Want(t, "what the retry answers", first, again)
	enginetest.Want(t, "queries of the retry", 0, f.Request.Count("RunQuery"))
	enginetest.Want(t, "commits of the retry", 0, f.Request.Count("Commit"))
	runs := f.Documents(t, "cleanupRuns")
	enginetest.Want(t, "runs, and who holds the job", []any{1, ""}, []any{len(runs), enginetest.Holder(job(t, f))})
	enginetest.Want(t, "summaries, of which alerts are made: the preview's and the first run's", 2, len(f.Summaries(t))-lines)
	enginetest.Want(t, "severity", any("INFO"), oneLine(t, f, "is not planned again: run "+first.RunID)["severity"])

	if got := f.Run(t, `{"dryRun":true}`); got.RunID == first.RunID || got.Status != report.Aborted {
		t.Errorf("a preview is answered with %+v", got)
	}
	enginetest.Want(t, "forced", report.Completed, f.Run(t, `{"force":true}`).Status)
	enginetest.Want(t, "left", 0, len(left(t, f)))
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
	enginetest.Want(t, "status", report.Aborted, tripped.Status)
	line := f.Summaries(t)[0]
	enginetest.Want(t, "severity", "WARNING", line["severity"])
	enginetest.Want(t, "@type", nil, line["@type"])
	enginetest.Want(t, "no problem", false, line["problem"] == nil)
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
	enginetest.Want(t, "left by a preview", 25, len(left(t, f)))
	enginetest.Want(t, "records of a preview", 0, len(f.Documents(t, "cleanupJobs")))
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
		enginetest.Want(t, fmt.Sprint("run ", n), []any{report.Partial, n}, []any{got.Status, got.PartialRuns})
		enginetest.Want(t, fmt.Sprintf("lines that need a person after %d partial runs", n), max(0, n-2), len(alerts()))
		f.Run(t, `{"dryRun":true}`) // counts for nothing
	}
	line := alerts()[0]
	if line["severity"] != "WARNING" || label(line, "runId") == nil || line["left"] != 5.0 ||
		!strings.Contains(line["message"].(string), "partial 3 times in a row, this time out of time after 5m0s, 5 planned actions left") {
		t.Errorf("line %v", line)
	}
	begins(t, f.Summaries(t)[0]["message"].(string), "testJob partial: out of time after 5m0s, 5 planned actions left; delete thing 0 of 5")
	f.Hooks.BeforeApply = nil
	got := f.Run(t, "")
	enginetest.Want(t, "the run that completes", []any{report.Completed, 0}, []any{got.Status, got.PartialRuns})
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

// TestLeaseThatNoRunCanHold: it is no run that will end; and without the field that the message names, all is well.
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
		enginetest.Want(t, name+": no report is saved", false, f.Documents(t, "cleanupRuns")[got.RunID] == nil)
		line := oneLine(t, f, "take lease cleanupJobs/testJob: failed, and so will every run until somebody fixes it")
		enginetest.Want(t, "severity", any("ERROR"), line["severity"])
		named := regexp.MustCompile("the field ([a-z]+) of cleanupJobs/testJob").FindStringSubmatch(got.Failures[0].Error)
		if named == nil {
			t.Fatalf("%s: no field in %q", name, got.Failures[0].Error)
		}
		delete(record, named[1])
		f.Set(t, "cleanupJobs/testJob", record)
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

// TestIDsThatUsersWrote: an id that holds commands to a terminal, or turns texts around, is shown escaped wherever a person reads it
// in a sentence. The target is the id as it is, so that a command finds it.
func TestIDsThatUsersWrote(t *testing.T) {
	t.Parallel()
	const odd = "things/a\x1b[2J\u202eb\u200bc"
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		p.Fail(ctx, odd, "delete thing", errors.New("no luck with "+odd))
		p.Keep(ctx, odd, cleanup.Invalid("no date"), 1)
		p.Warn(ctx, "nobody knows "+odd)
		p.Count(cleanup.Count{Collection: odd, Looked: 100, Due: 100})
		return nil
	}})
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Aborted, map[string]report.Counts{})
	answer := httptest.NewRecorder()
	f.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody))
	enginetest.Want(t, "target", odd, got.Failures[len(got.Failures)-1].Target)
	harmful := regexp.MustCompile("[\x1b\u202e\u200b]")
	texts := append([]string{got.Problem(), answer.Body.String()}, got.Warnings...)
	for _, failure := range got.Failures {
		texts = append(texts, failure.Error)
	}
	for _, line := range f.LogLines(t) {
		for _, field := range []string{"message", "problem", "text"} {
			text, _ := line[field].(string)
			texts = append(texts, text)
		}
	}
	found := 0
	for _, text := range texts {
		enginetest.Want(t, "harm in "+text, false, harmful.MatchString(text))
		if regexp.MustCompile(`things/a\\x1b\[2J\\u202eb\\u200bc`).MatchString(text) {
			found++
		}
	}
	if found < 8 {
		all, _ := json.Marshal(texts)
		t.Errorf("%d texts name the id, want 8: %s", found, all)
	}
}

// TestNoticesOfOneItem has two items with 22 things to say each: the log has the first 20 of each, and the report counts all.
func TestNoticesOfOneItem(t *testing.T) {
	f := ruleFunction(t, ruleJob("boxes", cleanup.Rule[cleanup.Subject]{
		Name: "box", Load: cleanup.Itself, Reach: cleanup.Reach{Items: "boxes", Deletes: []string{"boxes"}},
		Judge: func(cleanup.Subject, cleanup.Run) cleanup.Decision { return cleanup.Do("delete box", "it is old") },
		Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
			c := cleanup.Change{Writes: []documents.Write{{Op: documents.Delete, Ref: s.Ref()}}}
			for i := range 22 {
				c.Notices = append(c.Notices, cleanup.Notice{
					Message: "a label is kept", Fields: map[string]any{"label": i}, Kept: map[string]int{"a label": 1},
				})
			}
			return c
		},
	}))
	want := map[string]int{}
	for _, id := range []string{"a", "b"} {
		f.Set(t, "boxes/"+id, old)
		for i := range 20 {
			want[fmt.Sprint("boxes/", id, " ", i)] = 1
		}
	}
	enginetest.Want(t, "kept", map[string]int{"a label": 44}, f.Run(t, "").Kept)
	said := map[string]int{}
	for _, line := range linesWith(t, f, "a label is kept") {
		said[fmt.Sprint(line["target"], " ", line["label"])]++
	}
	enginetest.Want(t, "warnings", want, said)
}

// TestWarningsOfTheRunBefore: what a run warns of as the last one did is one line that says so; what is new, or named otherwise, is
// said. A preview says all.
func TestWarningsOfTheRunBefore(t *testing.T) {
	undated, doubt := 1, "nobody ever wrote posts"
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		for i := range undated {
			p.Keep(ctx, fmt.Sprintf("things/%d", i), cleanup.Invalid("no date"), 1)
		}
		p.Keep(ctx, "things", cleanup.Invalid("no owner"), 7)
		p.Warn(ctx, doubt)
		return nil
	}})
	noDate, noOwner := "WARNING things/0: kept, no date", "WARNING 7 of things: kept, no owner"
	for _, tt := range []struct {
		night, body string
		change      func()
		want        []string
	}{
		{"the first", "", nil, []string{noDate, noOwner, "WARNING testJob: nobody ever wrote posts"}},
		{"the same", "", nil, []string{"INFO testJob: 3 warnings are the same as in the last run"}},
		{"again", "", nil, []string{"INFO testJob: 3 warnings are the same as in the last run"}},
		{"a preview", `{"dryRun":true}`, nil, []string{noDate, noOwner, "WARNING testJob: nobody ever wrote posts"}},
		{"one more", "", func() { undated = 2 }, []string{"WARNING things/0, things/1: kept, no date", "INFO testJob: 2 warnings are the same as in the last run"}},
		{"one less", "", func() { undated = 1 }, []string{noDate, "INFO testJob: 2 warnings are the same as in the last run"}},
		{"another doubt", "", func() { doubt = "nobody ever wrote circles" },
			[]string{"WARNING testJob: nobody ever wrote circles", "INFO testJob: 2 warnings are the same as in the last run"}},
		{"none of one", "", func() { undated = 0 }, []string{"INFO testJob: 2 warnings are the same as in the last run"}},
		{"it is back", "", func() { undated = 1 }, []string{noDate, "INFO testJob: 2 warnings are the same as in the last run"}},
	} {
		if tt.change != nil {
			tt.change()
		}
		got := f.Run(t, tt.body)
		var said []string
		for _, line := range f.LogLines(t) {
			message, whole := line["message"].(string), fmt.Sprint(line["warnings"])
			labels, _ := line["logging.googleapis.com/labels"].(map[string]any)
			if labels["runId"] != got.RunID || line["report"] != nil {
				continue
			}
			if all, same := line["warnings"].([]any); same {
				message = message[:len("testJob: 3 warnings are the same as in the last run")]
				same := fmt.Sprintf("testJob: %d warnings are the same as in the last run", len(all))
				enginetest.Want(t, tt.night+": of "+whole, same, message)
			}
			said = append(said, fmt.Sprint(line["severity"], " ", message))
		}
		enginetest.Want(t, tt.night+": the log says", tt.want, said)
	}
	enginetest.Want(t, "kept", 7, f.Run(t, "").Kept["no owner"])
}

// TestUnsureWritesAreLogged: what a commit wrote whose answer was lost is in the log, as unsure where nobody can look whether it took
// effect, and as written where the next attempt finds that it did.
func TestUnsureWritesAreLogged(t *testing.T) {
	for _, denied := range []bool{false, true} {
		f := thingsFunction(t, 3, 3)
		var lost atomic.Bool
		f.Hooks.Dial = append(f.Hooks.Dial, wire.Around(func(_ context.Context, _ string, sent, _ any, send func() error) error {
			commit, is := sent.(*firestorepb.CommitRequest)
			if is && strings.Contains(fmt.Sprint(commit.GetWrites()), "/things/") && lost.CompareAndSwap(false, true) {
				_ = send() // nobody is told
				return status.Error(codes.Unavailable, "the connection broke")
			}
			return send()
		}))
		f.Hooks.Dial = append(f.Hooks.Dial, wire.Before(func(_ context.Context, _ string, request any) error {
			if read, is := request.(*firestorepb.BatchGetDocumentsRequest); is && denied && strings.Contains(fmt.Sprint(read.GetDocuments()), "/cleanupUndo/") {
				return status.Error(codes.PermissionDenied, "you may not look")
			}
			return nil
		})...)
		want := map[bool]report.Status{false: report.Completed, true: report.Failed}[denied]
		enginetest.Want(t, "status", want, f.Run(t, "").Status)
		told := map[string]int{}
		for _, line := range f.LogLines(t) {
			writes, _ := line["writes"].([]any)
			for _, w := range writes {
				told[fmt.Sprint(w.(map[string]any)["op"], " ", w.(map[string]any)["unsure"])]++
			}
		}
		enginetest.Want(t, "told", map[string]int{map[bool]string{false: "delete <nil>", true: "delete true"}[denied]: 3}, told)
		enginetest.Want(t, "left", 0, len(left(t, f)))
	}
}

// announcingJob is thingsJob with lines of its own.
func announcingJob() cleanup.Job {
	job := thingsJob(10)
	job.Lines = &cleanup.Lines{
		Begun: "begun", Ended: "ended: deleted %d, changed %d, %d ms", Counted: [2]string{"delete things", "update things"},
		Canceled: "ended, canceled",
	}
	return job
}

// ownLines returns the lines of announcingJob.
func ownLines(t *testing.T, f *enginetest.Function) []string {
	t.Helper()
	lines := []string{}
	for _, line := range f.LogLines(t) {
		message := line["message"].(string)
		if message == "begun" || strings.HasPrefix(message, "ended") {
			lines = append(lines, message)
			if labels, _ := line["logging.googleapis.com/labels"].(map[string]any); line["severity"] != "INFO" || labels["runId"] == nil {
				t.Errorf("line %v", line)
			}
		}
	}
	return lines
}

func TestAnnouncedLines(t *testing.T) {
	done, canceled := []string{"begun", "ended: deleted 3, changed 0, 0 ms"}, []string{"begun", "ended, canceled"}
	for name, tt := range map[string]struct {
		body    string
		disturb func(t *testing.T, f *enginetest.Function, cancel func())
		want    []string
	}{
		"completed": {"", nil, done},
		"dry run":   {`{"dryRun":true}`, nil, []string{}},
		"skipped": {"", func(t *testing.T, f *enginetest.Function, _ func()) {
			f.Set(t, "cleanupJobs/testJob", enginetest.Leased("testJob-other", start.Add(time.Hour)))
		}, []string{}},
		"out of time": {"", func(_ *testing.T, f *enginetest.Function, _ func()) {
			late := lateClock(f)
			f.Hooks.BeforeApply = func() { late.Store(true) }
		}, []string{"begun", "ended: deleted 0, changed 0, 300000 ms"}},
		"canceled while planning": {"", func(_ *testing.T, _ *enginetest.Function, cancel func()) { cancel() }, canceled},
		"canceled while applying": {"", func(_ *testing.T, f *enginetest.Function, cancel func()) { f.Hooks.BeforeApply = cancel }, canceled},
		"canceled with nothing left undone": {"", func(t *testing.T, f *enginetest.Function, cancel func()) {
			for _, id := range left(t, f) {
				f.Delete(t, "things/"+id)
			}
			f.Hooks.BeforeApply = cancel
		}, []string{"begun", "ended: deleted 0, changed 0, 0 ms"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t, announcingJob())
			seed(t, f, 3)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.disturb != nil {
				tt.disturb(t, f, cancel)
			}
			f.PostQuery(ctx, t, "", tt.body)
			enginetest.Want(t, "the job's lines", tt.want, ownLines(t, f))
		})
	}
}
