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
)

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
	o := newOperator(t)
	g := onGoogle(t, o)
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
	o := newOperator(t)
	g := onGoogle(t, o)
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
	s.app = a
	s.print(a.printer())
	wantParts(t, printed.String(), "firesweep resume --project "+o.ID+" --location "+location+" --tasks-location europe-west1 --all")
}

// TestPauseDoesTheRest: what cannot be paused keeps nothing else from it, and is said.
func TestPauseDoesTheRest(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	g := onGoogle(t, o)
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
