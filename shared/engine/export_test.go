package engine

import (
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/apply"
	"github.com/firesweep/firesweep/shared/objects"
)

// WatchWriters has a run tell what it would write with, for a test that tries to.
func (h *Hooks) WatchWriters(told func(documents.Writer, objects.Writer)) {
	h.writers = func(a *apply.Applier) { told(a.Documents, a.Objects) }
}
