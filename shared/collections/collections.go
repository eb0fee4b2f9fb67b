// Package collections names the collections of the bundle itself. Declared rules must not touch them, and clients must not read
// or write them.
package collections

import (
	"slices"
	"strings"
)

// Collections with names that no application uses.
const (
	Jobs    = "cleanupJobs"         // for each job the lease, the checkpoint and the last report
	Runs    = "cleanupRuns"         // for each run the report
	Undo    = "cleanupUndo"         // below each document of [Runs]: the undo log
	Todo    = "cleanupTodo"         // below each document of [Jobs]: what is still to be done
	Retries = "authDeletionRetries" // accounts whose deletion will be tried again
)

// Names returns these names.
func Names() []string { return []string{Jobs, Runs, Undo, Todo, Retries} }

// Documents returns the path of a document in each of these collections.
func Documents() []string {
	return []string{Jobs + "/j", Jobs + "/j/" + Todo + "/d", Runs + "/r", Runs + "/r/" + Undo + "/d", Retries + "/u"}
}

// IsOwn reports whether a path is of the engine's own documents. Writes to them are not logged, nor kept in the undo log. Writes
// to [Retries] are.
func IsOwn(path string) bool {
	root, _, _ := strings.Cut(path, "/")
	return slices.Contains([]string{Jobs, Runs}, root)
}
