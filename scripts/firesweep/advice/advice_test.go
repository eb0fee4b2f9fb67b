package advice_test

import (
	"strings"
	"testing"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/shared/engine/report"
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

func TestHere(t *testing.T) {
	for text, want := range map[string]string{
		advice.On("cleanupReports", "MAX_ACTIONS: 12 are planned"): "Look at the whole plan: firesweep plan --force cleanupReports. " +
			"If it is right: firesweep run --here --apply cleanupReports --force.",
		advice.On("", "the query requires an index"): "Wait until it is built, or make it: firesweep indexes --write. " +
			"firesweep doctor shows which are missing.",
	} {
		if got := advice.Here(text); got != want {
			t.Errorf("%q\nis said as %q\nwant       %q", text, got, want)
		}
	}
}

func TestNextSaysSomethingOfEveryStatus(t *testing.T) {
	said := map[string]bool{}
	for _, status := range []report.Status{report.Completed, report.Partial, report.Skipped, report.Aborted, report.Failed} {
		said[advice.Next(&report.Report{Job: "cleanupReports", Status: status})] = true
	}
	if len(said) != 5 || said[""] {
		t.Errorf("for five statuses: %v", said)
	}
	if stopped := advice.Next(&report.Report{Status: report.Partial, Stopped: true}); !strings.Contains(stopped, "stopped") {
		t.Errorf("of a run that was stopped: %q", stopped)
	}
}
