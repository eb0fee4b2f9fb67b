package main

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/api/googleapi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/scripts/firesweep/look"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/usage"
)

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestOutputThatCannotBeWritten: whatever the command found, nobody was told, so it failed.
func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	o := withReports(t)
	for _, args := range []string{"plan cleanupReports", "plan --json cleanupReports", "runs", "--version", "plan --help"} {
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

// TestActions: what was begun, changed or left is said, and what did not happen is not.
func TestActions(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := printer{to: &out, width: 200, program: "firesweep"}
	say := func(r *report.Report) {
		p.actions(r)
		p.next(r)
	}
	say(&report.Report{Status: report.Partial, Actions: map[string]report.Counts{"delete draft": {Planned: 3, Begun: 3}, "delete post": {
		Planned: 4, Done: 2, Changed: 1, Failed: 1}}})
	want(t, "the actions", "  delete draft: 0 of 3 done; 3 begun: the next run does the rest\n"+
		"  delete post: 2 of 4 done; 1 changed meanwhile, so it was kept; 1 failed\n"+
		"  It was out of time, or was interrupted. The next run continues from there. 3 were left to the next run, or turned out to be kept.\n", out.String())
	out.Reset()
	say(&report.Report{Status: report.Completed, Actions: map[string]report.Counts{"delete draft": {Planned: 3, Done: 2}}})
	want(t, "what a whole run kept", "  delete draft: 2 of 3 done\n  1 item turned out to be kept.\n", out.String())
	first := &report.Report{Job: "cleanupDrafts", Status: report.Aborted, Actions: map[string]report.Counts{"delete draft": {Planned: 3}}}
	first.Stop([]*cleanup.LimitError{{Limit: report.NeverFound, Unfound: []string{"raws holds no file."}}})
	say(first)
	wantParts(t, out.String(), "3 were not done this time. The next run does them: correct the rule before, or firesweep hold cleanupDrafts")
	out.Reset()
	always := &report.Report{Status: report.Aborted, Actions: first.Actions}
	always.Stop([]*cleanup.LimitError{{Limit: report.NeverFound, Why: "some are maps. The next run deletes"}})
	say(always)
	wantParts(t, out.String(), "3 were not done because of a safety limit, and nothing does them before somebody acts")
	p.ran(planned{}, ran{Report: &report.Report{Status: report.Partial}, more: true}, false)
	wantParts(t, out.String(), "It ran out of time. The next run begins now,")
}

// TestLimited: each limit is said in a sentence made of its figures, and what has none by what the engine says.
func TestLimited(t *testing.T) {
	t.Parallel()
	for says, limit := range map[string]cleanup.LimitError{
		"a safety limit stopped the pass files: 12 of 20 documents of drafts are due (60.0 %), but at most 50 % may be (maxDuePercent)": {
			Pass: "files", Limit: "maxDuePercent", Collection: "documents of drafts", Due: 12, Looked: 20, Most: 50},
		"a safety limit stopped it: the plan has more than 100 actions (MAX_ACTIONS)": {Limit: "MAX_ACTIONS", Due: 101, Most: 100},
		"a safety limit stopped it: users holds no document at all":                   {Limit: "empty collection", Collection: "users"},
		"no document of users has seen, by which":                                     {Limit: "empty collection", Collection: "users", Field: "seen"},
		"a safety limit stopped it: the project allows any (tenants)":                 {Limit: "tenants", Why: "the project allows any"},
	} {
		r := &report.Report{Job: "cleanupDrafts", Database: "(default)"}
		r.Stop([]*cleanup.LimitError{&limit})
		wantParts(t, wrong(r, r.Failures[0]), says)
	}
}

// TestRemedies: what to do is told by the status that Google answered, and by the credentials that there are.
func TestRemedies(t *testing.T) {
	t.Parallel()
	o := &operator{env: map[string]string{"GOOGLE_CLOUD_PROJECT": "p"}}
	a, _, _ := o.app()
	broken := errors.New("broken")
	for says, err := range map[string]error{
		"":                        broken,
		"A right is missing.":     fmt.Errorf("read it: %w", status.Error(codes.PermissionDenied, "no")),
		"A right is missing. ":    fmt.Errorf("list: %w", &googleapi.Error{Code: 403}),
		"Log in: gcloud auth":     status.Error(codes.Unauthenticated, "no"),
		"connected to the intern": fmt.Errorf("look: %w", &net.DNSError{}),
		"is this machine connect": status.Error(codes.Unavailable, "no"),
	} {
		if got := a.remedy(t.Context(), err); !strings.Contains(got, says) || (got == "") != (says == "") {
			t.Errorf("%v: %q, want %q", err, got, says)
		}
	}
	o.noCredentials = broken
	want(t, "without credentials", logIn, a.remedy(t.Context(), broken))
	o.env["FIRESTORE_EMULATOR_HOST"] = "127.0.0.1:1"
	want(t, "on emulators", "", a.remedy(t.Context(), broken))
}

// TestWith: what goes besides an item is counted by its kind, and what it is about is not.
func TestWith(t *testing.T) {
	t.Parallel()
	for says, item := range map[string]report.Planned{
		"":                                     {},
		"with more, which a run finds":         {More: true},
		"with 2 documents of comments, 1 file": {With: map[string]int{"delete document of comments": 2, "delete file": 1}},
		"with its account (if there is any), its folder of files (if there is any), and more": {More: true,
			With: map[string]int{"delete account": 1, "delete folder of files": 1}},
		"writes 1 document of users, queues 2 tasks": {With: map[string]int{"write document of users": 1, "queue task": 2}},
		"but is kept: it is needed":                  {Kept: "it is needed"},
		"with 1 file, keeps 2 of what belongs to it: another document of shows refers to it": {
			With: map[string]int{"delete file": 1, "keep another document of shows refers to it": 2}},
	} {
		want(t, "what goes with it", says, with(item))
	}
}

// TestPlanIsShort: of each kind the first items are listed, and a reason that all have is said once.
func TestPlanIsShort(t *testing.T) {
	t.Parallel()
	r := &report.Report{Actions: map[string]report.Counts{"delete post": {Planned: listed + 3}, "warn": {Planned: 1}}}
	for range listed + 1 {
		r.Plan = append(r.Plan, report.Planned{Action: "delete post", Target: "posts/a", Reason: "old"})
	}
	r.Plan = append(r.Plan, report.Planned{Action: "warn", Target: "posts/b", Reason: "old"})
	for all, wanted := range map[bool]string{
		false: "\n  delete post: 53, because old\n" + strings.Repeat("    posts/a\n", listed) + "    and 3 more: use --all\n",
		true:  "\n  delete post: 53, because old\n" + strings.Repeat("    posts/a\n", listed+1) + "    and 2 more, which are not listed\n",
	} {
		var out strings.Builder
		p := printer{to: &out, width: 80}
		p.plan(r, all)
		want(t, "the plan", wanted+"\n  warn: 1\n    posts/b\n      old\n", out.String())
	}
}

// TestJSON: what --json writes keeps its names. Add new ones here and to the pages, and remove none: programs rely on them.
func TestJSON(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	pages := read(t, "../../docs/command.md") + read(t, "../../docs/contributing/spec.md")
	for _, m := range regexp.MustCompile("[`\"]([A-Za-z.]+)(\\[\\])?[`\"]").FindAllStringSubmatch(pages, -1) {
		documented[m[1][strings.LastIndex(m[1], ".")+1:]] = true
	}
	all := []struct {
		of    any
		names string
	}{
		{report.Report{}, `
			actions actions.begun actions.changed actions.done actions.failed actions.planned approved
			bucket database dryRun durationMs failures failures.action failures.code failures.error
			failures.limit failures.limit.collection failures.limit.due failures.limit.field failures.limit.folder
			failures.limit.inFolder failures.limit.limit
			failures.limit.looked failures.limit.most failures.limit.pass failures.limit.unfound failures.limit.why failures.target force job kept notCounted now partialRuns plan
			revision runId scanned schedule startedAt status stopped truncated undone undone.at undone.by undone.partial
			usage version warnings wasHeld`},
		{report.Planned{}, "action kept more reason target version with"},
		{usage.Usage{}, `
			authCalls firestoreDeletes firestoreReads firestoreWrites storageClassA storageClassB storageDeletes tasks`},
		{jobstate.Hold{}, "at by runId why"},
		{planned{}, "doubts error held job report warnings"},
		{planFile{}, "checksum plans"},
		{report.Approval{}, "bucket database entry items job made project version"},
		{standing{}, "detail held job runs schedule state timeZone"},
		{shownRun{}, "did held"},
		{did{}, "things total"},
		{undo.Thing{}, "account action fields fields.after fields.before fields.changed fields.name reason sent target what"},
		{ran{}, "error job report"},
		{holding{}, `
			applied jobs jobs.database jobs.error jobs.job jobs.stops keep keep.database keep.path`},
		{taken{}, "applied held keep outcomes outcomes.note outcomes.step outcomes.target outcomes.why run warnings"},
		{foundThing{}, "reason run target undone undone.at undone.by undone.partial what"},
		{finding{}, "about do level text"},
		{look.Findings{}, `
			looked proposals proposals.does proposals.due proposals.looked
			proposals.name proposals.rule proposals.why reads unseen`},
		{checked{}, `
			declared does indexes indexes.collectionGroup indexes.fields indexes.fields.arrayConfig
			indexes.fields.fieldPath indexes.fields.order indexes.queryScope job judgedBy note own reads
			roles schedule timeZone`},
	}
	alone := map[reflect.Type]bool{}
	for _, tt := range all {
		alone[reflect.TypeOf(tt.of)] = true
	}
	for _, tt := range all {
		var names []string
		others := maps.Clone(alone)
		delete(others, reflect.TypeOf(tt.of))
		namesOf(reflect.TypeOf(tt.of), "", others, &names)
		slices.Sort(names)
		names = slices.Compact(names) // a part's name may hide that of an embedded one
		want(t, reflect.TypeOf(tt.of).String(), strings.Fields(tt.names), names)
		for _, name := range names {
			if !documented[name[strings.LastIndex(name, ".")+1:]] {
				t.Errorf("%T: no page names %s", tt.of, name)
			}
		}
	}
}

// namesOf adds the names in JSON of what a type holds, those in a part of it after the part's own, but for parts of types that are
// looked at alone.
func namesOf(of reflect.Type, before string, alone map[reflect.Type]bool, to *[]string) {
	switch of.Kind() { //nolint:exhaustive // the others hold nothing
	case reflect.Pointer, reflect.Slice, reflect.Map:
		namesOf(of.Elem(), before, alone, to)
	case reflect.Struct:
		if !strings.HasPrefix(of.PkgPath(), "github.com/firesweep/") || alone[of] {
			return
		}
		for i := range of.NumField() {
			field := of.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case field.Anonymous && name == "":
				namesOf(field.Type, before, alone, to)
			case field.IsExported() && name != "-":
				*to = append(*to, before+name)
				namesOf(field.Type, before+name+".", alone, to)
			}
		}
	}
}
