package engine

import (
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/apply"
	"github.com/firesweep/firesweep/shared/objects"
)

// StorageRate returns how many writes a second to Cloud Storage one of so many calls at once may send, and how many together.
func StorageRate(calls int) (perSecond float64, burst int) {
	pace := newStoragePace(calls)
	return float64(pace.limiter.Limit()), pace.limiter.Burst()
}

// WatchWriters has a run tell what it would write with, for a test that tries to.
func (h *Hooks) WatchWriters(told func(documents.Writer, objects.Writer)) {
	h.writers = func(a *apply.Applier) { told(a.Documents, a.Objects) }
}
