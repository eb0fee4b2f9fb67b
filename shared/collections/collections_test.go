package collections_test

import (
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/collections"
)

func TestIsOwn(t *testing.T) {
	for path, want := range map[string]bool{
		"cleanupJobs": true, "cleanupJobs/j": true, "cleanupJobs/j/cleanupTodo/e": true, "cleanupRuns/r/cleanupUndo/e": true,
		"authDeletionRetries/u": false, "cleanupJobsx/j": false, "x/cleanupJobs/j/y": false, "": false,
	} {
		check.Same(t, path, want, collections.IsOwn(path))
	}
}
