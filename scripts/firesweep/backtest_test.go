package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// used puts reports into the project, and returns when they were all due; one is used since, and one deleted.
func (o *operator) used(t *testing.T) (at string) {
	t.Helper()
	o.now = time.Now().UTC().Truncate(time.Microsecond)
	due := map[string]any{"status": "reviewed", "createdAt": o.now.AddDate(-1, 0, 0)}
	for _, id := range []string{"due", "gone", "used"} {
		o.Set(t, "reports/"+id, due)
	}
	at = o.readAt(t).Format(time.RFC3339Nano)
	o.now = time.Now().UTC().Add(time.Second)
	o.Delete(t, "reports/gone")
	o.Set(t, "reports/used", map[string]any{"status": "open", "createdAt": due["createdAt"]})
	return at
}

// readAt returns when the database is read, by its own clock.
func (o *operator) readAt(t *testing.T) time.Time {
	t.Helper()
	f, err := readPlan(o.approved(t))
	ok(t, err)
	return f.Plans["cleanupReports"].Made
}

// TestBacktest of a job, and of all: those that cannot be planned as of an earlier time are named, and why.
func TestBacktest(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	at := o.used(t)
	before := o.everything(t)
	out, errs := o.ends(t, exitFine, "backtest", "--at", at, "cleanupReports")
	wantParts(t, errs, "cleanupReports: reads about as much as a plan does, and each one that was due once more; 1,000,000 at most (--max-reads)\n")
	text := oneLine(out)
	wantParts(t, text, "Of 3 documents that cleanupReports would have cleaned up on "+o.now.Format("2 January 2006")+
		", 1 would be kept today, touched since: 33.33 %.", "Gone since, so nobody can tell whether they were missed: 1", "reports/used "+time.Now().UTC().Format("2006-01-02 "))
	want(t, "the project", before, o.everything(t))

	out, _ = o.ends(t, exitFine, "backtest", "--json", "--at", at, "cleanupReports")
	b := parsed[struct{ Backtests []backtested }](t, out).Backtests[0]
	want(t, "kept, gone, written", []int{3, 1, 1, 0}, []int{b.Planned, len(b.Kept), b.Gone, b.Written})
	want(t, "target", "reports/used", b.Kept[0].Target)
	if used := b.Kept[0].Used; time.Since(used) > time.Hour {
		t.Errorf("it was last used at %s", used)
	}

	out, _ = o.ends(t, exitFine, "backtest", "--json", "--at", at)
	skipped := map[string]string{}
	for _, b := range parsed[struct{ Backtests []backtested }](t, out).Backtests {
		skipped[b.Job] = b.Skipped
	}
	want(t, "jobs", len(scheduled()), len(skipped))
	want(t, "files", "it goes through files, and Cloud Storage cannot be read as it was", skipped["cleanupOrphanedMedia"])
	want(t, "documents", "", skipped["cleanupReports"])

	report := o.called(t, "cleanupReports", "")
	out, errs = o.ends(t, exitFailed, "backtest", "--max-reads", "1", "--at", at, "cleanupReports")
	wantParts(t, errs, fmt.Sprintf("reads some %d documents, as its last run did", report.Usage.FirestoreReads))
	wantParts(t, out, "nothing can be said: it has read as many documents as it may")
	wantNone(t, out, "emulator")
}

// TestBacktestOnAnEmulatorThatKeepsNothing: the answer to what is asked as of then says nothing, so the message says why.
func TestBacktestOnAnEmulatorThatKeepsNothing(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	at := o.used(t)
	o.running.Dial = queried(func(string) error { return status.Error(codes.Unknown, "") })
	out, _ := o.ends(t, exitFailed, "backtest", "--at", at, "cleanupReports")
	wantParts(t, oneLine(out), "code = Unknown desc = (Firestore is an emulator here, which keeps no history that one can rely on)")
}

// TestBacktestTime: Firestore takes whole minutes of what is older than an hour.
func TestBacktestTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 10, 15, 4, 5, 678_000_000, time.UTC)
	for text, want := range map[string]string{
		"": "2026-01-03T16:04:00Z", "-1h": "2026-01-10T14:04:05.678Z", "-61m": "2026-01-10T14:03:00Z", "-50m": "2026-01-10T14:14:05.678Z",
		"2026-01-09T01:02:03Z": "2026-01-09T01:02:00Z",
	} {
		got, err := backtestFlags{days: 7, at: text, maxReads: 1}.then(at)
		if err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q: %s, %v, want %s", text, got.Format(time.RFC3339Nano), err, want)
		}
	}
}

// previewed has cleanupReports preview what is due on Google ten days ago, of which the emulator keeps no history either, and
// returns when, and the log. Of three reports one is used since, and one deleted.
func (o *operator) previewed(t *testing.T, env map[string]string, change func(line map[string]any)) (at time.Time, g *google) {
	t.Helper()
	at = time.Now().UTC().AddDate(0, 0, -10).Truncate(time.Second)
	o.now = at.Add(-time.Minute)
	due := map[string]any{"status": "reviewed", "createdAt": at.AddDate(-1, 0, 0)}
	for _, id := range []string{"due", "gone", "used"} {
		o.Set(t, "reports/"+id, due)
	}
	g = o.onGoogle(t)
	g.unseen = 0
	maps.Copy(o.other, env)
	o.function("cleanupReports").ServeHTTP(answer(t, `{"dryRun":true}`))
	g.takeLog()
	for _, entry := range g.entries {
		if r, summary := entry["jsonPayload"].(map[string]any)["report"].(map[string]any); summary && change != nil {
			change(r)
		}
	}
	for name, value := range o.other { // the database is an emulator all the same
		o.env[name+"_cleanupReports"] = value
	}
	o.now = time.Now().UTC()
	o.Delete(t, "reports/gone")
	o.Set(t, "reports/used", map[string]any{"status": "open", "createdAt": due["createdAt"]})
	o.Set(t, "reports/later", due)
	return at, g
}

// TestBacktestOfAPreview: where Firestore keeps no history, the plan is the one that a preview logged.
func TestBacktestOfAPreview(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	made, _ := o.previewed(t, nil, nil)
	before := o.everything(t)
	out, _ := o.ends(t, exitFine, "backtest", "--at", made.Add(20*time.Hour).Format(time.RFC3339), "cleanupReports")
	text := oneLine(out)
	wantParts(t, text, "as the preview cleanupReports-", "Of 3 documents that cleanupReports would have cleaned up on "+
		made.Add(-time.Minute).Format("2 January 2006")+", 1 would be kept today, touched since: 33.33 %.",
		"Gone since, so nobody can tell whether they were missed: 1", "reports/used")
	wantNone(t, text, "not the whole plan")
	want(t, "the project", before, o.everything(t))

	out, _ = o.ends(t, exitFine, "backtest", "--json", "--at", made.Format(time.RFC3339), "cleanupReports")
	b := parsed[struct{ Backtests []backtested }](t, out).Backtests[0]
	want(t, "planned, kept, gone, written", []int{3, 1, 1, 1}, []int{b.Planned, len(b.Kept), b.Gone, b.Written}) // by the emulator's clock
	want(t, "target", "reports/used", b.Kept[0].Target)
	want(t, "at", made.Add(-time.Minute), b.At)
}

// TestBacktestBeforeAFailedPreview takes the one before, which completed.
func TestBacktestBeforeAFailedPreview(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	made, g := o.previewed(t, nil, nil)
	for _, entry := range slices.Clone(g.entries) {
		if r, summary := entry["jsonPayload"].(map[string]any)["report"].(map[string]any); summary {
			failed := maps.Clone(r)
			failed["status"], failed["plan"] = "failed", nil
			g.entries = append(g.entries, map[string]any{"timestamp": made.Format(time.RFC3339Nano), "resource": entry["resource"],
				"jsonPayload": map[string]any{"report": failed}})
		}
	}
	out, _ := o.ends(t, exitFine, "backtest", "--at", made.Add(time.Hour).Format(time.RFC3339), "cleanupReports")
	wantParts(t, oneLine(out), "Of 3 documents that cleanupReports would have cleaned up")
	wantNone(t, out, "not the whole plan")
}

// TestBacktestOfACutPreview counts what the report holds, and says that there was more.
func TestBacktestOfACutPreview(t *testing.T) {
	t.Parallel()
	for why, tt := range map[string]struct {
		env    map[string]string
		change func(report map[string]any)
		want   string
	}{
		"a safety limit": {map[string]string{"MAX_ACTIONS": "1"}, nil, "the preview ended aborted, and its report holds 2 of the 2 items that it had found"},
		"a log line's length": {nil, func(r map[string]any) { r["plan"] = r["plan"].([]any)[:2] },
			"the preview ended completed, and its report holds 2 of the 3 items that it had found"},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t)
			made, _ := o.previewed(t, tt.env, tt.change)
			out, _ := o.ends(t, exitFine, "backtest", "--at", made.Format(time.RFC3339), "cleanupReports")
			wantParts(t, oneLine(out), "not the whole plan: "+tt.want, "Of 2 documents that cleanupReports")
		})
	}
}

// TestBacktestWithoutHistory guesses nothing.
func TestBacktestWithoutHistory(t *testing.T) {
	t.Parallel()
	for why, tt := range map[string]struct {
		after  time.Duration // the preview
		change func(report map[string]any)
		fail   int
		want   string
	}{
		"a preview of another day":      {26 * time.Hour, nil, 0, "the log has no preview of the day before"},
		"a preview that was later":      {-time.Hour, nil, 0, "the log has no preview of the day before"},
		"a preview of another database": {0, func(r map[string]any) { r["database"] = "eu" }, 0, "the log has no preview of the day before"},
		"no preview":                    {0, func(r map[string]any) { r["dryRun"] = false }, 0, "the log has no preview of the day before"},
		"a preview of a plan file": {0, func(r map[string]any) { r["approved"] = map[string]any{"items": 1, "fellAway": 0} }, 0,
			"the log has no preview of the day before"},
		"a preview without its plan":   {0, func(r map[string]any) { delete(r, "plan") }, 0, "holds 0 of the 3 items"},
		"a log that is not to be read": {0, nil, http.StatusForbidden, "it needs roles/logging.viewer"},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t)
			made, _ := o.previewed(t, nil, tt.change)
			at := made.Add(tt.after).Format(time.RFC3339)
			if tt.fail != 0 {
				refuse := o.google
				o.google = func(ctx context.Context, service, project string) []option.ClientOption {
					return append(refuse(ctx, service, project), option.WithEndpoint(refusing(t, tt.fail)))
				}
			}
			out, _ := o.ends(t, exitFailed, "backtest", "--at", at, "cleanupReports")
			wantParts(t, oneLine(out), "nothing can be said: Firestore does not keep what was there", tt.want, "--enable-pitr")
			wantNone(t, out, "Of ")
		})
	}
}

// TestBacktestOfAPreviewByOtherRules: what no rule judges any more is no figure.
func TestBacktestOfAPreviewByOtherRules(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(planned map[string]any){
		"planned to delete report letters/a by the rule \"document\", and cleanupReports has none that judges such a document now": func(p map[string]any) {
			p["target"] = "letters/a"
		},
		"it is of an earlier version, whose previews do not name rules": func(p map[string]any) { delete(p, "rule") },
	} {
		o := newOperator(t)
		made, _ := o.previewed(t, nil, func(r map[string]any) { change(r["plan"].([]any)[1].(map[string]any)) })
		out, _ := o.ends(t, exitFailed, "backtest", "--at", made.Format(time.RFC3339), "cleanupReports")
		wantParts(t, oneLine(out), want)
	}
}

// refusing returns the address of a server that refuses all.
func refusing(t *testing.T, status int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(server.Close)
	return server.URL + "/"
}
