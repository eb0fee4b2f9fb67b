package advice_test

import (
	"testing"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
)

func TestLocal(t *testing.T) {
	for text, want := range map[string]string{
		advice.On("cleanupReports",
			"MAX_ACTIONS: 12 are planned"): "Look at the whole plan: go run ./scripts/firesweep plan --local --force cleanupReports. " +
			"If it is right: go run ./scripts/firesweep run --local cleanupReports --force.",
		"see firesweep runs JOB.":         "see go run ./scripts/firesweep runs JOB.",
		"Firesweep runs it. firesweep: x": "Firesweep runs it. firesweep: x",
	} {
		if got := advice.Local(text); got != want {
			t.Errorf("%q\nis said as %q\nwant       %q", text, got, want)
		}
	}
}

func TestGiven(t *testing.T) {
	all := advice.Given{Project: " --project $1", Rules: " --rules 'a b'"}
	for text, want := range map[string]string{
		"see firesweep runs JOB.": "see firesweep runs --project $1 --rules 'a b' JOB.",
		"see firesweep runs":      "see firesweep runs --project $1 --rules 'a b'",
		"firesweep indexes --write, then firebase deploy --only x": "firesweep indexes --rules 'a b' --write, then firebase deploy --project $1 --only x",
		"firesweep indexes writes it":                              "firesweep indexes writes it",
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
		advice.On("cleanupReports", "MAX_ACTIONS: 12 are planned"): "Look at the whole plan: firesweep plan --force cleanupReports. " +
			"If it is right: firesweep run --here --apply cleanupReports --force.",
		advice.On("", "the query requires an index"): "Wait until it is built, or make it: firesweep indexes --write. " +
			"firesweep doctor shows which are missing.",
		advice.On("", "code = PermissionDenied"): "To run, you need roles/datastore.user, to plan, roles/datastore.viewer: see firesweep run --help.",
	} {
		if got := advice.Here(text); got != want {
			t.Errorf("%q\nis said as %q\nwant       %q", text, got, want)
		}
	}
}
