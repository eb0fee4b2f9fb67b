package main

import (
	"strings"
	"testing"
	"time"
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
	if err != nil {
		t.Fatal(err)
	}
	return f.Plans[0].Made
}

func TestBacktestOfAJob(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	at := o.used(t)
	before := o.everything(t)
	out, errs := o.ends(t, exitFine, "backtest", "--at", at, "cleanupReports")
	wantParts(t, errs, "cleanupReports: reads about as much as a plan does, and each one that was due once more; 1,000,000 at most (--max-reads)\n")
	text := strings.Join(strings.Fields(out), " ")
	wantParts(t, text, "Of 3 documents that cleanupReports would have deleted on "+o.now.Format("2 January 2006")+
		", 1 was touched since and would be kept: 33.33 %.", "gone since, so nobody can tell whether they were missed: 1", "reports/used status")
	want(t, "the project", before, o.everything(t))

	out, _ = o.ends(t, exitFine, "backtest", "--json", "--at", at, "cleanupReports")
	b := parsed[struct{ Backtests []backtested }](t, out).Backtests[0]
	want(t, "kept, gone, written", []int{3, 1, 1, 0}, []int{b.Planned, len(b.Kept), b.Gone, b.Written})
	want(t, "target", "reports/used", b.Kept[0].Target)
	want(t, "fields", []string{"status"}, b.Kept[0].Fields)

	out, _ = o.ends(t, exitFailed, "backtest", "--max-reads", "1", "--at", at, "cleanupReports")
	wantParts(t, out, "nothing can be said: it has read as many documents as it may")
}

// TestBacktestOfAllJobs names those that cannot be planned as of an earlier time, and why.
func TestBacktestOfAllJobs(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	at := o.used(t)
	out, _ := o.ends(t, exitFine, "backtest", "--json", "--at", at)
	skipped := map[string]string{}
	for _, b := range parsed[struct{ Backtests []backtested }](t, out).Backtests {
		skipped[b.Job] = b.Skipped
	}
	want(t, "jobs", len(scheduled()), len(skipped))
	want(t, "files", "it goes through files, and Cloud Storage cannot be read as it was", skipped["cleanupOrphanedMedia"])
	want(t, "documents", "", skipped["cleanupReports"])
}

func TestBacktestWrongUse(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	for why, args := range map[string][]string{
		"--days must be 1 or more":                   {"--days", "0"},
		"not in the past":                            {"--at", "+1h"},
		`--at is "soon"`:                             {"--at", "soon"},
		"--max-reads not negative":                   {"--max-reads", "-1"},
		"--days and --at contradict":                 {"--days", "2", "--at", "-1h"},
		"cleanupOrphanedMedia has no backtest: it g": {"cleanupOrphanedMedia"},
	} {
		o.refuses(t, exitWrongUse, why, append([]string{"backtest"}, args...)...)
	}
}

// TestBacktestTime: Firestore takes whole minutes of what is older than an hour.
func TestBacktestTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 10, 15, 4, 5, 678_000_000, time.UTC)
	for text, want := range map[string]string{
		"": "2026-01-03T16:04:00Z", "-1h": "2026-01-10T14:04:05.678Z", "-61m": "2026-01-10T14:03:00Z", "-50m": "2026-01-10T14:14:05.678Z",
		"2026-01-09T01:02:03Z": "2026-01-09T01:02:00Z",
	} {
		got, err := backtestFlags{days: 7, at: text}.then(at)
		if err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q: %s, %v, want %s", text, got.Format(time.RFC3339Nano), err, want)
		}
	}
}
