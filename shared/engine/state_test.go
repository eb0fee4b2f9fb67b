package engine_test

import (
	"testing"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
)

// stateOf returns what the job's record says.
func stateOf(t *testing.T, f *enginetest.Function) jobstate.State {
	t.Helper()
	s, _, err := f.Restorer(t, nil).State(t.Context(), "testJob")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
