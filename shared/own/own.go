// Package own names the collections of the bundle itself: no declared rule may touch them, and no client read or write them.
package own

import (
	"slices"
	"strings"
)

// Collections with a name that no application has.
const (
	Jobs    = "cleanupJobs"         // of each job the lease, the checkpoint, the last report
	Runs    = "cleanupRuns"         // of each run the report
	Undo    = "cleanupUndo"         // below each of [Runs]: what it takes to take it back
	Retries = "authDeletionRetries" // accounts whose deletion is tried again
)

// Names returns these.
func Names() []string { return []string{Jobs, Runs, Undo, Retries} }

// Below returns the names of the collections below the documents of [Jobs], which others of an application may have.
func Below() []string { return []string{"journal", "held"} }

// Earlier returns those of earlier versions, of which there may be documents.
func Earlier() []string { return []string{"leftovers", "archives", "accounts"} }

// Documents returns the path of a document in each collection of this version.
func Documents() []string {
	paths := []string{Jobs + "/j"}
	for _, name := range Below() {
		paths = append(paths, Jobs+"/j/"+name+"/d")
	}
	return append(paths, Runs+"/r", Runs+"/r/"+Undo+"/d", Retries+"/u")
}

// IsRecord reports whether a path is of what the engine keeps for itself. It is not logged, nor kept to be taken back, as what lies in
// [Retries] is.
func IsRecord(path string) bool {
	root, _, _ := strings.Cut(path, "/")
	return slices.Contains([]string{Jobs, Runs}, root)
}
