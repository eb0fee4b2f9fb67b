package advice_test

import (
	"testing"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/shared/engine/report"
)

const job = "cleanupReports"

// tripped returns the advice on what tripped in a run of a job after which some was lifted already.
func tripped(job string, force bool, lift []string, texts ...string) string {
	r := &report.Report{Job: job, Force: force, Lift: lift}
	for _, text := range texts {
		r.Failures = append(r.Failures, report.Failure{Error: text})
	}
	do, command := advice.Tripped(r)
	return do + command
}

// TestTripped: what is advised can be pasted, and lifts all that tripped, because no run begins while its plan trips another limit.
func TestTripped(t *testing.T) {
	const (
		tooMany   = `MAX_ACTIONS: see all of it with {"dryRun":true,"force":true}, or run once with {"force":true}`
		tooMuch   = `MAX_DUE_PERCENT: raise it or run once with {"force":true}`
		empty     = `empty collection: only if it is, run once with {"lift":["empty:tasks"]}`
		unwritten = `unwritten field: x, run once with {"lift":["unwritten:users/{u}/tasks.by"]}`
		whole     = "Look at the whole plan: firesweep plan --force cleanupReports. Only if the plan is right:"
		look      = "Look into the database that the message names. If the documents are kept elsewhere, leave the pass out (ORPHANS)."
	)
	_, approved := advice.Tripped(&report.Report{Job: job, Approved: &report.Approved{}, Failures: []report.Failure{{Error: tooMany}}})
	for want, got := range map[string]string{
		"firesweep run cleanupReports --force --plan FILE": approved,
		"": tripped(job, true, nil, "broken", "MAX_ACTIONS is empty"),
		whole + "firesweep run cleanupReports --force": tripped(job, false, nil, tooMany+"; "+tooMuch),
		look + " Only if the collection is rightly empty:firesweep run cleanupReports --lift older:a --lift empty:tasks": tripped(
			job, false, []string{"older:a"}, empty, "broken"),
		look + " Look how the application calls the field. Look at the whole plan: firesweep plan --force cleanupReports. " +
			"Only if the collection is rightly empty, and nobody had a reason to write it, and the plan is right:" +
			"firesweep run cleanupReports --force --lift empty:tasks --lift 'unwritten:users/{u}/tasks.by'": tripped(
			job, true, nil, "pass a: "+empty+"; "+unwritten, "pass b: "+empty),
		"Look at the whole plan: firesweep forget --force UID. Only if the plan is right:firesweep forget --apply UID --force": tripped(
			"forget0123456789abcdef01234567", false, nil, tooMany),
	} {
		if got != want {
			t.Errorf("it says %q\nwant   %q", got, want)
		}
	}
}

func TestLocal(t *testing.T) {
	for text, want := range map[string]string{
		tripped(job, false, nil, `MAX_ACTIONS: run once with {"force":true}`): "Look at the whole plan: " +
			"go run ./scripts/firesweep plan --local --force cleanupReports. Only if the plan is right:" +
			"go run ./scripts/firesweep run --local cleanupReports --force",
		"see firesweep runs JOB.":         "see go run ./scripts/firesweep runs JOB.",
		"Firesweep runs it. firesweep: x": "Firesweep runs it. firesweep: x",
	} {
		if got := advice.Local(text); got != want {
			t.Errorf("%q\nis said as %q\nwant       %q", text, got, want)
		}
	}
}

func TestGiven(t *testing.T) {
	all := advice.Given{Project: " --project $1", Rules: " --rules 'a b'", Local: " --url x", Location: " --location eu"}
	for text, want := range map[string]string{
		"see firesweep runs JOB.": "see firesweep runs --project $1 --rules 'a b' JOB.",
		"see firesweep runs":      "see firesweep runs --project $1 --rules 'a b'",
		"firesweep run JOB":       "firesweep run --url x --location eu --project $1 --rules 'a b' JOB",
		"firesweep plan JOB":      "firesweep plan --url x --project $1 --rules 'a b' JOB",
		"firesweep check --indexes, then firebase deploy --only x": "firesweep check --rules 'a b' --indexes, then firebase deploy --project $1 --only x",
		"firesweep check says it":                                  "firesweep check says it",
		"firesweep.json: firesweep: run it with firesweep check":   "firesweep.json: firesweep: run it with firesweep check",
	} {
		if got := all.In(text); got != want {
			t.Errorf("%q\nis said as %q\nwant       %q", text, got, want)
		}
		if got := new(advice.Given).In(text); got != text {
			t.Errorf("%q\nis said as %q, and nothing was given", text, got)
		}
	}
}

func TestHere(t *testing.T) {
	for text, want := range map[string]string{
		tripped(job, false, nil, `MAX_ACTIONS: run once with {"force":true}`): "Look at the whole plan: " +
			"firesweep plan --force cleanupReports. Only if the plan is right:firesweep run --here --apply cleanupReports --force",
		advice.On("", "the query requires an index"): "Wait until it is built, or make it: firesweep check --indexes. " +
			"firesweep doctor shows which are missing.",
		advice.On("", "code = PermissionDenied"): "To run, you need roles/datastore.user, to plan, roles/datastore.viewer: see firesweep run --help.",
	} {
		if got := advice.Here(text); got != want {
			t.Errorf("%q\nis said as %q\nwant       %q", text, got, want)
		}
	}
}
