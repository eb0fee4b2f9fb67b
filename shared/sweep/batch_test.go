package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/sweep"
)

// batchJob proposes an action for each item, all of them with one batch but those that begin with "alone".
func batchJob(items []string, batch *sweep.Batch) sweep.Job {
	return sweep.Job{Name: "testJob", Plan: func(ctx context.Context, p *sweep.Planner) error {
		for _, item := range items {
			a := sweep.Action{Kind: "do", Target: item, Reason: "why not", Effect: sweep.Batched{Batch: batch, Item: item}}
			if strings.HasPrefix(item, "alone") {
				a.Effect = sweep.Steps(func(context.Context, *sweep.Writers) error { return nil })
			}
			if err := p.Propose(ctx, a); err != nil {
				return err
			}
		}
		return nil
	}}
}

func TestBatchedActionsAreDoneTogether(t *testing.T) {
	var mu sync.Mutex
	var calls [][]any
	batch := &sweep.Batch{Size: 3, Do: func(_ context.Context, w *sweep.Writers, items []any) []error {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, items)
		w.Keep("turned out so", len(items))
		results := make([]error, len(items))
		for i, item := range items {
			switch item {
			case "b":
				results[i] = sweep.ErrChanged
			case "e":
				results[i] = errors.New("no such luck")
			}
		}
		return results
	}}
	f := newFunction(t, batchJob([]string{"a", "b", "c", "d", "alone", "e", "f"}, batch))
	got := f.Run(t, "")
	if diff := cmp.Diff(sweep.Counts{Planned: 7, Done: 5, Changed: 1, Failed: 1}, got.Actions["do"]); got.Status != sweep.Failed || diff != "" {
		t.Errorf("%s, counts (-want +got):\n%s", got.Status, diff)
	}
	slices.SortFunc(calls, func(a, b []any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	if diff := cmp.Diff([][]any{{"a", "b", "c"}, {"d"}, {"e", "f"}}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if len(got.Failures) != 1 || got.Failures[0].Target != "e" || got.Kept["turned out so"] != 6 {
		t.Errorf("failures %v, kept %v", got.Failures, got.Kept)
	}
}

func TestBatchThatIsBroken(t *testing.T) {
	for name, do := range map[string]func(context.Context, *sweep.Writers, []any) []error{
		"panics":         func(context.Context, *sweep.Writers, []any) []error { panic("poisoned") },
		"answers less":   func(_ context.Context, _ *sweep.Writers, items []any) []error { return make([]error, len(items)-1) },
		"answers more":   func(_ context.Context, _ *sweep.Writers, items []any) []error { return make([]error, len(items)+1) },
		"answers nobody": func(context.Context, *sweep.Writers, []any) []error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t, batchJob([]string{"a", "b"}, &sweep.Batch{Size: 10, Do: do}))
			got := f.Run(t, "")
			if diff := cmp.Diff(sweep.Counts{Planned: 2, Failed: 2}, got.Actions["do"]); got.Status != sweep.Failed || diff != "" {
				t.Errorf("%s, counts (-want +got):\n%s", got.Status, diff)
			}
		})
	}
}

func TestBatchThatRunsOutOfTime(t *testing.T) {
	batch := &sweep.Batch{Size: 10, Do: func(context.Context, *sweep.Writers, []any) []error { return []error{nil, sweep.ErrOutOfTime} }}
	f := newFunction(t, batchJob([]string{"a", "b"}, batch))
	got := f.Run(t, "")
	if diff := cmp.Diff(sweep.Counts{Planned: 2, Done: 1}, got.Actions["do"]); got.Status != sweep.Partial || diff != "" {
		t.Errorf("%s, counts (-want +got):\n%s", got.Status, diff)
	}
}
