package engine_test

import (
	"testing"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
)

// stateOf returns what the job's record says.
func stateOf(t *testing.T, f *enginetest.Function) jobstate.State {
	t.Helper()
	s, err := jobstate.Of(config.Config{Project: f.ID, Database: "(default)"}, "testJob", documents.Document{Data: job(t, f)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
