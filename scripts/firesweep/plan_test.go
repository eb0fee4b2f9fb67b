package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/report"
)

type plans struct{ Plans []planned }

// TestPlanChangesNothing plans every job on the sample, and compares the whole project.
func TestPlanChangesNothing(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.now = time.Now().UTC().Truncate(time.Second) // the objects' age cannot be chosen
	o.sample(t)
	before := o.everything(t)

	o.now = o.now.Add(48 * time.Hour)
	here := parsed[plans](t, o.well(t, "plan", "--json")).Plans
	want(t, "the project", before, o.everything(t))
	want(t, "plans, one for each job", len(scheduled()), len(here))
	for i := range here {
		if here[i].Report == nil || len(here[i].Report.Plan) == 0 && slices.Contains(sampledata.Jobs(), here[i].Job) {
			t.Errorf("%+v: an empty plan proves nothing", here[i])
		}
	}
	wantParts(t, o.well(t, "plan"), jobNames()...)
	want(t, "the project", before, o.everything(t))
}

func TestPlanForPeople(t *testing.T) {
	t.Parallel()
	o := withReports(t)
	o.Set(t, "reports/山のぼりをした人たちの長い長い名前のとても長い名前の報告", map[string]any{"status": "reviewed", "createdAt": now.AddDate(0, 0, -60)})
	o.Set(t, "reports/undated", map[string]any{"status": "reviewed", "createdAt": "2025"})
	o.screen.width = 60
	want(t, "the plan", `cleanupReports: 3 due
  project `+o.ID+` on emulators,
    database (default)
  now 2026-01-10 15:00 UTC, 5 scanned, 13 reads, 0 ms

  delete report: 3
    reports/older
      status dismissed, createdAt 2025-01-10T15:00:00Z,
        older than 1 month
    reports/old
      status reviewed, createdAt 2025-11-10T15:00:00Z,
        older than 1 month
    reports/山のぼりをした人たちの長い長い名前のとても長い名前の報告
      status reviewed, createdAt 2025-11-11T15:00:00Z,
        older than 1 month

  kept 1: no usable age
  kept 1: not due
  reports/undated: kept, no usable createdAt

Nothing was changed. Do it:
    firesweep run cleanupReports
`, o.well(t, "plan", "cleanupReports"))
}

func TestNothingReachesTheTerminalAsACommand(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.Set(t, "reports/\x1b[2Jhidden\u202e\u009b\x7f\u200b", map[string]any{"status": "reviewed", "createdAt": now.AddDate(-1, 0, 0)})
	o.screen.colour = true
	out := o.well(t, "plan", "cleanupReports")
	wantParts(t, out, `reports/\x1b[2Jhidden\u202e\u009b\x7f\u200b`, "\x1b[1mcleanupReports\x1b[0m")
	for _, colour := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[33m"} {
		out = strings.ReplaceAll(out, colour, "")
	}
	for _, out := range []string{out, o.well(t, "plan", "--json", "cleanupReports")} {
		if strings.ContainsAny(out, "\x1b\u202e\u009b\x7f\u200b") || !strings.Contains(out, "hidden") {
			t.Errorf("a control character was printed: %q", out)
		}
	}
}

// TestProgress: how far long work is, is said every few seconds, if standard error is a terminal.
func TestProgress(t *testing.T) {
	t.Parallel()
	for terminal, says := range map[bool]string{false: "", true: "begins (0 ms so far)\non its way (1 of 4) (0 ms so far)\n"} {
		var at *progress
		waits, begun, said := 0, make(chan struct{}), make(chan struct{})
		sleep := func(ctx context.Context, _ time.Duration) error {
			<-begun
			if waits++; waits == 2 {
				at.set("on its\nway (%d of 4)", 1)
			}
			if waits < 3 {
				return nil
			}
			close(said)
			<-ctx.Done()
			return ctx.Err()
		}
		var errs strings.Builder
		a := &app{errs: &errs, clock: func() time.Time { return now }, sleep: sleep, screen: streams{errs: terminal}}
		at = a.progress(t.Context(), "begins")
		close(begun)
		if terminal {
			<-said
		}
		at.stop()
		want(t, "standard error", says, errs.String())
	}
}

// TestProgressSaysCounts: how far a plan or a run is, with as many as the last run looked at.
func TestProgressSaysCounts(t *testing.T) {
	t.Parallel()
	at := new(app).progress(t.Context(), "planning a")
	watch := at.watch()
	want(t, "before it begins", "planning a", at.now())
	now := report.Progress{}
	watch(func() report.Progress { return now })
	for words, p := range map[string]report.Progress{
		"planning a: 0 looked at, 0 due":                    {},
		"planning a: 1200 of about 14000 looked at, 31 due": {Looked: 1200, About: 14_000, Due: 31},
		"planning a: 14001 looked at, 999 due, 100 done":    {Looked: 14_001, About: 14_000, Due: 999, Done: 100},
	} {
		now = p
		want(t, "progress", words, at.now())
	}
}

// TestPlanOfTheApplication: without names, its rules are planned and what it enables, and nothing that it did not ask for.
func TestPlanOfTheApplication(t *testing.T) {
	t.Parallel()
	o := withReports(t)
	jobs := func(args ...string) (names []string) {
		for _, p := range parsed[plans](t, o.well(t, append([]string{"plan", "--json"}, args...)...)).Plans {
			names = append(names, p.Job)
		}
		return names
	}
	o.inApp(t, map[string]string{"firesweep.json": drafts})
	want(t, "its own", []string{"cleanupDrafts"}, jobs())
	wantNone(t, o.well(t, "plan"), "Do it:", "it deletes") // nothing is due
	o.inApp(t, map[string]string{"firesweep.json": strings.Replace(drafts, `"rules": [`, `"rules": [{ "name": "hideReports",
		"schedule": "0 4 * * *", "collection": "reports", "age": "any", "where": [{ "field": "hidden", "is": "not true" }], "set": { "hidden": true } }, `, 1)})
	wantParts(t, oneLine(o.well(t, "plan", "hideReports")), "it sets hidden to true in documents of reports whose", "reports/")
	o.inApp(t, map[string]string{"firesweep.json": drafts})
	file := filepath.Join(t.TempDir(), "plan.json")
	for args, next := range map[string]string{
		"--project " + o.ID: "--project " + o.ID + " cleanupReports", "--out " + file: "--plan " + file,
	} {
		out := o.well(t, append([]string{"plan", "cleanupReports"}, strings.Fields(args)...)...)
		wantParts(t, out, "Nothing was changed. Do it:\n    firesweep run "+next+"\n")
	}
	o.env["MAX_ACTIONS"] = "1"
	out, _ := o.ends(t, exitFailed, "plan", "cleanupReports")
	wantParts(t, out, "\n    firesweep run cleanupReports --force\n")
	limit, items, _ := strings.Cut(out, "reports/")
	wantParts(t, limit, "a safety limit stopped it")
	wantNone(t, items, "a safety limit stopped it")
	out, _ = o.ends(t, exitFailed, "plan", "cleanupReports", "--project", o.ID)
	wantParts(t, out, "\n    firesweep run --project "+o.ID+" cleanupReports --force\n")
	wantNone(t, out, "Do it:")
	delete(o.env, "MAX_ACTIONS")
	want(t, "by name", []string{"cleanupReports"}, jobs("cleanupReports"))
	o.refuses(t, exitWrongUse, "the jobs are cleanupDrafts\n", "plan", "cleanupDraft")
	want(t, "the standings", 1, strings.Count(o.well(t, "runs", "--json"), `"job"`))

	o.inApp(t, map[string]string{"firesweep.json": strings.Replace(drafts, "{", `{ "enabled": ["cleanupReports"],`, 1)})
	want(t, "with what it enables", []string{"cleanupReports", "cleanupDrafts"}, jobs())
	o.inApp(t, map[string]string{"firebase.json": "{}"})
	o.refuses(t, exitWrongUse, "there is no firesweep.json here or above: let firesweep init propose rules", "plan")
	want(t, "by name, without any rules", []string{"cleanupReports"}, jobs("cleanupReports"))
	o.inApp(t, map[string]string{"firesweep.json": `{"rules":[]}`})
	for _, command := range []string{"plan", "runs", "doctor", "check --indexes"} {
		o.refuses(t, exitWrongUse, "firesweep.json declares nothing", strings.Fields(command)...)
	}
	o.well(t, "doctor", "cleanupReports")
}

// TestPlanWithoutIndexes: what Firestore says of each is shown once, with what makes them, and the others are planned.
func TestPlanWithoutIndexes(t *testing.T) {
	t.Parallel()
	o := withReports(t)
	const address = "https://console.firebase.google.com/v1/r/project/p/firestore/indexes?create_composite=abc"
	says := map[string]string{
		"drafts":    "The query requires an index. You can create it here: " + address,
		"inquiries": "The query requires a COLLECTION_GROUP_ASC index for collection inquiries and field at.",
	}
	o.running.Dial = queried(func(collection string) error {
		if says[collection] != "" {
			return status.Error(codes.FailedPrecondition, says[collection])
		}
		return nil
	})
	o.inApp(t, map[string]string{"firesweep.json": strings.Replace(drafts, "{",
		`{ "enabled": ["cleanupReports", "cleanupResolvedInquiries"],`, 1)})
	o.screen.width = 200
	out, _ := o.ends(t, exitFailed, "plan", "--project", o.ID, "--rules", "firesweep.json")
	wantParts(t, oneLine(out), "cleanupReports: 2 due", " -> Is an index missing? Make it, and wait until it is built: firesweep check --indexes lists",
		says["drafts"], says["inquiries"])
	want(t, "the address", 1, strings.Count(out, address))
	wantNone(t, out, "nothing is due")
	want(t, "the failures of a plan", 1, strings.Count(oneLine(out), "requires an index. You can"))
}

// TestPlanWithoutCredentials: what each request is answered is said once.
func TestPlanWithoutCredentials(t *testing.T) {
	t.Parallel()
	o := withReports(t)
	o.inApp(t, map[string]string{"firesweep.json": drafts})
	a, out, errs := o.app()
	a.hooks.Dial = wire.Before(func(context.Context, string, any) error { return status.Error(codes.Unauthenticated, "expiredtoken") })
	a.running.Dial = a.hooks.Dial
	want(t, "exit code", exitFailed, a.run(t.Context(), []string{"plan"}))
	want(t, "said", 1, strings.Count(out.String()+errs.String(), "expiredtoken"))
	wantParts(t, oneLine(out.String()), "-> "+logIn)
}

// queried calls a function before each query of a collection, which fails with its error.
func queried(before func(collection string) error) []grpc.DialOption {
	return wire.Before(func(_ context.Context, _ string, message any) error {
		q, _ := message.(*firestorepb.RunQueryRequest)
		for _, from := range q.GetStructuredQuery().GetFrom() {
			if err := before(from.GetCollectionId()); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestDoubtsOfAPlan: every plan of one's own rules says them, for people and as JSON, and so does a run before it asks. They fail no
// plan.
func TestDoubtsOfAPlan(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.inApp(t, map[string]string{"firesweep.json": drafts})
	says := func(command ...string) []string {
		t.Helper()
		return parsed[plans](t, o.well(t, append(command, "--json")...)).Plans[0].Doubts
	}
	const misspelt = "the collection drafts has no document: is that its name?"
	want(t, "of an empty collection", []string{misspelt}, says("plan"))
	wantParts(t, o.well(t, "plan"), "cleanupDrafts: nothing is due\n", "  doubtful: "+misspelt+"\n")
	wantParts(t, oneLine(o.well(t, "plan")), "No rule found anything in the project "+o.ID+" on emulators: is it the right one?")
	wantParts(t, o.well(t, "run", "--yes", "--confirm", o.ID), "doubtful: "+misspelt)

	o.Set(t, "drafts/a", map[string]any{"editedAt": now.AddDate(-1, 0, 0)})
	o.Set(t, "drafts/b", map[string]any{"editedAt": now.AddDate(-1, 0, 0).UnixMilli()})
	want(t, "of a good one", []string{"age: editedAt is a number of milliseconds since 1970 in 1 of 2, and the rule keeps these"}, says("plan"))
	o.Set(t, "drafts/a/revisions/r", map[string]any{"x": 1})
	o.Set(t, "drafts/c/revisions/r", map[string]any{"x": 1})
	wantParts(t, o.well(t, "plan"), "warning: with: revisions below 1 of 1 documents would stay: add")
	want(t, "of one of the nine jobs", 0, len(says("plan", "cleanupReports")))

	for _, id := range []string{"d", "e"} {
		o.Set(t, "drafts/"+id, map[string]any{"editedAt": now.AddDate(-1, 0, 0), "cover": "covers/" + id + ".png"})
	}
	const files = "cover of documents of drafts refers to files below covers/"
	want(t, "of files that nobody deletes", true, strings.Contains(strings.Join(says("plan"), "\n"), files))
	o.Put(t, "scans/a/1.png", nil, nil)
	o.Put(t, "scans/d/1.png", nil, nil)
	wantParts(t, strings.Join(says("plan"), "\n"), "files below scans/ have the ids of 2 of 2 documents of drafts")
	o.inApp(t, map[string]string{"firesweep.json": strings.Replace(drafts, `"rules": [`, `"rules": [{ "name": "cleanupCovers",
		"schedule": "0 4 * * *", "objects": "covers/**", "age": { "days": 7 }, "gone": [{ "collection": "drafts", "field": "cover" }] }, `, 1)})
	want(t, "of files that another rule deletes", false, strings.Contains(strings.Join(says("plan", "cleanupDrafts"), "\n"), files))
}
