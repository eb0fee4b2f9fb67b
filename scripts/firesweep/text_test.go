package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/api/logging/v2"

	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/usage"
)

// TestStatusWords: what is special about a run is said in a table in few words, and of one run in all.
func TestStatusWords(t *testing.T) {
	t.Parallel()
	for few, tt := range map[string]struct {
		full string
		report.Report
	}{
		"completed":             {"completed", report.Report{Status: report.Completed, PartialRuns: 1}},
		"partial (2), stopped":  {"partial (2 in a row), stopped", report.Report{Status: report.Partial, PartialRuns: 2, Stopped: true}},
		"partial, continues":    {"partial, continues at once", report.Report{Status: report.Partial, Continued: true}},
		"completed, plan":       {"completed, plan only", report.Report{Status: report.Completed, DryRun: true}},
		"failed, undone":        {"failed", report.Report{Status: report.Failed, Undone: &report.Undone{}}},
		"killed, partly undone": {"killed", report.Report{Status: report.Killed, Undone: &report.Undone{Partial: true}}},
		"completed, forced, lifted": {"completed, forced: without limits on numbers and shares, lifted: a, b",
			report.Report{Status: report.Completed, Force: true, Lift: []string{"a", "b"}}},
	} {
		want(t, few, []string{few, tt.full}, []string{statusWords(&tt.Report, true), statusWords(&tt.Report, false)})
	}
}

func TestShardsOfARun(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := &printer{Printer: screen.Printer{W: &out, Width: 80}}
	p.shards(&report.Report{})
	want(t, "a run that was not split", "", out.String())
	p.shards(&report.Report{Shards: []report.Shard{
		{Status: report.Completed, Runs: 1, Scanned: 1200, Done: 7, Through: true}, {Status: report.Partial, Runs: 2, Scanned: 90},
		{Status: report.Failed, Runs: 1, Left: true}, {},
	}})
	for _, line := range []string{"0  completed 1 1200 7", "1  partial, continues 2 90 0", "2  failed, some is left 1 0 0",
		"3  not ended yet 0 0 0"} {
		if !strings.Contains(oneLine(out.String()), oneLine(line)) {
			t.Errorf("no %q in\n%s", line, out.String())
		}
	}
}

// TestExpected: what was worked out of some actions counts for all of their kind, and what that has read is not read twice.
func TestExpected(t *testing.T) {
	t.Parallel()
	r := &report.Report{
		Usage: usage.Usage{FirestoreReads: 500, StorageClassA: 7},
		Actions: map[string]report.Counts{"delete draft": {Planned: 1000}, "delete file": {Planned: 50}, "warn": {Planned: 10},
			"unknown": {Planned: 9}},
		Plan: []report.Planned{
			{Action: "delete draft", Writes: []string{"delete drafts/a", "delete drafts/a/lines/1"}},
			{Action: "delete draft", Writes: []string{"delete drafts/b", "set archive/b", "delete gs://bucket/b.png"}},
			{Action: "delete draft"},
			{Action: "delete file", Writes: []string{"delete gs://bucket/c.png"}},
			{Action: "warn", Writes: []string{"update circles/c", "hand over task t", "delete account u", "nothing: it is pinned"}},
			{Action: "unknown"},
		},
	}
	want(t, "usage", usage.Usage{
		FirestoreReads: 500 + 1996 + 1 + 9, FirestoreWrites: 3 + 500 + 41 + 3 + 10 + 2, FirestoreDeletes: 1500, StorageClassA: 7,
		StorageDeletes: 550, Tasks: 10,
	}, expected(manifest.Entry{}, r))
}

// TestQuotaOfTheProject: the calls of a person count against the quota of the project that the command looks at.
func TestQuotaOfTheProject(t *testing.T) {
	counted := ""
	google := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counted = r.Header.Get("X-Goog-User-Project")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"token","token_type":"Bearer","expires_in":3600}`) // of the token; an empty page of the log
	}))
	t.Cleanup(google.Close)
	person := filepath.Join(t.TempDir(), "credentials.json")
	text := `{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r"}`
	write(t, person, text)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", person)
	transport := http.DefaultTransport.(*http.Transport)
	transport.DialTLSContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, google.Listener.Addr().String())
	}
	t.Cleanup(func() { transport.DialTLSContext = nil })
	service, err := logging.NewService(t.Context(), asCaller(t.Context(), "logging", "demo-a")...)
	if err == nil {
		_, err = service.Entries.List(&logging.ListLogEntriesRequest{}).Context(t.Context()).Do()
	}
	if err != nil || counted != "demo-a" {
		t.Errorf("%q, %v", counted, err)
	}
}

// TestCommandsToType: what is advised is about the project and the rules that were given, and nobody's words are changed.
func TestCommandsToType(t *testing.T) {
	t.Parallel()
	o := withReports(t, "UNDO_DAYS=7")
	const theirs = "firesweep run cleanupReports"
	o.Set(t, "reports/old", map[string]any{"status": "reviewed", "createdAt": now.AddDate(0, -2, 0), "text": theirs})
	id := o.called(t, "cleanupReports", "").RunID
	wantParts(t, o.well(t, "show", "--project", o.ID, "--contents", id), theirs)
	runID := o.underWayRun(t)
	out := o.well(t, "runs", "--project", o.ID, "cleanupReports")
	wantParts(t, oneLine(out), "Stop it: firesweep stop --project "+o.ID+" cleanupReports")
	errs := o.refuses(t, exitFailed, "Stop it: firesweep stop --project "+o.ID+" cleanupReports", "show", "--project", o.ID, runID)
	want(t, "lines", 1, strings.Count(errs, "\n"))
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestOutputThatCannotBeWritten: whatever the command found, nobody was told, so it failed.
func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	o := withReports(t)
	for _, args := range []string{"plan cleanupReports", "plan --json cleanupReports", "plan --exit-code cleanupReports", "runs", "--version", "plan --help"} {
		a, _, errs := o.app()
		a.out = full{}
		want(t, args+", exit code", exitFailed, a.run(t.Context(), strings.Fields(args)))
		want(t, args, "firesweep: write the output: no space left on device\n", errs.String())
	}
	a, _, errs := o.app()
	a.out = full{}
	want(t, "wrong use, exit code", exitWrongUse, a.run(t.Context(), []string{"plan", "cleanupReport"}))
	wantParts(t, errs.String(), "no job is called")
}

// TestToPaste: what users wrote must not run in cmd.exe, which knows no quotes of PowerShell.
func TestToPaste(t *testing.T) {
	t.Parallel()
	const begin = "firesweep pin --apply --because"
	for _, c := range "&|<>^%\"" {
		text := begin + " 'x " + string(c) + " calc' 'posts/a b'"
		whole, all := toPaste("linux", text)
		want(t, "elsewhere", text, whole)
		want(t, "all of it elsewhere", true, all)
		start, all := toPaste("windows", text)
		want(t, "on Windows", begin, start)
		want(t, "all of it on Windows", false, all)
	}
	whole, all := toPaste("windows", begin+" x 'posts/a b'")
	want(t, "harmless", begin+" x 'posts/a b'", whole)
	want(t, "all of it, harmless", true, all)
}
