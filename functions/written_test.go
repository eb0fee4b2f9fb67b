package functions_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/emulator/sampledata/sampletest"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/manifest"
)

// TestWhateverARunChangesIsFoundByItsID runs every job and its worker on the sample and compares the whole project before
// and after. Each document that is gone, new or changed, each object and each account that is gone must be named by a log line
// that bears a run's id; and what such lines name has changed. Children are included, and what a run hands to a worker is
// found by the worker's.
func TestWhateverARunChangesIsFoundByItsID(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	if p.Tasks() == nil {
		t.Skip("only the embedded Cloud Tasks can be told to deliver")
	}
	now := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second) // the objects' age cannot be chosen
	project := sampletest.Open(t, p)
	ok(t, project.Load(t.Context(), sampledata.Of(now, p.Bucket)))
	registered := functions.Registered()
	for _, e := range functions.All() {
		if e.Trigger != manifest.Schedule {
			continue // its job hands it tasks
		}
		before := sampletest.Names(t, project, p.Bucket)
		f := enginetest.On(t, functions.New(registered[e.Name]), p)
		f.Now = now
		all := []*enginetest.Function{f}
		if e.Worker != "" {
			w := enginetest.On(t, functions.New(registered[e.Worker]), p)
			f.Env["TASKS_TARGET_URL"] = w.Serve(t)
			all = append(all, w)
		}
		f.Run(t, "")
		if e.Worker != "" {
			if _, err := p.Tasks().Deliver(t.Context(), time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		after := sampletest.Names(t, project, p.Bucket)
		changed := enginetest.Changes(before, after)
		found := map[string]bool{}
		for _, f := range all {
			maps.Copy(found, writtenBy(t, f))
		}
		for _, name := range slices.Sorted(maps.Keys(changed)) {
			if !found[name] {
				t.Errorf("%s changed or deleted %s, and no log line with a run's id names it", e.Name, name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(found)) {
			// A document that an earlier step of the same run made is gone again; an account may never have been there.
			if _, was := before[name]; !changed[name] && was {
				t.Errorf("%s says that it changed %s, which is as it was", e.Name, name)
			}
		}
		if len(changed) == 0 && slices.Contains(sampledata.Jobs(), e.Name) {
			t.Errorf("%s changed nothing of the sample: what would this prove?", e.Name)
		}
	}
}

// writtenBy returns what the log of a function says its runs wrote.
func writtenBy(t *testing.T, f *enginetest.Function) map[string]bool {
	t.Helper()
	written := map[string]bool{}
	for _, line := range f.LogLines(t) {
		writes, _ := line["writes"].([]any)
		labels, _ := line["logging.googleapis.com/labels"].(map[string]any)
		id, _ := labels["runId"].(string)
		if len(writes) > 0 && !strings.HasPrefix(id, f.Job.Name+"-") {
			t.Errorf("a line without the run's id: %v", line)
		}
		for _, w := range writes {
			w := w.(map[string]any)
			name := w["path"].(string)
			switch w["op"] {
			case "delete account":
				name = "account " + name
			case "delete object":
				if generation, _ := w["generation"].(string); generation == "" || generation == "0" {
					t.Errorf("%s is named without its generation", name)
				}
			}
			written[name] = true
		}
	}
	return written
}
