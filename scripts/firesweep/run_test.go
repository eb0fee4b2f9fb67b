package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/engine/report"
)

func noSleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// deployedRun is a command on the functions that are deployed.
func deployedRun(args ...string) []string {
	return append([]string{"run", "--location", location}, args...)
}

func TestRunOfADeployedJob(t *testing.T) {
	t.Parallel()
	o, g := onGoogle(t)
	o.reports(t)
	out, errs := o.ends(t, exitFine, deployedRun("cleanupReports")...)
	want(t, "standard error", "cleanupReports: called; its report may take a minute or two to appear in the log\n", errs)
	wantParts(t, out, "cleanupReports: completed\n", "delete report        2     2        0       0", "there is nothing to do")
	want(t, "reports", 1, len(o.Documents(t, "reports")))
	once := g.name("cleanupReports-once-1768057200000")
	want(t, "calls", []string{"GET " + g.name("cleanupReports"), "POST " + strings.TrimSuffix(g.name(""), "/"),
		"POST " + once + ":run", "DELETE " + once}, g.calls)
	want(t, "bodies", []string{"{}"}, g.bodies)
	// It is made once, is due on a leap day, calls as the job's own does, and is never repeated.
	want(t, "the job that was made", []string{`{"attemptDeadline":"330s","httpTarget":{"body":"e30=","headers":{"Content-Type":"application/json"},` +
		`"httpMethod":"POST","oidcToken":{"audience":"https://cleanupreports-x.a.run.app","serviceAccountEmail":"` + schedulerEmail + `"},` +
		`"uri":"https://cleanupreports-x.a.run.app"},"name":"` + once + `","retryConfig":{"retryCount":0},"schedule":"0 0 29 2 *","timeZone":"UTC"}`}, g.made)
	want(t, "jobs of Cloud Scheduler", 2, len(g.jobs))
}

func TestPreviewOfDeployedJobs(t *testing.T) {
	t.Parallel()
	o, g := onGoogle(t)
	o.reports(t)
	g.behind = 10 * time.Minute // what is logged right after the call is found, although it is of an earlier time here
	before := o.everything(t)
	out, _ := o.ends(t, exitFine, deployedRun("--dry-run")...)
	wantParts(t, out, "cleanupReports: completed, plan only", "delete report  reports/old ", "kept 1: not older than 1 month",
		"cleanExpiredComped: completed, plan only")
	want(t, "bodies", []string{`{"dryRun":true}`, `{"dryRun":true}`}, g.bodies)
	want(t, "the project", before, o.everything(t))

	o.now = o.now.Add(time.Minute)
	o.other["MAX_ACTIONS"] = "none"
	out, _ = o.ends(t, exitFailed, deployedRun("cleanupReports")...)
	wantParts(t, out, "cleanupReports did not run: wrong configuration: MAX_ACTIONS")
	g.jobs = nil
	o.refuses(t, exitFailed, "no job is deployed in projects/", deployedRun("--dry-run")...)
}

func TestForcedRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, answer string
		args         []string
		code, left   int
		bodies       []string
	}{
		{"agreed to", "yes\n", nil, exitFine, 1, []string{`{"dryRun":true,"force":true}`, `{"force":true}`}},
		{"agreed to before", "", []string{"--yes"}, exitFine, 1, []string{`{"dryRun":true,"force":true}`, `{"force":true}`}},
		{"lifted by name as well", "yes\n", []string{"--lift", "empty:tasks,older:posts"}, exitFine, 1,
			[]string{`{"dryRun":true,"force":true,"lift":["empty:tasks","older:posts"]}`,
				`{"force":true,"lift":["empty:tasks","older:posts"]}`}},
		{"not agreed to", "y\n", nil, exitFailed, 3, []string{`{"dryRun":true,"force":true}`}},
		{"no answer", "", nil, exitFailed, 3, []string{`{"dryRun":true,"force":true}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := withReports(t, "MAX_ACTIONS=1")
			o.screen.in, o.in = true, tt.answer
			g := o.onGoogle(t)
			out, errs := o.ends(t, tt.code, deployedRun(append(tt.args, "--force", "cleanupReports")...)...)
			wantParts(t, out, "completed, plan only, forced", "reports/old ", "planned: 2 delete report")
			if asked := strings.Contains(errs, "without its safety limits? 2 actions. Type yes: "); asked != !slices.Contains(tt.args,
				"--yes") {
				t.Errorf("asked %t: %s", asked, errs)
			}
			want(t, "bodies", tt.bodies, g.bodies)
			want(t, "reports", tt.left, len(o.Documents(t, "reports")))
			want(t, "jobs of Cloud Scheduler", 2, len(g.jobs))
		})
	}
}

func TestRunLocally(t *testing.T) {
	t.Parallel()
	o := withReports(t, "MAX_ACTIONS=1")
	local := []string{"run", "--local", "--url", o.serve(t), "cleanupReports"}
	out, _ := o.ends(t, exitFailed, local...)
	wantParts(t, out, "A safety limit tripped: nothing was deleted or changed")
	wantParts(t, o.well(t, append(local, "--dry-run", "--force")...), "planned: 2 delete report")
	out, errs := o.ends(t, exitFine, append(local, "--force", "--yes", "--json")...)
	runs := parsed[struct{ Runs []ran }](t, out).Runs
	want(t, "runs", 1, len(runs))
	want(t, "status", report.Completed, runs[0].Report.Status)
	want(t, "done", 2, runs[0].Report.Actions["delete report"].Done)
	wantParts(t, errs, "plan only, forced", "reports/old ") // the plan is shown, and is not in the way of a program
}

// TestRunThatCannotBeMade: each step fails, and says what failed; no temporary job is left.
func TestRunThatCannotBeMade(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		fails  func(r *http.Request) bool
		status int
		want   string
		left   int // jobs of Cloud Scheduler
	}{
		{"not deployed", func(r *http.Request) bool { return r.Method == http.MethodGet }, 404, "is it deployed there?", 2},
		{"not to be read", func(r *http.Request) bool { return r.Method == http.MethodGet }, 403,
			"read the job cleanupReports of Cloud Scheduler: 403: it was made to fail", 2},
		{"not to be made", func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/jobs") }, 403,
			"act as " + schedulerEmail + "): 403", 2},
		{"not to be run", func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, ":run") }, 403,
			"run the job cleanupReports-once-", 2},
		{"log not to be read", func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, ":list") }, 403,
			"it needs roles/logging.viewer", 2},
		{"not to be deleted", func(r *http.Request) bool { return r.Method == http.MethodDelete }, 403,
			"delete it by hand: gcloud scheduler jobs delete projects/", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, g := onGoogle(t)
			g.fail = func(r *http.Request) int {
				if tt.fails(r) {
					return tt.status
				}
				return 0
			}
			o.screen.width = 2000
			out, _ := o.ends(t, exitFailed, deployedRun("cleanupReports")...)
			wantParts(t, out, tt.want)
			want(t, "jobs of Cloud Scheduler", tt.left, len(g.jobs))
		})
	}
}

func TestRunThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	o, g := onGoogle(t)
	g.unseen = 1000
	var waited time.Duration
	o.sleep = func(ctx context.Context, d time.Duration) error { waited += d; o.now = o.now.Add(d); return ctx.Err() }
	out, _ := o.ends(t, exitFailed, deployedRun("cleanupReports")...)
	want(t, "waited, the attempt deadline and a minute", 390*time.Second, waited)
	wantParts(t, out, "no report of cleanupReports appeared in the log within 6m30s")
	want(t, "jobs of Cloud Scheduler", 2, len(g.jobs))
}

func TestRunThatIsInterrupted(t *testing.T) {
	t.Parallel()
	o, g := onGoogle(t)
	ctx, cancel := context.WithCancel(t.Context())
	a, out, errs := o.app()
	a.sleep = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
	if code := a.run(ctx, deployedRun("cleanupReports")); code != exitInterrupted || out.Len() > 0 {
		t.Errorf("exit code %d, %s", code, out)
	}
	wantParts(t, errs.String(), "interrupted: wait for cleanupReports, which keeps running: see firesweep runs cleanupReports")
	want(t, "jobs of Cloud Scheduler", 2, len(g.jobs))
}

func TestFilter(t *testing.T) {
	t.Parallel()
	entry := map[string]any{"a": "x", "b": map[string]any{"c": true, "m": "It did not run"}, "t": "2026-01-10T15:00:00Z"}
	for text, holds := range map[string]bool{
		`a="x"`: true, `a="y"`: false, `b.c=true`: true, `b.d=true`: false, `b.m:("nope" OR "did not RUN")`: true, `b.d:*`: false,
		`b.c:*`:                     true,
		`t>="2026-01-10T15:00:00Z"`: true, `t>="2026-01-10T15:00:00.1Z"`: false, `a="y" OR (a="x" AND b.c=true)`: true,
	} {
		if f, err := parseFilter(text); err != nil || f(entry) != holds {
			t.Errorf("%s: %v, want %t", text, err, holds)
		}
	}
	for _, text := range []string{"", `a=x`, `a="x" AND b="y" OR c="z"`, `a="x" OR b="y" AND c="z"`, `(a="x"`, `a="x")`, `a<"x"`, `a:("x" AND "y")`,
		`a="x" b="y"`, `"x"`} {
		if _, err := parseFilter(text); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
