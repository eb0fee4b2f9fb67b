package main

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/manifest"
)

// underWayRun has a run of cleanupReports hold its lease, and returns its id.
func (o *operator) underWayRun(t *testing.T) string {
	t.Helper()
	runID := "cleanupReports-20260110T145900Z-0123abcd"
	o.Set(t, "cleanupJobs/cleanupReports", enginetest.Leased(runID, o.now.Add(5*time.Minute)))
	return runID
}

// ended saves the report of a run and gives its lease back.
func (o *operator) ended(t *testing.T, runID, status string) {
	t.Helper()
	report := map[string]any{
		"job": "cleanupReports", "runId": runID, "status": status, "stopped": status == "partial", "startedAt": o.now, "now": o.now,
		"actions": map[string]any{"delete report": map[string]any{"planned": 3, "done": 1}},
	}
	o.Set(t, "cleanupRuns/"+runID, report)
	o.Set(t, "cleanupJobs/cleanupReports", map[string]any{"lastReport": report})
}

// TestStop stops a run that sees the mark while it is waited for, and takes back what it had done.
func TestStop(t *testing.T) {
	t.Parallel()
	o := newOperator(t, "UNDO_DAYS=7")
	o.Set(t, "reports/a", map[string]any{"status": "reviewed", "createdAt": o.now.AddDate(0, -2, 0)})
	before := o.called(t, "cleanupReports", "") // what it did stands for what the stopped run had done
	runID := o.underWayRun(t)
	for id, entry := range o.Documents(t, "cleanupRuns/"+before.RunID+"/cleanupUndo") {
		o.Set(t, "cleanupRuns/"+runID+"/cleanupUndo/"+id, entry)
	}
	var marks []any
	o.sleep = func(context.Context, time.Duration) error {
		o.now = o.now.Add(time.Second)
		marks = append(marks, o.Documents(t, "cleanupJobs")["cleanupReports"]["stop"])
		if len(marks) == 3 {
			o.ended(t, runID, "partial")
		}
		return nil
	}
	out := o.well(t, "stop", "cleanupReports")
	wantParts(t, out, "Run "+runID+" has been told to stop.", "cleanupReports: partial, stopped",
		"It was stopped. The next run continues from there.",
		"\n    firesweep undo "+runID+"\n", "\n    firesweep pause --location REGION cleanupReports\n")
	wantNarrow(t, out, defaultWidth)
	want(t, "marks", []any{runID, runID, runID}, marks)

	o.refuses(t, exitFailed, "no run of cleanupReports is under way. The last one, "+runID+", started at", "stop", "cleanupReports")
	wantParts(t, o.well(t, "undo", "--yes", "0123abcd"), "1 thing came back.")
	if o.Documents(t, "reports")["a"] == nil {
		t.Error("it did not come back")
	}
}

// TestOrderToStopByAClockThatIsOff: pause and stop write the mark also where nobody seems to be at work by the operator's clock, but
// not where nobody holds the lease.
func TestOrderToStopByAClockThatIsOff(t *testing.T) {
	t.Parallel()
	o, _ := onGoogle(t)
	maps.Copy(o.env, o.other)
	job := scheduled()[slices.IndexFunc(scheduled(), func(e manifest.Entry) bool { return e.Name == "cleanupReports" })]
	runID := o.underWayRun(t)
	held := enginetest.Leased(runID, o.now.Add(-time.Hour))
	for _, c := range []struct {
		record map[string]any
		mark   any
	}{{held, runID}, {enginetest.From("m"), nil}} {
		for _, way := range []string{"pause", "stop"} {
			o.Set(t, "cleanupJobs/cleanupReports", c.record)
			a, _ := o.loaded(t)
			if s := (switching{app: a, pause: true}); way == "pause" {
				s.stopRun(t.Context(), job)
				want(t, "rows", c.mark != nil, len(s.done) == 1 && !s.failed())
			} else {
				_ = a.stop(t.Context(), job) // what it says, others test
			}
			want(t, way+": mark", c.mark, o.Documents(t, "cleanupJobs")["cleanupReports"]["stop"])
		}
	}
}

// TestStopOfARunThatDies: its lease ends, and nobody waits any longer.
func TestStopOfARunThatDies(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	runID := o.underWayRun(t)
	o.sleep = func(_ context.Context, d time.Duration) error {
		o.now = o.now.Add(100 * d)
		return nil
	}
	out, errs := o.ends(t, exitFailed, "stop", "cleanupReports")
	want(t, "guesses", 1, strings.Count(oneLine(errs),
		"has not ended within 30s. It may have been killed"))
	wantParts(t, out, "ended without a report", "There is nothing to take back")
	o.refuses(t, exitFailed, "run "+runID+" of cleanupReports is dead", "stop", "cleanupReports")
}

// TestStopRefuses: what is not there to be stopped.
func TestStopRefuses(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.Set(t, "cleanupJobs/cleanExpiredComped", map[string]any{"until": 7})
	o.Set(t, "cleanupJobs/cleanupBannedUsers", enginetest.Leased("undo-cleanupBannedUsers-20260110T145900Z-0123abcd", o.now.Add(time.Minute)))
	for job, why := range map[string]string{
		"cleanupReports":     "no run of cleanupReports is under way: see firesweep runs cleanupReports",
		"cleanExpiredComped": "the field until of cleanupJobs/cleanExpiredComped is not one",
		"cleanupBannedUsers": "interrupt that firesweep undo where it runs",
	} {
		o.refuses(t, exitFailed, why, "stop", job)
	}
	for job, record := range o.Documents(t, "cleanupJobs") {
		if _, marked := record["stop"]; marked {
			t.Errorf("%s is marked", job)
		}
	}
}

// TestStopIsInterrupted: the run stops nevertheless, and that is said.
func TestStopIsInterrupted(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	runID := o.underWayRun(t)
	ctx, cancel := context.WithCancel(t.Context())
	o.sleep = func(context.Context, time.Duration) error {
		cancel()
		return context.Canceled
	}
	a, _, errs := o.app()
	if code := a.run(ctx, []string{"stop", "cleanupReports"}); code != exitInterrupted || !strings.Contains(errs.String(),
		runID+" stops nevertheless") {
		t.Errorf("%d, %s", code, errs)
	}
	want(t, "mark", any(runID), o.Documents(t, "cleanupJobs")["cleanupReports"]["stop"])
	wantParts(t, o.well(t, "runs", "cleanupReports"), "under way", "was told to")
}

// onQueues has Cloud Tasks hold queues, and returns their states, which pausing and resuming change.
func (g *google) onQueues(names ...string) map[string]string { return g.onQueuesIn(location, names...) }

// onQueuesIn does so in a region.
func (g *google) onQueuesIn(region string, names ...string) map[string]string {
	states := map[string]string{}
	parent := "/v2/projects/" + g.o.ID + "/locations/" + region + "/queues"
	g.extra[parent] = func(url.Values) any {
		var queues []any
		for _, name := range slices.Sorted(maps.Keys(states)) {
			queues = append(queues, map[string]any{"name": parent[len("/v2/"):] + "/" + name, "state": states[name]})
		}
		return map[string]any{"queues": queues}
	}
	for _, name := range names {
		states[name] = running
		for verb, state := range map[string]string{"pause": paused, "resume": running} {
			g.extra[parent+"/"+name+":"+verb] = func(url.Values) any {
				states[name] = state
				return map[string]any{}
			}
		}
	}
	return states
}

// states returns the states of the jobs of Cloud Scheduler.
func (g *google) states() map[string]string {
	states := map[string]string{}
	for name, job := range g.jobs {
		states[name[strings.LastIndexByte(name, '/')+1:]] = job["state"].(string)
	}
	return states
}

// deployedRun has a run of cleanupReports be under way on Google, which ends when it sees that it is to stop.
func (o *operator) deployedRun(t *testing.T) string {
	t.Helper()
	maps.Copy(o.env, o.other) // the database is an emulator all the same
	runID := o.underWayRun(t)
	o.sleep = func(context.Context, time.Duration) error {
		if o.Documents(t, "cleanupJobs")["cleanupReports"]["stop"] == runID {
			o.ended(t, runID, "partial")
		}
		return nil
	}
	return runID
}

// TestPauseAndResume: one command switches everything off, and one on again, and queues of others are left alone.
func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	o, g := onGoogle(t)
	g.jobs[g.name("somebody-elses")] = map[string]any{"name": g.name("somebody-elses"), "state": "ENABLED"}
	queues := g.onQueues("deletePlaceholderUser", "cleanupReports-continue-2", "firesweep-continue", "mails", "reports")
	s := switching{pause: true, all: true, jobs: scheduled(),
		project: o.ID, location: location, tasks: location}
	runID := o.deployedRun(t)
	a, out := o.loaded(t)
	s.app = a
	s.do(t.Context())
	s.print(a.printer())
	wantParts(t, out.String(), "job    cleanupReports", "queue  deletePlaceholderUser", runID, "ended partial, stopped", `["all"]`,
		"firesweep resume --project "+o.ID+" --location asia-northeast1 --all")
	want(t, "jobs", map[string]string{"cleanupReports": paused, "cleanExpiredComped": paused, "somebody-elses": enabled}, g.states())
	want(t, "queues", map[string]string{
		"deletePlaceholderUser": paused, "cleanupReports-continue-2": paused, "firesweep-continue": paused, "mails": running,
		"reports": running}, queues)
	if s.failed() {
		t.Errorf("%+v", s.done)
	}

	o.env = map[string]string{"GOOGLE_CLOUD_PROJECT": o.ID}
	wantParts(t, o.well(t, "resume", "--location", location, "cleanupReports"), "resumed", "terraform apply pauses again")
	want(t, "jobs", map[string]string{"cleanupReports": enabled, "cleanExpiredComped": paused, "somebody-elses": enabled},
		g.states())
	want(t, "queues", map[string]string{
		"deletePlaceholderUser": paused, "cleanupReports-continue-2": running, "firesweep-continue": paused, "mails": running,
		"reports": running}, queues)
	all := parsed[struct{ Switched []switched }](t, o.well(t, "resume", "--json", "--location", location, "--all")).Switched
	if !slices.Contains(all, switched{What: "job", Name: "cleanupReports", Did: "was not paused"}) ||
		!slices.Contains(all, switched{What: "queue", Name: "firesweep-continue", Did: "resumed"}) {
		t.Errorf("%+v", all)
	}
}

// TestQueuesElsewhere: queues in another region than the jobs are found where --tasks-location says, and only there.
func TestQueuesElsewhere(t *testing.T) {
	t.Parallel()
	o, g := onGoogle(t)
	here, there := g.onQueues("mails"), g.onQueuesIn("europe-west1", "cleanupReports-continue")
	there["cleanupReports-continue"] = paused
	wantParts(t, o.well(t, "resume", "--location", location, "--all"), "none in "+location, "--tasks-location")
	want(t, "queues elsewhere", map[string]string{"cleanupReports-continue": paused}, there)
	out := o.well(t, "resume", "--location", location, "--tasks-location", "europe-west1", "--all")
	wantParts(t, out, "cleanupReports-continue  resumed")
	want(t, "queues elsewhere", map[string]string{"cleanupReports-continue": running}, there)
	want(t, "queues", map[string]string{"mails": running}, here)

	s := switching{pause: true, all: true,
		project: o.ID, location: location, tasks: "europe-west1"}
	a, printed, _ := o.app()
	a.rulesFlag = "shop rules.json"
	s.app = a
	s.print(a.printer())
	wantParts(t, printed.String(), "firesweep resume --project "+o.ID+" --location "+location+" --tasks-location europe-west1 --rules 'shop rules.json' --all")
}

// TestPauseDoesTheRest: what cannot be paused keeps nothing else from it, and is said.
func TestPauseDoesTheRest(t *testing.T) {
	t.Parallel()
	o, g := onGoogle(t)
	queues := g.onQueues("firesweep-continue")
	g.fail = func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, "/jobs") || strings.HasSuffix(r.URL.Path, "/jobs/cleanupReports:resume") {
			return http.StatusForbidden
		}
		return 0
	}
	out, _ := o.ends(t, exitFailed, "resume", "--location", location, "--all")
	wantParts(t, out, "FAILED", "403: it\n")
	queues["firesweep-continue"] = paused
	g.fail = nil
	out, _ = o.ends(t, exitFailed, "resume", "--location", location, "cleanupResolvedInquiries")
	wantParts(t, out, "See --location")
	want(t, "queues", map[string]string{"firesweep-continue": paused}, queues)
}
