package engine

import (
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
)

// StorageRate returns how many writes a second to Cloud Storage one of so many calls at once may send, and how many together.
func StorageRate(calls int) (perSecond float64, burst int) {
	pace := newStoragePace(calls)
	return float64(pace.limiter.Limit()), pace.limiter.Burst()
}

// WritersOf returns what the engine would write with in a planner's run, for a test that tries to.
func WritersOf(p *Planner) (documents.Writer, objects.Writer) { return p.run.documents, p.run.objects }
