package enginetest

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/engine"
)

// Pair is a job and the worker that it hands its tasks to, on one project.
type Pair struct {
	*Function
	Worker *Function
}

// NewPair returns a job and its worker on a project of their own.
func NewPair(t testing.TB, job, worker *engine.Function) Pair {
	t.Helper()
	f := New(t, job)
	if f.Tasks() == nil {
		t.Skip("only the embedded Cloud Tasks can be told to deliver")
	}
	p := Pair{Function: f, Worker: On(t, worker, f.Project)}
	f.Env["TASKS_TARGET_URL"] = p.Worker.Serve(t)
	return p
}

// Deliver delivers all tasks, even those that are due later, and returns how many there were.
func (p Pair) Deliver(t testing.TB) int {
	t.Helper()
	n, err := p.Tasks().Deliver(t.Context(), time.Now().Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// IDs returns the ids of a collection's documents, in order.
func (f *Function) IDs(t testing.TB, collection string) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(f.Documents(t, collection)))
}

type missing struct{}

// Missing stands for the value of a field that is removed; see [With].
var Missing any = missing{}

// With returns fields with other values. pairs are names and values; the value [Missing] removes a field.
func With(fields map[string]any, pairs ...any) map[string]any {
	changed := maps.Clone(fields)
	for i := 0; i < len(pairs); i += 2 {
		changed[pairs[i].(string)] = pairs[i+1]
	}
	maps.DeleteFunc(changed, func(_ string, v any) bool { return v == Missing })
	return changed
}
