package enginetest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// SameReference compares references by their paths: each client makes its own.
var SameReference = cmp.Comparer(func(a, b *firestore.DocumentRef) bool { return a.Path == b.Path })

// Want fails the test if what it wanted and what it got differ.
func Want(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, SameReference); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// WantReport fails the test if a report has another status or other actions.
func WantReport(t testing.TB, got *report.Report, status report.Status, actions map[string]report.Counts) {
	t.Helper()
	if got.Status != status {
		t.Errorf("status %s, want %s; failures %v", got.Status, status, got.Failures)
	}
	Want(t, "actions", actions, got.Actions)
}

// WantKept is [WantReport], and fails the test as well if the run kept anything else, or for another reason.
func WantKept(t testing.TB, got *report.Report, status report.Status, actions map[string]report.Counts, kept map[string]int) {
	t.Helper()
	WantReport(t, got, status, actions)
	Want(t, "kept", kept, got.Kept)
}

// Done returns the actions of a report with n of one kind, all of them done.
func Done(kind string, n int) map[string]report.Counts {
	return map[string]report.Counts{kind: {Planned: n, Done: n}}
}

// OnCommit calls disturb for each commit of the function that writes something; n counts them from 1. Its error is the
// commit's result.
func (f *Function) OnCommit(disturb func(n int, commit *firestorepb.CommitRequest, send func() error) error) {
	var n atomic.Int32
	f.Hooks.Dial = append(f.Hooks.Dial, wire.Around(func(_ context.Context, _ string, sent, _ any, send func() error) error {
		if commit, ok := sent.(*firestorepb.CommitRequest); ok && len(commit.GetWrites()) > 0 {
			return disturb(int(n.Add(1)), commit, send)
		}
		return send()
	}))
}

// AfterCommits calls do after each commit of the function that has written something; n counts all commits from 1.
func (f *Function) AfterCommits(do func(n int, commit *firestorepb.CommitRequest)) {
	f.OnCommit(func(n int, commit *firestorepb.CommitRequest, send func() error) error {
		err := send()
		if err == nil {
			do(n, commit)
		}
		return err
	})
}

// WantAborted fails the test if a report is not that of a run that a safety limit stopped, or if its failures lack some of the
// parts.
func WantAborted(t testing.TB, got *report.Report, parts ...string) {
	t.Helper()
	Want(t, "status", report.Aborted, got.Status)
	said := fmt.Sprint(got.Failures)
	for _, part := range parts {
		if !strings.Contains(said, part) {
			t.Errorf("the failures are %s, which does not say %q", said, part)
		}
	}
}

// Warnings returns the warnings logged so far, by what they are about; "" stands for nothing in particular.
func (f *Function) Warnings(t testing.TB) map[string][]map[string]any {
	t.Helper()
	byTarget := map[string][]map[string]any{}
	for _, line := range f.LogLines(t) {
		if line["severity"] != "WARNING" {
			continue
		}
		targets, several := line["targets"].([]any)
		if !several {
			targets = []any{line["target"]}
		}
		for _, target := range targets {
			name, _ := target.(string)
			byTarget[name] = append(byTarget[name], line)
		}
	}
	return byTarget
}

// RefuseCounts has each of the function's counts of documents fail with an error, as Firestore does if an index is missing.
func (f *Function) RefuseCounts(err error) {
	f.Hooks.Dial = append(f.Hooks.Dial, wire.Before(func(_ context.Context, _ string, message any) error {
		if _, counts := message.(*firestorepb.RunAggregationQueryRequest); counts {
			return err
		}
		return nil
	})...)
}

// Changes returns the names of what differs between two states of a project.
func Changes(before, after map[string]any) map[string]bool {
	changed := map[string]bool{}
	for name, was := range before {
		if is, there := after[name]; !there || !cmp.Equal(was, is) {
			changed[name] = true
		}
	}
	for name := range after {
		if _, was := before[name]; !was {
			changed[name] = true
		}
	}
	return changed
}
